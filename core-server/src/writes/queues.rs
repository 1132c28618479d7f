//! Writes of one company that would wait for each other in the database wait here instead, without a connection.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use compliance_api::error::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// Batches of one company that may be written at the same time. While one waits for a lock that the other has, the next
/// waits here.
const BATCHES: u32 = 2;
/// Requests of internal services. Most of them are small and of different records, so more of them make use of a commit.
const MONITORING: u32 = 4;

/// The queues of all companies, one for each kind of write.
#[derive(Clone)]
pub(crate) struct Queues {
    pub(crate) created_affiliates: CompanyQueue,
    pub(crate) updated_affiliates: CompanyQueue,
    /// URLs that partners add and that crawlers observe.
    pub(crate) urls: CompanyQueue,
    /// Every other write of internal services.
    pub(crate) monitoring: CompanyQueue,
    /// The permits of single writes of one company that may wait for a lock, whatever their kind.
    pub(crate) locked: Arc<Semaphore>,
}

impl Queues {
    /// The queues of a process with this number of connections, of which a quarter may wait for locks of single writes.
    pub(crate) fn new(connections: u32) -> Self {
        Self {
            locked: Arc::new(Semaphore::new((connections / 4).clamp(1, 4) as usize)),
            created_affiliates: CompanyQueue::new(BATCHES),
            updated_affiliates: CompanyQueue::new(BATCHES),
            urls: CompanyQueue::new(BATCHES),
            monitoring: CompanyQueue::new(MONITORING),
        }
    }
}

/// The writes of one kind, by company. They begin in the order in which they come.
#[derive(Clone)]
pub(crate) struct CompanyQueue {
    /// Writes of one company that may run at the same time.
    most: u32,
    companies: Arc<Mutex<HashMap<i64, Arc<Semaphore>>>>,
}

/// The right of a company's write to run.
pub(crate) struct WritePermit {
    queue: CompanyQueue,
    company: i64,
    permit: Option<OwnedSemaphorePermit>,
}

impl CompanyQueue {
    fn new(most: u32) -> Self {
        Self { most, companies: Arc::default() }
    }

    /// Waits until one more batch of the company may run.
    pub(crate) async fn one(&self, company: i64) -> Result<WritePermit, Error> {
        self.acquire(company, 1).await
    }

    /// Waits until no other write of the company runs.
    pub(crate) async fn all(&self, company: i64) -> Result<WritePermit, Error> {
        self.acquire(company, self.most).await
    }

    /// The same, unless it would have to wait.
    pub(crate) fn try_all(&self, company: i64) -> Option<WritePermit> {
        let mut write_permit = self.write_permit(company);
        let semaphore = self.semaphore(company);
        match semaphore.try_acquire_many_owned(self.most) {
            Ok(permit) => write_permit.permit = Some(permit),
            Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => return None,
        }
        Some(write_permit)
    }

    async fn acquire(&self, company: i64, permits: u32) -> Result<WritePermit, Error> {
        // Dropped if the caller goes away while it waits.
        let mut write_permit = self.write_permit(company);
        let permit = self.semaphore(company).acquire_many_owned(permits).await;
        write_permit.permit = Some(permit.map_err(|_| Error::internal())?);
        Ok(write_permit)
    }

    fn write_permit(&self, company: i64) -> WritePermit {
        WritePermit { queue: self.clone(), company, permit: None }
    }

    fn semaphore(&self, company: i64) -> Arc<Semaphore> {
        let semaphore = || Arc::new(Semaphore::new(self.most as usize));
        Arc::clone(self.companies().entry(company).or_insert_with(semaphore))
    }

    fn companies(&self) -> MutexGuard<'_, HashMap<i64, Arc<Semaphore>>> {
        self.companies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WritePermit {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut companies = self.queue.companies();
        // Only the map has it: no other write of the company runs or waits.
        if companies.get(&self.company).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            companies.remove(&self.company);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn single_writes_wait_for_batches_of_their_company_alone() {
        let queue = CompanyQueue::new(2);
        let batches = [queue.one(1).await.unwrap(), queue.one(1).await.unwrap()];
        assert!(queue.try_all(1).is_none() && queue.try_all(2).is_some());
        let waiting = queue.all(1);
        tokio::pin!(waiting);
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        // A batch that comes later waits behind.
        let later = queue.one(1);
        tokio::pin!(later);
        drop(batches);
        assert!(futures::poll!(later.as_mut()).is_pending());
        drop(waiting.await);
        later.await.unwrap();
    }

    #[tokio::test]
    async fn companies_are_forgotten() {
        let queue = CompanyQueue::new(2);
        let permit = queue.all(1).await.unwrap();
        {
            // A caller that goes away while it waits.
            let waiting = queue.one(1);
            tokio::pin!(waiting);
            assert!(futures::poll!(waiting.as_mut()).is_pending());
        }
        drop(permit);
        drop(queue.try_all(2));
        assert!(queue.companies().is_empty());
    }
}
