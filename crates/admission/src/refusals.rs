//! Delays refusals, so that clients that repeat refused calls use less processor time.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

/// Refusals of a company per period that are sent immediately. Those without a verified company count together.
const REFUSALS_AT_ONCE: u32 = 10;
const REFUSAL_PERIOD: Duration = Duration::from_millis(100);
/// The mean delay of further refusals. It varies by half, because callers that retry at the same time would occupy every thread for
/// milliseconds.
const REFUSAL_DELAY: Duration = Duration::from_millis(100);
/// Maximum number of delayed refusals of all companies. Further ones are sent immediately.
const MAX_DELAYED: usize = 4096;

/// The fraction of the golden ratio. The fractions of its multiples are evenly distributed.
const SPREAD: f64 = 0.618_033_988_749_895;

/// Delays refusals, and other responses to calls without a limit. Clones share one set of limits.
#[derive(Clone, Debug)]
pub struct Refusals(Arc<SharedRefusals>);

#[derive(Debug)]
struct SharedRefusals {
    /// The start of the period, and the refusals of each company in it.
    recent: Mutex<(Instant, HashMap<Option<i64>, u32>)>,
    delayed: Semaphore,
}

impl Default for Refusals {
    fn default() -> Self {
        Self(Arc::new(SharedRefusals {
            recent: Mutex::new((Instant::now(), HashMap::new())),
            delayed: Semaphore::new(MAX_DELAYED),
        }))
    }
}

impl Refusals {
    /// Waits if the company had many refusals recently.
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
        if since.elapsed() >= REFUSAL_PERIOD {
            *since = Instant::now();
            counts.clear();
        }
        let count = counts.entry(company_id).or_default();
        *count = count.saturating_add(1);
        (*count > REFUSALS_AT_ONCE).then(|| REFUSAL_DELAY.mul_f64(0.5 + (f64::from(*count) * SPREAD).fract()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::future::join_all;
    use tokio::time::{Instant, advance};

    use super::{MAX_DELAYED, REFUSAL_DELAY, REFUSAL_PERIOD, REFUSALS_AT_ONCE, Refusals};

    /// How exact a timer is.
    const TICK: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn refusals_above_a_rate_are_delayed_up_to_a_number() {
        let refusals = Refusals::default();
        let delayed = async |count: usize| {
            let start = Instant::now();
            let all = join_all((0..count).map(|_| async {
                refusals.delay(Some(1)).await;
                start.elapsed()
            }));
            let waits: Vec<_> = all.await.into_iter().filter(|wait| !wait.is_zero()).collect();
            assert!(
                waits.iter().all(|wait| (REFUSAL_DELAY / 2..REFUSAL_DELAY * 3 / 2 + TICK).contains(wait)),
                "{waits:?}"
            );
            waits.len()
        };
        let at_once = REFUSALS_AT_ONCE as usize;
        assert_eq!(delayed(at_once).await, 0);
        assert_eq!(delayed(MAX_DELAYED + 10).await, MAX_DELAYED);
        // A new period has begun.
        assert_eq!(delayed(at_once).await, 0);
        assert_eq!(delayed(MAX_DELAYED).await, MAX_DELAYED, "what was delayed makes room");
        advance(REFUSAL_PERIOD).await;
        assert_eq!(delayed(at_once + 1).await, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_of_one_company_delay_no_other() {
        let refusals = Refusals::default();
        let flood = join_all((0..1000).map(|_| refusals.delay(Some(1))));
        let start = Instant::now();
        let others = join_all([Some(2), None].map(|company| refusals.delay(company)));
        futures::future::select(flood, others).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_refused_together_is_not_sent_together() {
        let refusals = Refusals::default();
        let start = Instant::now();
        let all = join_all((0..1000).map(|_| async {
            refusals.delay(Some(1)).await;
            start.elapsed().as_millis() as usize / 10
        }));
        let mut sent = [0; 16];
        for tens_of_ms in all.await {
            sent[tens_of_ms] += 1;
        }
        assert_eq!(sent[0], REFUSALS_AT_ONCE);
        assert!(sent[5..15].iter().all(|count| (80..=120).contains(count)), "{sent:?}");
    }
}
