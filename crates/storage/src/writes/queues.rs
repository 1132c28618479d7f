//! Queues of a company's writes. Writes that would wait for each other in the database wait here, without a connection.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
    time::Duration,
};

use compliance_api::error::Error;
use parking_lot::Mutex;
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

use super::lock_waits::{CompanyPermits, LockPermit, LockWaits, OnWait};
use crate::{
    database::Connections,
    error::{from_database, is_lock_timeout_of_write},
    limits::LOCK_WAIT,
    metrics::{RETRY_LOCK, count_retry},
    statement::Watch,
    table::Layouts,
};

/// Batches of one company that may be written at the same time. One may wait for a lock of the other.
const BATCHES_PER_COMPANY: u32 = 2;
/// The same for internal services. Most batches are small and write different records, so a commit can serve more of them.
const MONITORING_WRITES: u32 = 4;
/// How long a company is known to wait for a lock after a statement did.
const LOCK_REMEMBERED: Duration = Duration::from_secs(10);
/// The same after a later statement found no lock. Other rows of the company may still be locked.
const LOCK_REMEMBERED_IF_WRITTEN: Duration = Duration::from_secs(2);
/// With this number of companies, old waits are forgotten.
const MAX_LOCKS_REMEMBERED: usize = 1024;

/// The queues of all companies, one for each kind of write.
#[derive(Clone)]
pub struct Queues {
    /// New affiliates.
    pub created_affiliates: CompanyQueue,
    /// Changes of affiliates.
    pub updated_affiliates: CompanyQueue,
    /// URLs that partners add or crawlers observe.
    pub urls: CompanyQueue,
    /// Other writes of internal services.
    pub monitoring: CompanyQueue,
    /// Webhooks. New ones are counted one after another.
    pub webhooks: CompanyQueue,
}

impl Queues {
    /// Returns the queues of a service with this many connections.
    ///
    /// `on_wait` receives a company whose work waits for a lock, or for other work of the company.
    pub fn new(connections: u32, on_wait: OnWait) -> Self {
        let lock_waits = LockWaits::new(connections, on_wait.clone());
        let queue = |most| CompanyQueue::new(most, &lock_waits, on_wait.clone());
        Self {
            created_affiliates: queue(BATCHES_PER_COMPANY),
            updated_affiliates: queue(BATCHES_PER_COMPANY),
            urls: queue(BATCHES_PER_COMPANY),
            monitoring: queue(MONITORING_WRITES),
            webhooks: queue(1),
        }
    }
}

/// A queue of one kind of write for each company. Writes begin in the order of requests.
#[derive(Clone)]
pub struct CompanyQueue {
    permits: CompanyPermits,
    lock_waits: LockWaits,
    timeouts: Arc<Mutex<HashMap<i64, LockTimeout>>>,
}

/// What is known about a company whose statement did not get a lock in time.
struct LockTimeout {
    last: Instant,
    /// Whether a statement waited for it with a `LockPermit`.
    had_permit: bool,
    /// Whether a later statement found no lock.
    has_written: bool,
}

/// Allows one batch or all writes of a company, until dropped.
pub struct WritePermit {
    queue: CompanyQueue,
    company: i64,
    _permit: OwnedSemaphorePermit,
}

impl CompanyQueue {
    fn new(most: u32, lock_waits: &LockWaits, on_wait: OnWait) -> Self {
        Self { permits: CompanyPermits::new(most, on_wait), lock_waits: lock_waits.clone(), timeouts: Arc::default() }
    }

    /// Waits until one more batch of the company may run.
    pub async fn one(&self, company: i64) -> Result<WritePermit, Error> {
        Ok(self.permit(company, self.permits.acquire(company, 1).await?))
    }

    /// Waits until no other write of the company runs.
    pub async fn all(&self, company: i64) -> Result<WritePermit, Error> {
        Ok(self.permit(company, self.permits.acquire(company, self.permits.most).await?))
    }

    /// Takes all permits if no other write of the company runs.
    ///
    /// It takes none if the company is known to wait for a lock.
    pub fn try_all(&self, company: i64) -> Option<WritePermit> {
        let permit = self.permit(company, self.permits.try_all(company)?);
        (!permit.waits_for_lock()).then_some(permit)
    }

    fn permit(&self, company: i64, permit: OwnedSemaphorePermit) -> WritePermit {
        WritePermit { queue: self.clone(), company, _permit: permit }
    }
}

impl WritePermit {
    /// Returns whether the company is known to wait for a lock.
    pub fn waits_for_lock(&self) -> bool {
        self.queue.timeouts.lock().get(&self.company).is_some_and(|timeout| timeout.last.elapsed() < LOCK_REMEMBERED)
    }

    /// Records that a statement did not get a lock in time.
    ///
    /// It also records whether the statement had a `LockPermit`.
    pub fn lock_timed_out(&self, had_permit: bool) {
        let mut timeouts = self.queue.timeouts.lock();
        if timeouts.len() >= MAX_LOCKS_REMEMBERED {
            timeouts.retain(|_, timeout| timeout.last.elapsed() < LOCK_REMEMBERED);
        }
        let had_before = timeouts.get(&self.company).is_some_and(|timeout| timeout.had_permit);
        let timeout = LockTimeout { last: Instant::now(), had_permit: had_permit || had_before, has_written: false };
        timeouts.insert(self.company, timeout);
    }

