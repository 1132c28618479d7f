//! Warnings that a flood must not repeat.

use std::{
    io,
    time::{Duration, Instant},
};

/// How often the same warning is logged.
const INTERVAL: Duration = Duration::from_secs(10);

/// A warning that is logged at most every 10 seconds, with the number of times that it was due.
#[derive(Default)]
pub(crate) struct Warning {
    logged: Option<Instant>,
    times: u64,
}

impl Warning {
    /// A connection could not be accepted.
    pub(crate) fn accept_failed(&mut self, port: &str, error: &io::Error) {
        if let Some(times) = self.due() {
            tracing::warn!(port, %error, times, "connections cannot be accepted");
        }
    }

    /// A connection of a peer that has too many was closed.
    pub(crate) fn peer_is_full(&mut self, port: &str, peer: std::net::IpAddr) {
        if let Some(times) = self.due() {
            tracing::warn!(port, %peer, times, "connections of a peer that has too many were closed");
        }
    }

    fn due(&mut self) -> Option<u64> {
        self.times += 1;
        if self.logged.is_some_and(|logged| logged.elapsed() < INTERVAL) {
            return None;
        }
        self.logged = Some(Instant::now());
        Some(std::mem::take(&mut self.times))
    }
}
