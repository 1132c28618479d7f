//! Delays rejections to limit the CPU time spent on clients that keep retrying rejected calls.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

/// Maximum number of immediate rejections per company and period. Calls without a verified company share one count.
const REJECTIONS_AT_ONCE: u32 = 10;
const REJECTION_PERIOD: Duration = Duration::from_millis(100);
/// Mean delay of later rejections. Delays vary by up to half, because simultaneous retries would occupy every thread for milliseconds.
const REJECTION_DELAY: Duration = Duration::from_millis(100);
/// Maximum number of delayed rejections across all companies. Other rejections are sent immediately.
const MAX_DELAYED: usize = 4096;

/// Fractional part of the golden ratio. The fractional parts of its multiples are evenly distributed.
const SPREAD: f64 = 0.618_033_988_749_895;

/// Delays rejections and other responses that clients could request without limit. Clones share one set of limits.
#[derive(Clone, Debug)]
pub struct RejectionDelay(Arc<SharedRejectionDelay>);

#[derive(Debug)]
struct SharedRejectionDelay {
    /// Start of the current period, and each company's rejection count.
    recent: Mutex<(Instant, HashMap<Option<i64>, u32>)>,
    delayed: Semaphore,
}

impl Default for RejectionDelay {
    fn default() -> Self {
        Self(Arc::new(SharedRejectionDelay {
            recent: Mutex::new((Instant::now(), HashMap::new())),
            delayed: Semaphore::new(MAX_DELAYED),
        }))
    }
}

impl RejectionDelay {
    /// Waits if the company has had many recent rejections.
    pub async fn delay(&self, company_id: Option<i64>) {
        if let Some(wait) = self.wait(company_id)
            && let Ok(_delayed) = self.0.delayed.try_acquire()
        {
            sleep(wait).await;
        }
    }

    fn wait(&self, company_id: Option<i64>) -> Option<Duration> {
        let mut recent = self.0.recent.lock();
        let (since, counts) = &mut *recent;
        if since.elapsed() >= REJECTION_PERIOD {
            *since = Instant::now();
            counts.clear();
        }
        let count = counts.entry(company_id).or_default();
        *count = count.saturating_add(1);
        (*count > REJECTIONS_AT_ONCE).then(|| REJECTION_DELAY.mul_f64(0.5 + (f64::from(*count) * SPREAD).fract()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::future::join_all;
    use tokio::time::{Instant, advance};

    use super::{MAX_DELAYED, REJECTION_DELAY, REJECTION_PERIOD, REJECTIONS_AT_ONCE, RejectionDelay};

    /// Timer resolution.
    const TICK: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn excess_rejections_are_delayed_up_to_limit() {
        let rejections = RejectionDelay::default();
        let delayed = async |count: usize| {
            let start = Instant::now();
            let all = join_all((0..count).map(|_| async {
                rejections.delay(Some(1)).await;
                start.elapsed()
            }));
            let waits: Vec<_> = all.await.into_iter().filter(|wait| !wait.is_zero()).collect();
            assert!(
                waits.iter().all(|wait| (REJECTION_DELAY / 2..REJECTION_DELAY * 3 / 2 + TICK).contains(wait)),
                "{waits:?}"
            );
            waits.len()
        };
        let at_once = REJECTIONS_AT_ONCE as usize;
        assert_eq!(delayed(at_once).await, 0);
        assert_eq!(delayed(MAX_DELAYED + 10).await, MAX_DELAYED);
        // A new period has begun.
        assert_eq!(delayed(at_once).await, 0);
        assert_eq!(delayed(MAX_DELAYED).await, MAX_DELAYED, "finished delays make room");
        advance(REJECTION_PERIOD).await;
        assert_eq!(delayed(at_once + 1).await, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn rejections_do_not_delay_other_companies() {
        let rejections = RejectionDelay::default();
        let flood = join_all((0..1000).map(|_| rejections.delay(Some(1))));
        let start = Instant::now();
        let others = join_all([Some(2), None].map(|company| rejections.delay(company)));
        futures::future::select(flood, others).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn delayed_rejections_are_spread_evenly() {
        let rejections = RejectionDelay::default();
        let start = Instant::now();
        let all = join_all((0..1000).map(|_| async {
            rejections.delay(Some(1)).await;
            start.elapsed().as_millis() as usize / 10
        }));
        let mut sent = [0; 16];
        for tens_of_ms in all.await {
            sent[tens_of_ms] += 1;
        }
        assert_eq!(sent[0], REJECTIONS_AT_ONCE);
        assert!(sent[5..15].iter().all(|count| (80..=120).contains(count)), "{sent:?}");
    }
}