    /// Records that a statement found no lock.
    pub fn found_no_lock(&self) {
        if let Entry::Occupied(mut entry) = self.queue.timeouts.lock().entry(self.company) {
            let timeout = entry.get_mut();
            timeout.has_written = true;
            if !timeout.had_permit || timeout.last.elapsed() >= LOCK_REMEMBERED_IF_WRITTEN {
                entry.remove();
            }
        }
    }

    /// Waits until a statement of the company may wait for a lock.
    pub async fn lock_permit(&self) -> Result<LockPermit, Error> {
        let has_waited = |timeout: &LockTimeout| timeout.had_permit && !timeout.has_written;
        let is_first = !self.queue.timeouts.lock().get(&self.company).is_some_and(has_waited);
        self.queue.lock_waits.permit(self.company, is_first).await
    }

    /// Runs a write, and retries it after errors that `can_retry` accepts.
    ///
    /// The write is of a call that may send batches.
    ///
    /// A write that finds a lock returns its connection soon. It is retried when it has a `LockPermit`.
    pub async fn write<T, F: Future<Output = Result<T, sqlx::Error>>>(
        &self,
        pool: &Connections,
        can_retry: fn(&sqlx::Error) -> bool,
        run: impl Fn(Connections, Arc<Layouts>) -> F,
    ) -> Result<T, Error> {
        let (pool, start, _watch) = (pool.of_call(), Instant::now(), Watch::start());
        let mut waits_for_lock = self.waits_for_lock();
        loop {
            let lock_permit = if waits_for_lock {
                Some(self.lock_permit().await?)
            } else {
                // The company's other batches often keep a lock for longer than a statement waits without a permit.
                self.queue.lock_waits.try_permit()
            };
            let pool =
                lock_permit.as_ref().map_or_else(|| pool.clone(), |lock| pool.with_lock_timeout(lock.lock_timeout));
            match pool.try_write(can_retry, &run).await {
                Err(error) if is_lock_timeout_of_write(&error) && start.elapsed() < LOCK_WAIT => {
                    count_retry(RETRY_LOCK);
                    self.lock_timed_out(waits_for_lock);
                    waits_for_lock = true;
                }
                Err(error) => return Err(from_database(error)),
                Ok(written) => {
                    if waits_for_lock {
                        self.found_no_lock();
                    }
                    return Ok(written);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::{super::lock_waits::FIRST_TIMEOUT, *};

    fn queue(connections: u32) -> CompanyQueue {
        let nobody: OnWait = Arc::new(|_| {});
        CompanyQueue::new(2, &LockWaits::new(connections, nobody.clone()), nobody)
    }

    fn permit(queue: &CompanyQueue) -> WritePermit {
        queue.permit(1, queue.permits.try_all(1).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_company_is_known_to_wait_for_a_lock_until_it_finds_none() {
        let queue = queue(8);
        let timed_out = |had_permit| permit(&queue).lock_timed_out(had_permit);
        let found_none = || permit(&queue).found_no_lock();
        let is_remembered = || queue.try_all(1).is_none();
        found_none();
        timed_out(false);
        assert!(is_remembered() && queue.try_all(2).is_some());
        found_none();
        assert!(!is_remembered());
        timed_out(true);
        timed_out(false);
        // Other rows of the company may still be locked.
        found_none();
        assert!(is_remembered());
        advance(LOCK_REMEMBERED_IF_WRITTEN).await;
        found_none();
        assert!(!is_remembered() && queue.timeouts.lock().is_empty());
        timed_out(true);
        advance(LOCK_REMEMBERED).await;
        assert!(!is_remembered());
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_wait_of_a_company_is_short() {
        let queue = queue(16);
        let permit = permit(&queue);
        let first = async || permit.lock_permit().await.unwrap().lock_timeout;
        assert_eq!(first().await, FIRST_TIMEOUT);
        permit.lock_timed_out(false);
        assert_eq!(first().await, FIRST_TIMEOUT);
        permit.lock_timed_out(true);
        assert_ne!(first().await, FIRST_TIMEOUT);
        permit.found_no_lock();
        assert_eq!(first().await, FIRST_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn old_waits_are_forgotten() {
        let queue = queue(8);
        let timed_out = |companies: std::ops::Range<usize>| {
            for company in companies {
                queue.permit(company as i64, queue.permits.try_all(company as i64).unwrap()).lock_timed_out(false);
            }
        };
        timed_out(0..MAX_LOCKS_REMEMBERED);
        advance(LOCK_REMEMBERED / 2).await;
        timed_out(MAX_LOCKS_REMEMBERED..MAX_LOCKS_REMEMBERED + 10);
        assert_eq!(queue.timeouts.lock().len(), MAX_LOCKS_REMEMBERED + 10, "none is old");
        advance(LOCK_REMEMBERED / 2).await;
        timed_out(0..1);
        assert_eq!(queue.timeouts.lock().len(), 11);
    }
}
