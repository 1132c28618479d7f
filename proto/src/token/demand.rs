//! Loads of the key sets that tokens of unknown keys ask for.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, Semaphore, watch},
    time::{Instant, timeout},
};

/// The shortest time between two loads that tokens ask for, however many tokens there are.
const DEMAND_INTERVAL: Duration = Duration::from_secs(10);
/// How long a token waits for such a load.
const DEMAND_WAIT: Duration = Duration::from_secs(5);
/// Tokens that wait at the same time. Further ones are invalid immediately.
const MAX_WAITING: usize = 256;

/// Joins the tokens that wait for a load. [`Self::wanted`] and [`Self::met`] are for the task that loads.
pub(super) struct Demand {
    /// When a token last asked for a load.
    last: Mutex<Option<Instant>>,
    /// Whether that load has not ended yet.
    pending: watch::Sender<bool>,
    wanted: Notify,
    waiting: Semaphore,
}

impl Demand {
    pub(super) fn new() -> Self {
        let pending = watch::Sender::new(false);
        Self { last: Mutex::default(), pending, wanted: Notify::new(), waiting: Semaphore::new(MAX_WAITING) }
    }

    /// Asks for a load, or joins the one that was asked for. Returns whether it ended in time.
    pub(super) async fn load(&self) -> bool {
        let Ok(_waiting) = self.waiting.try_acquire() else { return false };
        let mut pending = self.pending.subscribe();
        self.ask() && timeout(DEMAND_WAIT, pending.wait_for(|pending| !pending)).await.is_ok()
    }

    /// Whether a load that tokens asked for is on its way.
    fn ask(&self) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *self.pending.borrow() {
            return true;
        }
        if last.is_some_and(|last| last.elapsed() < DEMAND_INTERVAL) {
            return false;
        }
        *last = Some(Instant::now());
        self.pending.send_replace(true);
        self.wanted.notify_one();
        true
    }

    /// Returns when a token asks for a load.
    pub(super) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// The load that tokens asked for has ended, whether it succeeded or not.
    pub(super) fn met(&self) {
        self.pending.send_replace(false);
    }
}
