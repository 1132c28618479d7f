//! Permits of companies, and the turns of statements that wait for locks that other sessions hold: each company has one at a
//! time, and all of them at most a quarter of the connections.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use compliance_api::error::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{FIRST_TURN_LOCK_TIMEOUT, FREE_TURN_LOCK_TIMEOUT, LOCK_TURNS, TURN_LOCK_TIMEOUT};

/// Receives the ID of a company whose work begins to wait, so that other companies can use its permits.
pub type OnWait = Arc<dyn Fn(i64) + Send + Sync>;

/// The permits of all companies. They are handed out in the order in which they are requested.
#[derive(Clone)]
pub(super) struct Companies {
    pub(super) most: u32,
    on_wait: OnWait,
    semaphores: Arc<Mutex<HashMap<i64, Arc<Semaphore>>>>,
}

/// Permits of a company, until this is dropped.
pub(super) struct CompanyPermit {
    companies: Companies,
    pub(super) company: i64,
    permit: Option<OwnedSemaphorePermit>,
}

impl Companies {
    pub(super) fn new(most: u32, on_wait: OnWait) -> Self {
        Self { most, on_wait, semaphores: Arc::default() }
    }

    /// All permits of the company, unless it would have to wait.
    pub(super) fn try_all(&self, company: i64) -> Option<CompanyPermit> {
        let mut permit = self.permit(company);
        permit.permit = Some(self.semaphore(company).try_acquire_many_owned(self.most).ok()?);
        Some(permit)
    }

    /// Waits for permits of the company.
    pub(super) async fn acquire(&self, company: i64, permits: u32) -> Result<CompanyPermit, Error> {
        // Dropped if the caller goes away while it waits.
        let mut permit = self.permit(company);
        let semaphore = self.semaphore(company);
        let acquired = if let Ok(acquired) = Arc::clone(&semaphore).try_acquire_many_owned(permits) {
            acquired
        } else {
            (self.on_wait)(company);
            semaphore.acquire_many_owned(permits).await.map_err(|_| Error::internal())?
        };
        permit.permit = Some(acquired);
        Ok(permit)
    }

    fn permit(&self, company: i64) -> CompanyPermit {
        CompanyPermit { companies: self.clone(), company, permit: None }
    }

    fn semaphore(&self, company: i64) -> Arc<Semaphore> {
        let semaphore = || Arc::new(Semaphore::new(self.most as usize));
        Arc::clone(self.semaphores().entry(company).or_insert_with(semaphore))
    }

    fn semaphores(&self) -> MutexGuard<'_, HashMap<i64, Arc<Semaphore>>> {
        self.semaphores.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CompanyPermit {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut semaphores = self.companies.semaphores();
        // Only the map has it: the company has no other permit, and waits for none.
        if semaphores.get(&self.company).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            semaphores.remove(&self.company);
        }
    }
}

/// The turns of a process. Clones share them.
#[derive(Clone)]
pub(super) struct LockWaits {
    companies: Companies,
    turns: Arc<Semaphore>,
    /// Turns in which statements wait for more than [`FIRST_TURN_LOCK_TIMEOUT`]: all but one, which is left to the first turns of others.
    long: Arc<Semaphore>,
}

/// The turn of a statement, until this is dropped.
pub struct Turn {
    /// How long the statement may wait for each lock.
    pub lock_timeout: &'static str,
    _company: Option<CompanyPermit>,
    _long: Option<OwnedSemaphorePermit>,
    _permit: OwnedSemaphorePermit,
}

impl LockWaits {
    pub(super) fn new(connections: u32, on_wait: OnWait) -> Self {
        let turns = (connections / 4).clamp(1, LOCK_TURNS) as usize;
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { companies: Companies::new(1, on_wait), turns: semaphore(turns), long: semaphore((turns - 1).max(1)) }
    }

