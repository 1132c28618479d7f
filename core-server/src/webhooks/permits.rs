//! How many deliveries are in flight. Their permits have two classes, so that endpoints that hang delay no others: an attempt that takes
//! long gives its fast permit back and goes on with a slow one.

use std::{pin::pin, sync::Arc};

use admission::{Count, Counts, Full};
use tokio::{
    sync::Notify,
    time::{Instant, timeout, timeout_at},
};

use super::send::Attempt;

use std::time::Duration;

/// An attempt that takes longer is slow, and gives its slot to others. After this time, a webhook with more messages lets others go first.
pub(super) const WEBHOOK_SLOW: Duration = Duration::from_millis(500);
/// Deliveries of a core whose attempt has just begun. Each has its slot for twice [`WEBHOOK_SLOW`] at most, so webhooks wait for about a
/// second behind this many that begin to hang.
const WEBHOOK_SLOTS: usize = 256;
/// Those of one company: all its webhooks, so that none waits for another one.
const WEBHOOK_COMPANY_SLOTS: usize = 20;
/// Deliveries of a core that are slow, or whose webhook was slow or failed last.
const WEBHOOK_SLOW_SLOTS: usize = 256;
/// Those of one company.
const WEBHOOK_COMPANY_SLOW_SLOTS: usize = 8;

/// Why an attempt ends that takes long, when no more may.
const NO_SLOW_PERMIT: &str = "no response within 0.5 s, and too many endpoints take longer";

/// The permits for deliveries of this core.
pub(super) struct Permits {
    /// For attempts that have just begun.
    fast: Counts,
    /// For attempts that take longer, and for webhooks whose last one did, or failed.
    slow: Counts,
    /// A fast permit is free again.
    freed: Notify,
}

impl Permits {
    pub(super) fn new() -> Self {
        Self {
            fast: Counts::new(WEBHOOK_SLOTS, WEBHOOK_COMPANY_SLOTS),
            slow: Counts::new(WEBHOOK_SLOW_SLOTS, WEBHOOK_COMPANY_SLOW_SLOTS),
            freed: Notify::new(),
        }
    }

    /// A fast permit, when one is free: each is soon.
    pub(super) async fn fast(self: &Arc<Self>, company_id: i64) -> Result<Permit, Full> {
        let deadline = Instant::now() + WEBHOOK_SLOW * 2;
        loop {
            match self.fast.add(company_id) {
                Ok(count) => {
                    return Ok(Permit { permits: Arc::clone(self), company_id, count: Some(count), is_fast: true });
                }
                Err(Full::Process) if timeout_at(deadline, self.freed.notified()).await.is_ok() => {}
                Err(full) => return Err(full),
            }
        }
    }

    pub(super) fn slow(self: &Arc<Self>, company_id: i64) -> Result<Permit, Full> {
        let count = Some(self.slow.add(company_id)?);
        Ok(Permit { permits: Arc::clone(self), company_id, count, is_fast: false })
    }
}

/// The permit of a delivery.
pub(super) struct Permit {
    permits: Arc<Permits>,
    company_id: i64,
    /// `None` only while it is dropped.
    count: Option<Count>,
    is_fast: bool,
}

impl Permit {
    /// Waits for an attempt. One that takes long goes on in a slow permit, or ends if there is none.
    pub(super) async fn wait_for(&mut self, attempt: impl Future<Output = Attempt>) -> Attempt {
        let mut attempt = pin!(attempt);
        if self.is_fast {
            if let Ok(attempt) = timeout(WEBHOOK_SLOW, &mut attempt).await {
                return attempt;
            }
            match self.permits.slow(self.company_id) {
                Ok(slow) => *self = slow,
                Err(_) => return Attempt::failed(NO_SLOW_PERMIT.to_owned(), WEBHOOK_SLOW),
            }
        }
        attempt.await
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.count = None;
        if self.is_fast {
            self.permits.freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use tokio::time::pause;

    use super::*;

    #[tokio::test]
    async fn an_attempt_that_hangs_gives_its_fast_permit_to_others() {
        pause();
        let permits = Arc::new(Permits::new());
        let mut hanging = Vec::new();
        for number in 0..WEBHOOK_SLOTS {
            let company = (number / WEBHOOK_COMPANY_SLOTS) as i64;
            let mut permit = permits.fast(company).await.unwrap();
            hanging.push(tokio::spawn(async move { permit.wait_for(pending()).await }));
        }
        assert_eq!(permits.fast(100).await.err(), None, "none is free within the time of an attempt");
        // Attempts without a slow permit have ended.
        tokio::time::sleep(WEBHOOK_SLOW).await;
        assert_eq!((permits.fast.open(), permits.slow.open() % WEBHOOK_COMPANY_SLOW_SLOTS), (0, 0));
        let mut ended = 0;
        for attempt in hanging {
            if let Ok(attempt) = timeout(Duration::from_millis(1), attempt).await {
                assert_eq!(attempt.unwrap().error.as_deref(), Some(NO_SLOW_PERMIT));
                ended += 1;
            }
        }
        assert_eq!(ended + permits.slow.open(), WEBHOOK_SLOTS);
        assert!(matches!(permits.slow(0), Err(Full::Company)));
    }

    #[tokio::test]
    async fn an_attempt_that_is_quick_keeps_its_permit() {
        let permits = Arc::new(Permits::new());
        let mut permit = permits.fast(1).await.unwrap();
        let attempt = permit.wait_for(async { Attempt::failed("no".to_owned(), Duration::ZERO) }).await;
        assert_eq!((attempt.error.as_deref(), permits.fast.open(), permits.slow.open()), (Some("no"), 1, 0));
    }
}
