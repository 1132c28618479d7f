//! The signals that ask a program to end.

use std::{future::poll_fn, task::Poll};

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask a program to end, by name: SIGTERM, SIGINT and SIGHUP.
#[derive(Debug)]
pub(crate) struct Signals(Vec<(&'static str, Signal)>);

impl Signals {
    /// Starts to listen. From now on, the signals no longer end the process directly.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let mut kinds = vec![("SIGTERM", SignalKind::terminate()), ("SIGINT", SignalKind::interrupt())];
        // A program that was started to outlive its terminal, as by `nohup`, ignores SIGHUP.
        if !hangup_is_ignored() {
            kinds.push(("SIGHUP", SignalKind::hangup()));
        }
        let listen = |(name, kind)| Ok((name, signal(kind).context("cannot receive signals")?));
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

    /// Runs `work` until it ends. Fails if a signal arrives earlier.
    pub(crate) async fn or<T>(&mut self, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        tokio::select! {
            done = work => done,
            signal = self.next() => Err(anyhow::anyhow!("stopped by {signal}")),
        }
    }
}

/// Whether SIGHUP was ignored when the program started. If the system does not show it, the answer is yes: the signal then keeps its
/// disposition.
fn hangup_is_ignored() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return true };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The lowest bit is signal 1.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_none_or(|mask| mask & 1 == 1)
}
