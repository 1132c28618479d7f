//! Listens for signals that ask a program to stop.

use std::{future::poll_fn, task::Poll};

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that ask a program to stop, with their names: SIGTERM, SIGINT and SIGHUP.
#[derive(Debug)]
pub(crate) struct Signals(Vec<(&'static str, Signal)>);

impl Signals {
    /// Starts listening. The signals no longer end the process directly.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let mut kinds = vec![("SIGTERM", SignalKind::terminate()), ("SIGINT", SignalKind::interrupt())];
        // Under `nohup`, a program ignores SIGHUP to outlive its terminal.
        if !hangup_is_ignored() {
            kinds.push(("SIGHUP", SignalKind::hangup()));
        }
        let listen = |(name, kind)| Ok((name, signal(kind).context("cannot listen for signals")?));
        Ok(Self(kinds.into_iter().map(listen).collect::<anyhow::Result<_>>()?))
    }

    /// Waits for the next signal and returns its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        poll_fn(|context| {
            let received =
                |(name, signal): &mut (&'static str, Signal)| signal.poll_recv(context).is_ready().then_some(*name);
            self.0.iter_mut().find_map(received).map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Runs `work` to completion. Fails if a signal arrives first.
    pub(crate) async fn or<T>(&mut self, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        tokio::select! {
            done = work => done,
            signal = self.next() => Err(anyhow::anyhow!("stopped by {signal}")),
        }
    }
}

/// Returns whether SIGHUP was ignored when the program started. Returns true if the system does not report this, so the signal keeps its disposition.
fn hangup_is_ignored() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return true };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The lowest bit represents signal 1, SIGHUP.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_none_or(|mask| mask & 1 == 1)
}
