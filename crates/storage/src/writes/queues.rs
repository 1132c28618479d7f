//! Writes of one company that would wait for each other in the database wait here instead, without a connection.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use compliance_api::error::Error;
use tokio::time::Instant;

use super::lock_waits::{Companies, CompanyPermit, LockWaits, OnWait, Turn};
use crate::{
    database::Connections,
    error::{from_database, is_lock_timeout_of_write},
    limits::{
        BATCHES_OF_A_COMPANY, LOCK_REMEMBERED, LOCK_REMEMBERED_IF_WRITTEN, LOCK_WAIT, MAX_LOCKS_REMEMBERED,
        MONITORING_WRITES,
    },
    metrics::{RETRY_LOCK, count_retry},
    statement::Watch,
    table::Layouts,
};

/// The queues of all companies, one for each kind of write.
#[derive(Clone)]
pub struct Queues {
    /// New affiliates.
    pub created_affiliates: CompanyQueue,
    /// Changes of affiliates.
    pub updated_affiliates: CompanyQueue,
    /// URLs that partners add and that crawlers observe.
    pub urls: CompanyQueue,
    /// Every other write of internal services.
    pub monitoring: CompanyQueue,
    /// New webhooks, which are counted one after the other.
    pub webhooks: CompanyQueue,
}

impl Queues {
    /// The queues of a service with so many connections. `on_wait` is told of a company whenever its work waits for a lock, or for other
    /// work of the company.
    pub fn new(connections: u32, on_wait: OnWait) -> Self {
        let lock_waits = LockWaits::new(connections, on_wait.clone());
        let queue = |most| CompanyQueue::new(most, &lock_waits, on_wait.clone());
        Self {
            created_affiliates: queue(BATCHES_OF_A_COMPANY),
            updated_affiliates: queue(BATCHES_OF_A_COMPANY),
            urls: queue(BATCHES_OF_A_COMPANY),
            monitoring: queue(MONITORING_WRITES),
            webhooks: queue(1),
        }
    }
}

/// The writes of one kind, by company. They begin in the order in which they come.
#[derive(Clone)]
pub struct CompanyQueue {
    companies: Companies,
    lock_waits: LockWaits,
    waited: Arc<Mutex<HashMap<i64, Waited>>>,
}

/// A company of which a statement waited for a lock and did not get it.
struct Waited {
    last: Instant,
    /// Whether one waited in its turn.
    in_turn: bool,
    /// Whether one has found no lock since then.
    has_written: bool,
}

/// Lets one batch of a company, or all of its writes, run until this is dropped.
pub struct WritePermit {
    queue: CompanyQueue,
    permit: CompanyPermit,
}

impl CompanyQueue {
    fn new(most: u32, lock_waits: &LockWaits, on_wait: OnWait) -> Self {
        Self { companies: Companies::new(most, on_wait), lock_waits: lock_waits.clone(), waited: Arc::default() }
    }

    /// Waits until one more batch of the company may run.
    pub async fn one(&self, company: i64) -> Result<WritePermit, Error> {
        Ok(WritePermit { queue: self.clone(), permit: self.companies.acquire(company, 1).await? })
    }

    /// Waits until no other write of the company runs.
    pub async fn all(&self, company: i64) -> Result<WritePermit, Error> {
        Ok(WritePermit { queue: self.clone(), permit: self.companies.acquire(company, self.companies.most).await? })
    }

    /// The same, unless it would have to wait, or the company is known to wait for a lock.
    pub fn try_all(&self, company: i64) -> Option<WritePermit> {
        let permit = WritePermit { queue: self.clone(), permit: self.companies.try_all(company)? };
        (!permit.waits_for_lock()).then_some(permit)
    }

