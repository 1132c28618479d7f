//! Limits concurrent work, first per company and then per process.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

use crate::{counts::LimitReached, semaphores::CompanySemaphores};

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
        Self {
            companies: CompanySemaphores::new(most_of_a_company),
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

    use super::WorkQueue;

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
