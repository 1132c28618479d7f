//! Refusals that are held back, so that a client that repeats refused calls at once takes less of the processor.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

/// How many refusals are sent at once in a second.
const AT_ONCE: u32 = 100;
const SECOND: Duration = Duration::from_secs(1);
/// How long the others are held back.
const DELAY: Duration = Duration::from_millis(100);
/// Refusals that are held back at the same time. Further ones are sent at once.
const MOST: usize = 4096;

/// Holds refusals back, and other answers to calls that anybody can make as often as they like. Clones share the limits.
#[derive(Clone, Debug)]
pub struct Refusals(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// A second, and how many refusals there were in it.
    lately: Mutex<(Instant, u32)>,
    held: Semaphore,
}

impl Default for Refusals {
    fn default() -> Self {
        Self(Arc::new(Inner { lately: Mutex::new((Instant::now(), 0)), held: Semaphore::new(MOST) }))
    }
}

impl Refusals {
    /// Waits before a call is answered, if there were many of late. A client that repeats it at once makes ten such calls a
    /// second on each connection, not thousands.
    pub async fn hold_back(&self) {
        if self.are_many()
            && let Ok(_held) = self.0.held.try_acquire()
        {
            sleep(DELAY).await;
        }
    }

    fn are_many(&self) -> bool {
        let mut lately = self.0.lately.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = &mut *lately;
        if since.elapsed() >= SECOND {
            (*since, *count) = (Instant::now(), 0);
        }
        *count = count.saturating_add(1);
        *count > AT_ONCE
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use tokio::time::{Instant, advance};

    use super::{AT_ONCE, DELAY, MOST, Refusals, SECOND};

    #[tokio::test(start_paused = true)]
    async fn refusals_above_a_rate_are_held_back_up_to_a_number() {
        let refusals = Refusals::default();
        let held_back = async |count: usize| {
            let start = Instant::now();
            let all = join_all((0..count).map(|_| async {
                refusals.hold_back().await;
                start.elapsed()
            }));
            all.await.into_iter().filter(|held| *held >= DELAY).count()
        };
        assert_eq!(held_back(AT_ONCE as usize).await, 0);
        assert_eq!(held_back(1).await, 1);
        assert_eq!(held_back(MOST + 10).await, MOST);
        assert_eq!(held_back(1).await, 1, "what was held back makes room");
        advance(SECOND).await;
        assert_eq!(held_back(AT_ONCE as usize + 1).await, 1, "a new second has begun");
    }
}
