//! Per-company write queues. Writes that would block each other in the database wait here, without a connection.

use std::sync::Arc;

use admission::CompanySemaphores;
use compliance_api::error::Error;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use crate::{
    database::Connections,
    error::{from_database, is_lock_timeout_of_write},
    limits::LOCK_WAIT,
    metrics::{RETRY_LOCK, count_retry},
    statement_context::Watch,
    table::Layouts,
};

/// Maximum number of statements that retry a lock, even with many connections.
const MAX_LOCK_RETRIES: u32 = 4;
/// Maximum number of concurrent batches per company. One may wait for another's lock.
const BATCHES_PER_COMPANY: u32 = 2;
/// [`BATCHES_PER_COMPANY`] for internal services. Most batches are small and write different records, so a commit can serve more of them.
const MONITORING_WRITES: u32 = 4;

/// Queues of all companies, one per kind of write.
#[derive(Clone)]
pub struct Queues {
    /// New affiliates.
    pub created_affiliates: CompanyQueue,
    /// Affiliate updates.
    pub updated_affiliates: CompanyQueue,
    /// URLs that partners add or crawlers observe.
    pub urls: CompanyQueue,
    /// Other writes by internal services.
    pub monitoring: CompanyQueue,
    /// Webhooks. New webhooks are counted one at a time.
    pub webhooks: CompanyQueue,
}

impl Queues {
    /// Creates the queues of a service with this many connections.
    pub fn new(connections: u32) -> Self {
        let retries = (connections / 4).clamp(1, MAX_LOCK_RETRIES) as usize;
        let retries = Arc::new(Semaphore::new(retries));
        let queue = |most: u32| CompanyQueue {
            most,
            companies: CompanySemaphores::new(most as usize),
            lock_retries: Arc::clone(&retries),
        };
        Self {
            created_affiliates: queue(BATCHES_PER_COMPANY),
            updated_affiliates: queue(BATCHES_PER_COMPANY),
            urls: queue(BATCHES_PER_COMPANY),
            monitoring: queue(MONITORING_WRITES),
            webhooks: queue(1),
        }
    }
}

/// A per-company queue for one kind of write. Writes begin in request order.
#[derive(Clone)]
pub struct CompanyQueue {
    most: u32,
    companies: CompanySemaphores,
    /// Permits for statements blocked by a lock, shared by all queues. They leave most connections free for other statements.
    pub(super) lock_retries: Arc<Semaphore>,
}

/// Permit for one batch or for all of a company's writes, until dropped.
pub struct WritePermit {
    lock_retries: Arc<Semaphore>,
    _permit: OwnedSemaphorePermit,
}

impl CompanyQueue {
    /// Waits until the company can run one more batch.
    pub async fn one(&self, company: i64) -> Result<WritePermit, Error> {
        self.permits(company, 1).await
    }

    /// Waits until the company has no other running writes.
    pub async fn all(&self, company: i64) -> Result<WritePermit, Error> {
        self.permits(company, self.most).await
    }

    /// Takes all permits if the company has no other running writes.
    pub fn try_all(&self, company: i64) -> Option<WritePermit> {
        let permit = self.companies.of(company).try_acquire_many_owned(self.most).ok()?;
        Some(self.with(permit))
    }

    async fn permits(&self, company: i64, permits: u32) -> Result<WritePermit, Error> {
        let permit = self.companies.of(company).acquire_many_owned(permits).await;
        Ok(self.with(permit.map_err(|_| Error::internal())?))
    }

    fn with(&self, permit: OwnedSemaphorePermit) -> WritePermit {
        WritePermit { lock_retries: Arc::clone(&self.lock_retries), _permit: permit }
    }
}

impl WritePermit {
    /// Runs a call's write, which may send batches.
    ///
    /// Retries it after errors that `can_retry` accepts, or if it waited too long for a lock.
    pub async fn write<T, F: Future<Output = Result<T, sqlx::Error>>>(
        &self,
        pool: &Connections,
        can_retry: fn(&sqlx::Error) -> bool,
        run: impl Fn(Connections, Arc<Layouts>) -> F,
    ) -> Result<T, Error> {
        let (pool, start, _watch) = (pool.of_call(), Instant::now(), Watch::start());
        let mut retry = None;
        loop {
            match pool.try_write(can_retry, &run).await {
                Err(error) if is_lock_timeout_of_write(&error) && start.elapsed() < LOCK_WAIT => {
                    count_retry(RETRY_LOCK);
                    // Other companies go first.
                    drop(retry.take());
                    retry = self.lock_retries.acquire().await.ok();
                }
                written => return written.map_err(from_database),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    fn queue(connections: u32) -> CompanyQueue {
        Queues::new(connections).urls
    }

    #[tokio::test]
    async fn exclusive_permits_wait_only_for_own_company() {
        let queue = queue(16);
        let permits = [queue.one(1).await.unwrap(), queue.one(1).await.unwrap()];
        assert!(queue.try_all(1).is_none() && queue.try_all(2).is_some());
        let (mut all, mut later) = (Box::pin(queue.all(1)), Box::pin(queue.one(1)));
        assert!(poll!(all.as_mut()).is_pending() && poll!(later.as_mut()).is_pending());
        drop(permits);
        assert!(poll!(later.as_mut()).is_pending(), "writes begin in request order");
        drop(all.await.unwrap());
        later.await.unwrap();
    }

    #[test]
    fn lock_retry_limit_scales_with_connections() {
        for (connections, most) in [(1, 1), (8, 2), (16, 4), (64, 4)] {
            assert_eq!(queue(connections).lock_retries.available_permits(), most, "{connections}");
        }
    }
}
