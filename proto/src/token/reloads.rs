//! Key set reloads, requested by tokens with unknown keys.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, Semaphore, watch},
    time::{Instant, timeout},
};

/// Minimum time between two requested reloads.
const INTERVAL: Duration = Duration::from_secs(10);
/// How long a token waits for a reload.
const WAIT: Duration = Duration::from_secs(5);
/// Maximum number of waiting tokens. Any others are rejected immediately.
const MAX_WAITING: usize = 256;

/// Makes tokens with unknown keys wait for a shared reload. The reload task calls [`Self::requested`] and [`Self::finished`].
pub(super) struct Reloads {
    /// When a token last requested a reload.
    last: Mutex<Option<Instant>>,
    /// Whether that reload is still in progress.
    pending: watch::Sender<bool>,
    requested: Notify,
    waiting: Semaphore,
}

impl Reloads {
    pub(super) fn new() -> Self {
        let pending = watch::Sender::new(false);
        Self { last: Mutex::default(), pending, requested: Notify::new(), waiting: Semaphore::new(MAX_WAITING) }
    }

    /// Requests a reload, or joins the current one. Returns whether the reload finished in time.
    pub(super) async fn request(&self) -> bool {
        let Ok(_waiting) = self.waiting.try_acquire() else { return false };
        let mut pending = self.pending.subscribe();
        self.is_pending() && timeout(WAIT, pending.wait_for(|pending| !pending)).await.is_ok()
    }

    /// Requests a reload if none is in progress. Returns whether one is in progress now.
    fn is_pending(&self) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *self.pending.borrow() {
            return true;
        }
        if last.is_some_and(|last| last.elapsed() < INTERVAL) {
            return false;
        }
        *last = Some(Instant::now());
        self.pending.send_replace(true);
        self.requested.notify_one();
        true
    }

    /// Waits until a token requests a reload.
    pub(super) async fn requested(&self) {
        self.requested.notified().await;
    }

    /// Wakes the waiting tokens, whether the reload succeeded or failed.
    pub(super) fn finished(&self) {
        self.pending.send_replace(false);
    }
}