    /// Waits until it is a company's turn. The companies have theirs one after the other; those whose first turn it is do not
    /// wait for all of the others.
    pub(super) async fn turn(&self, company: i64, is_first: bool) -> Result<Turn, Error> {
        (self.companies.on_wait)(company);
        let company = self.companies.acquire(company, 1).await?;
        let acquire = async |semaphore: &Arc<Semaphore>| {
            Arc::clone(semaphore).acquire_owned().await.map_err(|_| Error::internal())
        };
        let long = if is_first { None } else { Some(acquire(&self.long).await?) };
        let turn = acquire(&self.turns).await?;
        let lock_timeout = match &long {
            None => FIRST_TURN_LOCK_TIMEOUT,
            Some(_) if self.long.available_permits() > 0 => TURN_LOCK_TIMEOUT,
            Some(_) => FREE_TURN_LOCK_TIMEOUT,
        };
        Ok(Turn { lock_timeout, _company: Some(company), _long: long, _permit: turn })
    }

    /// A turn that nobody waits for, for a company that is not known to wait.
    pub(super) fn try_turn(&self) -> Option<Turn> {
        let long = Arc::clone(&self.long).try_acquire_owned().ok()?;
        let turn = Arc::clone(&self.turns).try_acquire_owned().ok()?;
        Some(Turn { lock_timeout: FREE_TURN_LOCK_TIMEOUT, _company: None, _long: Some(long), _permit: turn })
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    fn nobody() -> OnWait {
        Arc::new(|_| {})
    }

    #[tokio::test]
    async fn companies_have_turns_one_after_the_other() {
        let waits = LockWaits::new(12, nobody());
        let first = waits.turn(1, false).await.unwrap();
        assert_eq!(first.lock_timeout, TURN_LOCK_TIMEOUT);
        let (mut again, mut other) = (Box::pin(waits.turn(1, false)), Box::pin(waits.turn(3, false)));
        assert!(poll!(again.as_mut()).is_pending(), "a company has one turn");
        let second = waits.turn(2, false).await.unwrap();
        assert_eq!(second.lock_timeout, FREE_TURN_LOCK_TIMEOUT);
        assert!(poll!(other.as_mut()).is_pending() && waits.try_turn().is_none(), "one turn is left to others");
        let (third, mut next) = (waits.turn(4, true).await.unwrap(), Box::pin(waits.turn(5, true)));
        assert_eq!(third.lock_timeout, FIRST_TURN_LOCK_TIMEOUT);
        assert!(poll!(next.as_mut()).is_pending(), "a quarter of the connections wait");
        drop(first);
        assert!(
            poll!(again.as_mut()).is_pending() && poll!(next.as_mut()).is_ready(),
            "the other company comes before"
        );
        drop(third);
        let fourth = other.await.unwrap();
        drop((second, fourth));
        assert_eq!(again.await.unwrap().lock_timeout, TURN_LOCK_TIMEOUT);
        let free = [waits.try_turn(), waits.try_turn()];
        assert!(free.iter().all(Option::is_some) && waits.try_turn().is_none());
    }

    #[tokio::test]
    async fn there_is_one_turn_at_least() {
        let waits = LockWaits::new(1, nobody());
        let only = waits.turn(1, false).await.unwrap();
        let mut first = Box::pin(waits.turn(2, true));
        assert!(poll!(first.as_mut()).is_pending());
        drop(only);
        drop(first.await);
        assert!(waits.try_turn().is_some());
    }

    #[tokio::test]
    async fn all_permits_wait_for_those_of_their_company_alone() {
        let companies = Companies::new(2, nobody());
        let permits = [companies.acquire(1, 1).await.unwrap(), companies.acquire(1, 1).await.unwrap()];
        assert!(companies.try_all(1).is_none() && companies.try_all(2).is_some());
        let waiting = companies.acquire(1, 2);
        tokio::pin!(waiting);
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        // One that comes later waits behind.
        let later = companies.acquire(1, 1);
        tokio::pin!(later);
        drop(permits);
        assert!(futures::poll!(later.as_mut()).is_pending());
        drop(waiting.await);
        later.await.unwrap();
    }

    #[tokio::test]
    async fn companies_are_forgotten() {
        let companies = Companies::new(2, nobody());
        let permit = companies.acquire(1, 2).await.unwrap();
        {
            // A caller that goes away while it waits.
            let waiting = companies.acquire(1, 1);
            tokio::pin!(waiting);
            assert!(futures::poll!(waiting.as_mut()).is_pending());
        }
        drop(permit);
        drop(companies.try_all(2));
        assert!(companies.semaphores().is_empty());
    }
}
