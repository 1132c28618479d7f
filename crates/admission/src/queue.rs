//! Limits concurrent work, first per company and then per process.

use std::{collections::HashMap, sync::Arc};

use compliance_api::error::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

use crate::semaphores::CompanySemaphores;

/// The reason for a rejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitReached {
    /// The company has reached its limit.
    Company,
    /// All companies together have reached the process limit.
    Process,
}

impl From<LimitReached> for Error {
    fn from(limit: LimitReached) -> Self {
        match limit {
            LimitReached::Company => Self::too_many_concurrent_requests(),
            LimitReached::Process => Self::overloaded(),
        }
    }
}

/// Permits for one kind of work. Clones share them.
///
/// Work waits for a company permit first, so a waiting company does not hold permits that others need.
#[derive(Clone, Debug)]
pub struct WorkQueue {
    companies: CompanySemaphores,
    process: Arc<Semaphore>,
    most: usize,
    /// Holds one token per waiting item.
    waiting: TaskTracker,
}

/// Permit to run work, released on drop.
#[derive(Debug)]
pub struct WorkPermit {
    _of_company: OwnedSemaphorePermit,
    _of_process: OwnedSemaphorePermit,
}

impl WorkQueue {
    /// Allows `most` concurrent items, at most `most_of_a_company` per company.
    pub fn new(most: usize, most_of_a_company: usize) -> Self {
        Self::with_companies(most, most_of_a_company, HashMap::new())
    }

    /// Like [`Self::new`], with individual limits for some companies.
    pub fn with_companies(most: usize, most_of_a_company: usize, companies: HashMap<i64, usize>) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        Self {
            companies: CompanySemaphores::with_companies(most_of_a_company, companies),
            process: Arc::new(Semaphore::new(most)),
            most,
            waiting: TaskTracker::new(),
        }
    }

    /// Waits for a permit to run a company's work. Has no timeout, because the caller has a deadline.
    pub async fn enter(&self, company: i64) -> Result<WorkPermit, LimitReached> {
        let _waiting = self.waiting.token();
        // The semaphores are never closed.
        let of_company = self.companies.of(company).acquire_owned().await.map_err(|_| LimitReached::Company)?;
        let of_process = Arc::clone(&self.process).acquire_owned().await.map_err(|_| LimitReached::Process)?;
        Ok(WorkPermit { _of_company: of_company, _of_process: of_process })
    }

    /// Returns a permit to run a company's work, without waiting.
    pub fn try_enter(&self, company: i64) -> Result<WorkPermit, LimitReached> {
        let of_company = self.companies.of(company).try_acquire_owned().map_err(|_| LimitReached::Company)?;
        let of_process = Arc::clone(&self.process).try_acquire_owned().map_err(|_| LimitReached::Process)?;
        Ok(WorkPermit { _of_company: of_company, _of_process: of_process })
    }

    /// Returns the number of waiting items.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the number of running items.
    pub fn running(&self) -> usize {
        self.most - self.process.available_permits()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::{LimitReached, WorkQueue};

    #[test]
    fn company_limits_override_the_default() {
        let queue = WorkQueue::with_companies(5, 2, [(1, 1), (2, 4)].into());
        let enter = |company| (0..).map_while(|_| queue.try_enter(company).ok()).collect::<Vec<_>>();
        let (one, two) = (enter(1), enter(2));
        assert_eq!((one.len(), two.len()), (1, 4));
        assert_eq!(
            (queue.try_enter(1).unwrap_err(), queue.try_enter(3).unwrap_err()),
            (LimitReached::Company, LimitReached::Process)
        );
        drop((one, two));
        assert_eq!(queue.running(), 0);
        assert_eq!([3, i64::MIN, i64::MAX].map(|company| enter(company).len()), [2; 3]);
    }

    #[tokio::test]
    async fn companies_wait_for_their_own_permits_first() {
        let queue = WorkQueue::new(3, 2);
        let enter = |company| queue.enter(company).now_or_never();
        let (first, _second) = (enter(1).unwrap(), enter(1).unwrap());
        let mut third = Box::pin(queue.enter(1));
        assert!((&mut third).now_or_never().is_none());
        // The waiting company does not block others.
        let other = enter(2).unwrap();
        let mut later = Box::pin(queue.enter(3));
        assert!((&mut later).now_or_never().is_none());
        assert_eq!((queue.running(), queue.waiting()), (3, 2));
        drop(other);
        assert!(later.now_or_never().is_some_and(|permit| permit.is_ok()));
        drop(first);
        assert!(third.now_or_never().is_some_and(|permit| permit.is_ok()));
        assert_eq!((queue.running(), queue.waiting()), (1, 0));
    }

    #[tokio::test]
    async fn abandoned_work_leaves_the_queue() {
        let queue = WorkQueue::new(1, 1);
        let permit = queue.enter(1).await.unwrap();
        let mut abandoned = Box::pin(queue.enter(2));
        assert!((&mut abandoned).now_or_never().is_none());
        drop((abandoned, permit));
        assert!(queue.enter(3).now_or_never().is_some());
    }
}
