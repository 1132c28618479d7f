//! Statements that wait for locks of other sessions, and so keep connections. A company waits with one statement at a time, and all
//! companies together with at most a quarter of the connections.

use std::sync::Arc;

use admission::CompanySemaphores;
use compliance_api::error::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Statements that wait for locks, however many connections there are.
const MAX_WAITING: u32 = 4;
/// How long a statement with a permit waits for a lock.
const LONG_TIMEOUT: &str = "1s";
/// The same while all permits for long waits are taken, so that a company whose lock was released soon gets one.
const BUSY_TIMEOUT: &str = "200ms";
/// The same for the first wait of a company. Most find no lock, and do not wait for companies that find one.
pub(super) const FIRST_TIMEOUT: &str = "20ms";

/// Receives the ID of a company whose work begins to wait.
///
/// Other companies can then use its permits.
pub type OnWait = Arc<dyn Fn(i64) + Send + Sync>;

/// The permits of all companies. Each company's permits are handed out in the order of requests.
#[derive(Clone)]
pub(super) struct CompanyPermits {
    pub(super) most: u32,
    on_wait: OnWait,
    semaphores: CompanySemaphores,
}

impl CompanyPermits {
    pub(super) fn new(most: u32, on_wait: OnWait) -> Self {
        Self { most, on_wait, semaphores: CompanySemaphores::new(most as usize) }
    }

    /// Takes all permits of the company if none is in use.
    pub(super) fn try_all(&self, company: i64) -> Option<OwnedSemaphorePermit> {
        self.semaphores.of(company).try_acquire_many_owned(self.most).ok()
    }

    /// Waits for permits of the company.
    pub(super) async fn acquire(&self, company: i64, permits: u32) -> Result<OwnedSemaphorePermit, Error> {
        let semaphore = self.semaphores.of(company);
        if let Ok(permit) = Arc::clone(&semaphore).try_acquire_many_owned(permits) {
            return Ok(permit);
        }
        (self.on_wait)(company);
        semaphore.acquire_many_owned(permits).await.map_err(|_| Error::internal())
    }
}

/// The permits to wait for a lock. Clones share them.
#[derive(Clone)]
pub(super) struct LockWaits {
    companies: CompanyPermits,
    all: Arc<Semaphore>,
    /// Waits longer than [`FIRST_TIMEOUT`]: all but one, which is left for first waits.
    long: Arc<Semaphore>,
}

/// Allows a statement to wait for locks, until this is dropped.
pub struct LockPermit {
    /// How long the statement may wait for each lock.
    pub lock_timeout: &'static str,
    _company: Option<OwnedSemaphorePermit>,
    _long: Option<OwnedSemaphorePermit>,
    _permit: OwnedSemaphorePermit,
}

impl LockWaits {
    pub(super) fn new(connections: u32, on_wait: OnWait) -> Self {
        let most = (connections / 4).clamp(1, MAX_WAITING) as usize;
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { companies: CompanyPermits::new(1, on_wait), all: semaphore(most), long: semaphore((most - 1).max(1)) }
    }

    /// Waits for a permit. The first wait of a company does not queue behind long waits of others.
    pub(super) async fn permit(&self, company: i64, is_first: bool) -> Result<LockPermit, Error> {
        (self.companies.on_wait)(company);
        let company = self.companies.acquire(company, 1).await?;
        let acquire = async |semaphore: &Arc<Semaphore>| {
            Arc::clone(semaphore).acquire_owned().await.map_err(|_| Error::internal())
        };
        let long = if is_first { None } else { Some(acquire(&self.long).await?) };
        let permit = acquire(&self.all).await?;
        let lock_timeout = match &long {
            None => FIRST_TIMEOUT,
            Some(_) if self.long.available_permits() > 0 => LONG_TIMEOUT,
            Some(_) => BUSY_TIMEOUT,
        };
        Ok(LockPermit { lock_timeout, _company: Some(company), _long: long, _permit: permit })
    }

    /// Takes a free permit for a company that is not known to wait for a lock.
    pub(super) fn try_permit(&self) -> Option<LockPermit> {
        let long = Arc::clone(&self.long).try_acquire_owned().ok()?;
        let permit = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(LockPermit { lock_timeout: BUSY_TIMEOUT, _company: None, _long: Some(long), _permit: permit })
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
    async fn companies_wait_for_locks_one_after_another() {
        let waits = LockWaits::new(12, nobody());
        let first = waits.permit(1, false).await.unwrap();
        assert_eq!(first.lock_timeout, LONG_TIMEOUT);
        let (mut again, mut other) = (Box::pin(waits.permit(1, false)), Box::pin(waits.permit(3, false)));
        assert!(poll!(again.as_mut()).is_pending(), "a company has one permit");
        let second = waits.permit(2, false).await.unwrap();
        assert_eq!(second.lock_timeout, BUSY_TIMEOUT);
        assert!(
            poll!(other.as_mut()).is_pending() && waits.try_permit().is_none(),
            "one permit is left for first waits"
        );
        let (third, mut next) = (waits.permit(4, true).await.unwrap(), Box::pin(waits.permit(5, true)));
        assert_eq!(third.lock_timeout, FIRST_TIMEOUT);
        assert!(poll!(next.as_mut()).is_pending(), "a quarter of the connections wait");
        drop(first);
        assert!(poll!(again.as_mut()).is_pending() && poll!(next.as_mut()).is_ready(), "the other company asked first");
        drop(third);
        let fourth = other.await.unwrap();
        drop((second, fourth));
        assert_eq!(again.await.unwrap().lock_timeout, LONG_TIMEOUT);
        let free = [waits.try_permit(), waits.try_permit()];
        assert!(free.iter().all(Option::is_some) && waits.try_permit().is_none());
    }

    #[tokio::test]
    async fn one_statement_can_always_wait_for_a_lock() {
        let waits = LockWaits::new(1, nobody());
        let only = waits.permit(1, false).await.unwrap();
        let mut first = Box::pin(waits.permit(2, true));
        assert!(poll!(first.as_mut()).is_pending());
        drop(only);
        drop(first.await);
        assert!(waits.try_permit().is_some());
    }

    #[tokio::test]
    async fn all_permits_wait_for_those_of_their_company_alone() {
        let companies = CompanyPermits::new(2, nobody());
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
        drop(later.await.unwrap());
    }
}
