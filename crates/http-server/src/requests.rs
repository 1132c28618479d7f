//! Tracks a connection's requests.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use tokio::time::sleep;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// A connection's requests.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Holds one token per request until its response is sent.
    pub(crate) in_flight: TaskTracker,
    pub(crate) begun: AtomicU64,
    /// Cancelled when a response exceeds its deadline.
    pub(crate) overdue: CancellationToken,
}

impl Requests {
    /// Waits until the connection has been idle for `first` after opening, or for `between` later.
    pub(crate) async fn end(&self, first: Duration, between: Duration) {
        let mut before = 0;
        sleep(first).await;
        loop {
            let begun = self.begun.load(Relaxed);
            if begun == before && self.in_flight.is_empty() {
                return;
            }
            before = begun;
            sleep(between).await;
        }
    }
}
