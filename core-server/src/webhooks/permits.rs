//! Permits for deliveries in flight. There are two classes, so that hanging endpoints delay no others: an attempt that takes long exchanges
//! its fast permit for a slow one.

use std::{pin::pin, sync::Arc, time::Duration};

use admission::{Count, Counts, LimitReached};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::send::Attempt;

/// An attempt that takes longer is slow, and releases its fast permit. After this time, a webhook with more messages waits for others.
pub(super) const WEBHOOK_SLOW: Duration = Duration::from_millis(500);
/// Fast permits of a core, for attempts that have just begun. Each lasts twice [`WEBHOOK_SLOW`] at most, so webhooks wait about a second
/// behind this many endpoints that begin to hang.
const FAST_PERMITS: usize = 256;
/// Fast permits of one company: as many as it has webhooks, so that none waits for another.
const COMPANY_FAST_PERMITS: usize = 20;
/// Slow permits of a core, for slow attempts, and for webhooks whose last attempt was slow or failed.
const SLOW_PERMITS: usize = 256;
/// Slow permits of one company.
const COMPANY_SLOW_PERMITS: usize = 8;

/// The error of a slow attempt without a slow permit.
const NO_SLOW_PERMIT: &str = "no response within 0.5 s, and too many other endpoints are slow at the moment";

/// The permits of this core.
pub(super) struct Permits {
    fast: Arc<Semaphore>,
    /// The fast permits of each company.
    fast_of_company: Counts,
    slow: Counts,
}

impl Permits {
    pub(super) fn new() -> Self {
        Self {
            fast: Arc::new(Semaphore::new(FAST_PERMITS)),
            fast_of_company: Counts::new(usize::MAX, COMPANY_FAST_PERMITS),
            slow: Counts::new(SLOW_PERMITS, COMPANY_SLOW_PERMITS),
        }
    }

    /// Waits for a fast permit. Each is released soon.
    pub(super) async fn fast(self: &Arc<Self>, company_id: i64) -> Result<Permit, LimitReached> {
        let count = self.fast_of_company.add(company_id)?;
        let fast = timeout(WEBHOOK_SLOW * 2, Arc::clone(&self.fast).acquire_owned()).await;
        let fast = fast.ok().and_then(Result::ok).ok_or(LimitReached::Process)?;
        Ok(Permit { permits: Arc::clone(self), company_id, fast: Some(fast), _count: count })
    }

    pub(super) fn slow(self: &Arc<Self>, company_id: i64) -> Result<Permit, LimitReached> {
        let count = self.slow.add(company_id)?;
        Ok(Permit { permits: Arc::clone(self), company_id, fast: None, _count: count })
    }
}

/// The permit of a delivery.
pub(super) struct Permit {
    permits: Arc<Permits>,
    company_id: i64,
    /// `None` for a slow permit.
    fast: Option<OwnedSemaphorePermit>,
    _count: Count,
}

impl Permit {
    /// Runs an attempt. A slow attempt continues with a slow permit, or ends without one.
    pub(super) async fn wait_for(&mut self, attempt: impl Future<Output = Attempt>) -> Attempt {
        let mut attempt = pin!(attempt);
        if self.fast.is_some() {
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
        for number in 0..FAST_PERMITS {
            let company = (number / COMPANY_FAST_PERMITS) as i64;
            let mut permit = permits.fast(company).await.unwrap();
            hanging.push(tokio::spawn(async move { permit.wait_for(pending()).await }));
        }
        assert_eq!(permits.fast(100).await.err(), None, "none is free within the time of an attempt");
        // Attempts without a slow permit have ended.
        tokio::time::sleep(WEBHOOK_SLOW).await;
        let fast = (permits.fast.available_permits(), permits.fast_of_company.open());
        assert_eq!((fast, permits.slow.open() % COMPANY_SLOW_PERMITS), ((FAST_PERMITS, 0), 0));
        let mut ended = 0;
        for attempt in hanging {
            if let Ok(attempt) = timeout(Duration::from_millis(1), attempt).await {
                assert_eq!(attempt.unwrap().error.as_deref(), Some(NO_SLOW_PERMIT));
                ended += 1;
            }
        }
        assert_eq!(ended + permits.slow.open(), FAST_PERMITS);
        assert!(matches!(permits.slow(0), Err(LimitReached::Company)));
    }

    #[tokio::test]
    async fn an_attempt_that_is_quick_keeps_its_permit() {
        let permits = Arc::new(Permits::new());
        let mut permit = permits.fast(1).await.unwrap();
        let attempt = permit.wait_for(async { Attempt::failed("no".to_owned(), Duration::ZERO) }).await;
        let fast = permits.fast.available_permits();
        assert_eq!((attempt.error.as_deref(), fast, permits.slow.open()), (Some("no"), FAST_PERMITS - 1, 0));
    }
}
