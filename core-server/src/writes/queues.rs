//! Writes of one company that would wait for each other in the database wait here instead, without a connection.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use compliance_api::error::Error;

use super::{
    companies::{Companies, CompanyPermit},
    lock_waits::{LockWaits, Turn},
};
use crate::{
    database::Connections,
    error::{from_database, is_lock_timeout},
    table::Layouts,
};

/// Batches of one company that may be written at the same time. While one waits for a lock that the other has, the next
/// waits here.
const BATCHES: u32 = 2;
/// Requests of internal services. Most of them are small and of different records, so more of them make use of a commit.
const MONITORING: u32 = 4;
/// How long a company is known to wait for a lock after a statement did.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Companies that are forgotten late.
const MAX_REMEMBERED: usize = 1024;
/// How long a write is run again while it finds a lock in its way.
const LONGEST: Duration = Duration::from_mins(1);

/// The queues of all companies, one for each kind of write.
#[derive(Clone)]
pub(crate) struct Queues {
    pub(crate) created_affiliates: CompanyQueue,
    pub(crate) updated_affiliates: CompanyQueue,
    /// URLs that partners add and that crawlers observe.
    pub(crate) urls: CompanyQueue,
    /// Every other write of internal services.
    pub(crate) monitoring: CompanyQueue,
}

impl Queues {
    /// The queues of a process with this number of connections.
    pub(crate) fn new(connections: u32) -> Self {
        let lock_waits = LockWaits::new(connections);
        Self {
            created_affiliates: CompanyQueue::new(BATCHES, &lock_waits),
            updated_affiliates: CompanyQueue::new(BATCHES, &lock_waits),
            urls: CompanyQueue::new(BATCHES, &lock_waits),
            monitoring: CompanyQueue::new(MONITORING, &lock_waits),
        }
    }
}

/// The writes of one kind, by company. They begin in the order in which they come.
#[derive(Clone)]
pub(crate) struct CompanyQueue {
    companies: Companies,
    lock_waits: LockWaits,
    /// When a statement of a company last waited for a lock and did not get it.
    waited: Arc<Mutex<HashMap<i64, Instant>>>,
}

/// The right of a company's write to run.
pub(crate) struct WritePermit {
    queue: CompanyQueue,
    company: i64,
    _permit: CompanyPermit,
}

impl CompanyQueue {
    fn new(most: u32, lock_waits: &LockWaits) -> Self {
        Self { companies: Companies::new(most), lock_waits: lock_waits.clone(), waited: Arc::default() }
    }

    /// Waits until one more batch of the company may run.
    pub(crate) async fn one(&self, company: i64) -> Result<WritePermit, Error> {
        Ok(self.permit(company, self.companies.one(company).await?))
    }

    /// Waits until no other write of the company runs.
    pub(crate) async fn all(&self, company: i64) -> Result<WritePermit, Error> {
        Ok(self.permit(company, self.companies.all(company).await?))
    }

    /// The same, unless it would have to wait, or the company is known to wait for a lock.
    pub(crate) fn try_all(&self, company: i64) -> Option<WritePermit> {
        let permit = self.permit(company, self.companies.try_all(company)?);
        (!permit.waits_for_lock()).then_some(permit)
    }

    fn permit(&self, company: i64, permit: CompanyPermit) -> WritePermit {
        WritePermit { queue: self.clone(), company, _permit: permit }
    }

    fn waited(&self) -> MutexGuard<'_, HashMap<i64, Instant>> {
        self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WritePermit {
    /// Whether the company is known to wait for a lock.
    pub(crate) fn waits_for_lock(&self) -> bool {
        self.queue.waited().get(&self.company).is_some_and(|waited| waited.elapsed() < REMEMBERED)
    }

    /// Records that a statement waited for a lock and did not get it.
    pub(crate) fn lock_timed_out(&self) {
        let mut waited = self.queue.waited();
        if waited.len() >= MAX_REMEMBERED {
            waited.retain(|_, waited| waited.elapsed() < REMEMBERED);
        }
        waited.insert(self.company, Instant::now());
    }

    /// Records that a statement found no lock in its way.
    pub(crate) fn found_no_lock(&self) {
        self.queue.waited().remove(&self.company);
    }

    /// Waits until the company may wait for a lock in the database.
    pub(crate) async fn turn(&self) -> Result<Turn, Error> {
        self.queue.lock_waits.turn(self.company).await
    }

    /// Runs a write of a call that may send batches, and runs it again after an error that `can_retry` lets pass. One that
    /// finds a lock in its way returns its connection soon, and is then run in turn with others that wait for locks.
    pub(crate) async fn write<T, F: Future<Output = Result<T, sqlx::Error>>>(
        &self,
        pool: &Connections,
        can_retry: fn(&sqlx::Error) -> bool,
        run: impl Fn(Connections, Arc<Layouts>) -> F,
    ) -> Result<T, Error> {
        let (pool, start) = (pool.of_call(), Instant::now());
        if !self.waits_for_lock() {
            // The company's other batches often have a lock for longer than others could wait with a connection.
            let turn = self.queue.lock_waits.try_turn();
            let pool = turn.as_ref().map_or_else(|| pool.clone(), |turn| pool.with_lock_timeout(turn.lock_timeout));
            match pool.try_write(can_retry, &run).await {
                Err(error) if is_lock_timeout(&error) => self.lock_timed_out(),
                result => return result.map_err(|error| from_database(&error)),
            }
        }
        let in_turn = async {
            loop {
                let turn = self.turn().await?;
                match pool.with_lock_timeout(turn.lock_timeout).try_write(can_retry, &run).await {
                    Err(error) if is_lock_timeout(&error) && start.elapsed() < LONGEST => self.lock_timed_out(),
                    Err(error) => return Err(from_database(&error)),
                    Ok(written) => {
                        self.found_no_lock();
                        return Ok(written);
                    }
                }
            }
        };
        // Its connection is one of those that may wait.
        admission::waiting(in_turn).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_company_that_waits_for_a_lock_is_remembered_until_it_finds_none() {
        let queue = CompanyQueue::new(2, &LockWaits::new(8));
        let permit = queue.try_all(1).unwrap();
        permit.lock_timed_out();
        drop(permit);
        assert!(queue.try_all(1).is_none() && queue.try_all(2).is_some());
        queue.all(1).await.unwrap().found_no_lock();
        assert!(queue.try_all(1).is_some() && queue.waited().is_empty());
    }
}
