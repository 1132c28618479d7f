//! The signals that end the service.

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for the signals that ask a program to end.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// Not there when whoever started the program wants it to outlive its terminal, as `nohup` does.
    hangup: Option<Signal>,
}

impl Signals {
    /// Takes the signals over: from here on they no longer end the program by themselves.
    pub(crate) fn take() -> anyhow::Result<Self> {
        let take = |kind| signal(kind).context("signals cannot be received");
        Ok(Self {
            terminate: take(SignalKind::terminate())?,
            interrupt: take(SignalKind::interrupt())?,
            hangup: (!hangup_is_ignored()).then(|| take(SignalKind::hangup())).transpose()?,
        })
    }

    /// The name of the next signal.
    pub(crate) async fn next(&mut self) -> &'static str {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = hangup => "SIGHUP",
        }
    }
}

/// Whether SIGHUP was ignored when the program started. Where the system does not tell, as if it were: then it stays
/// what it was.
fn hangup_is_ignored() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return true };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The lowest bit is signal 1.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_none_or(|mask| mask & 1 == 1)
}