    fn waited(&self) -> MutexGuard<'_, HashMap<i64, Waited>> {
        self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WritePermit {
    /// Whether the company is known to wait for a lock.
    pub fn waits_for_lock(&self) -> bool {
        self.queue.waited().get(&self.permit.company).is_some_and(|waited| waited.last.elapsed() < LOCK_REMEMBERED)
    }

    /// Remembers that the company waits for a lock, also `in_turn`.
    pub fn lock_timed_out(&self, in_turn: bool) {
        let mut waited = self.queue.waited();
        if waited.len() >= MAX_LOCKS_REMEMBERED {
            waited.retain(|_, waited| waited.last.elapsed() < LOCK_REMEMBERED);
        }
        let last = Instant::now();
        let before = waited.get(&self.permit.company).is_some_and(|waited| waited.in_turn);
        waited.insert(self.permit.company, Waited { last, in_turn: in_turn || before, has_written: false });
    }

    /// Records that a statement found no lock in its way.
    pub fn found_no_lock(&self) {
        if let Entry::Occupied(mut waited) = self.queue.waited().entry(self.permit.company) {
            let company = waited.get_mut();
            company.has_written = true;
            if !company.in_turn || company.last.elapsed() >= LOCK_REMEMBERED_IF_WRITTEN {
                waited.remove();
            }
        }
    }

    /// Waits until the company may wait for a lock in the database.
    pub async fn turn(&self) -> Result<Turn, Error> {
        let had_one = |waited: &Waited| waited.in_turn && !waited.has_written;
        let is_first = !self.queue.waited().get(&self.permit.company).is_some_and(had_one);
        self.queue.lock_waits.turn(self.permit.company, is_first).await
    }

    /// Runs a write of a call that may send batches, and runs it again after an error that `can_retry` lets pass. One that
    /// finds a lock in its way returns its connection soon, and is then run in turn with others that wait for locks.
    pub async fn write<T, F: Future<Output = Result<T, sqlx::Error>>>(
        &self,
        pool: &Connections,
        can_retry: fn(&sqlx::Error) -> bool,
        run: impl Fn(Connections, Arc<Layouts>) -> F,
    ) -> Result<T, Error> {
        let (pool, start, _watch) = (pool.of_call(), Instant::now(), Watch::start());
        if !self.waits_for_lock() {
            // The company's other batches often have a lock for longer than others could wait with a connection.
            let turn = self.queue.lock_waits.try_turn();
            let pool = turn.as_ref().map_or_else(|| pool.clone(), |turn| pool.with_lock_timeout(turn.lock_timeout));
            match pool.try_write(can_retry, &run).await {
                Err(error) if is_lock_timeout_of_write(&error) && start.elapsed() < LOCK_WAIT => {
                    count_retry(RETRY_LOCK);
                    self.lock_timed_out(false);
                }
                result => return result.map_err(from_database),
            }
        }
        let in_turn = async {
            loop {
                let turn = self.turn().await?;
                match pool.with_lock_timeout(turn.lock_timeout).try_write(can_retry, &run).await {
                    Err(error) if is_lock_timeout_of_write(&error) && start.elapsed() < LOCK_WAIT => {
                        count_retry(RETRY_LOCK);
                        self.lock_timed_out(true);
                    }
                    Err(error) => return Err(from_database(error)),
                    Ok(written) => {
                        self.found_no_lock();
                        return Ok(written);
                    }
                }
            }
        };
        in_turn.await
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn queue(connections: u32) -> CompanyQueue {
        let nobody: OnWait = Arc::new(|_| {});
        CompanyQueue::new(2, &LockWaits::new(connections, nobody.clone()), nobody)
    }

    fn permit(queue: &CompanyQueue) -> WritePermit {
        WritePermit { queue: queue.clone(), permit: queue.companies.try_all(1).unwrap() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_company_that_waits_for_a_lock_is_remembered_until_it_finds_none() {
        let queue = queue(8);
        let timed_out = |in_turn| permit(&queue).lock_timed_out(in_turn);
        let found_none = || permit(&queue).found_no_lock();
        let is_remembered = || queue.try_all(1).is_none();
        found_none();
        timed_out(false);
        assert!(is_remembered() && queue.try_all(2).is_some());
        found_none();
        assert!(!is_remembered());
        timed_out(true);
        timed_out(false);
        // Others of its rows may be locked still.
        found_none();
        assert!(is_remembered());
        advance(LOCK_REMEMBERED_IF_WRITTEN).await;
        found_none();
        assert!(!is_remembered() && queue.waited().is_empty());
        timed_out(true);
        advance(LOCK_REMEMBERED).await;
        assert!(!is_remembered());
    }

    #[tokio::test(start_paused = true)]
    async fn a_company_has_a_first_turn_until_it_waited_in_one() {
        let queue = queue(16);
        let permit = permit(&queue);
        let first = async || permit.turn().await.unwrap().lock_timeout;
        let short = first().await;
        permit.lock_timed_out(false);
        assert_eq!(first().await, short);
        permit.lock_timed_out(true);
        assert_ne!(first().await, short);
        permit.found_no_lock();
        assert_eq!(first().await, short);
    }
}
