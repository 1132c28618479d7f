//! Statements that wait for locks that other sessions hold: they wait in turn, each company with one statement, and have at
//! most a quarter of the connections.

use std::sync::Arc;

use compliance_api::error::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::companies::{Companies, CompanyPermit};

/// Statements that wait, however many connections there are.
const MAX_TURNS: u32 = 4;
/// How long a statement waits for a lock in its turn.
const LONG: &str = "1s";
/// The same, if all turns are taken, so that a company whose lock is released has its turn soon, and in a turn that was free.
const SHORT: &str = "200ms";
/// The same, in the first turn of a company: most find no lock then, and must not wait for those that do.
const FIRST: &str = "20ms";

/// The turns of a process. Clones share them.
#[derive(Clone)]
pub(super) struct LockWaits {
    companies: Companies,
    turns: Arc<Semaphore>,
    /// Turns in which statements wait for more than [`FIRST`]: all but one, which is left to the first turns of others.
    long: Arc<Semaphore>,
}

/// The turn of a statement, until this is dropped.
pub(crate) struct Turn {
    /// How long the statement may wait for each lock.
    pub(crate) lock_timeout: &'static str,
    _company: Option<CompanyPermit>,
    _long: Option<OwnedSemaphorePermit>,
    _permit: OwnedSemaphorePermit,
}

impl LockWaits {
    /// The turns of a process with this number of connections.
    pub(super) fn new(connections: u32) -> Self {
        let turns = (connections / 4).clamp(1, MAX_TURNS) as usize;
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { companies: Companies::new(1), turns: semaphore(turns), long: semaphore((turns - 1).max(1)) }
    }

    /// Waits until it is a company's turn. The companies have theirs one after the other; those whose first turn it is do not
    /// wait for all of the others.
    pub(super) async fn turn(&self, company: i64, is_first: bool) -> Result<Turn, Error> {
        let company = self.companies.one(company).await?;
        let acquire = async |semaphore: &Arc<Semaphore>| {
            Arc::clone(semaphore).acquire_owned().await.map_err(|_| Error::internal())
        };
        let long = if is_first { None } else { Some(acquire(&self.long).await?) };
        let turn = acquire(&self.turns).await?;
        let lock_timeout = match &long {
            None => FIRST,
            Some(_) if self.long.available_permits() > 0 => LONG,
            Some(_) => SHORT,
        };
        Ok(Turn { lock_timeout, _company: Some(company), _long: long, _permit: turn })
    }

    /// A turn that nobody waits for, for a company that is not known to wait.
    pub(super) fn try_turn(&self) -> Option<Turn> {
        let long = Arc::clone(&self.long).try_acquire_owned().ok()?;
        let turn = Arc::clone(&self.turns).try_acquire_owned().ok()?;
        Some(Turn { lock_timeout: SHORT, _company: None, _long: Some(long), _permit: turn })
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn companies_have_turns_one_after_the_other() {
        let waits = LockWaits::new(12);
        let first = waits.turn(1, false).await.unwrap();
        assert_eq!(first.lock_timeout, LONG);
        let (mut again, mut other) = (Box::pin(waits.turn(1, false)), Box::pin(waits.turn(3, false)));
        assert!(poll!(again.as_mut()).is_pending(), "a company has one turn");
        let second = waits.turn(2, false).await.unwrap();
        assert_eq!(second.lock_timeout, SHORT);
        assert!(poll!(other.as_mut()).is_pending() && waits.try_turn().is_none(), "one turn is left to others");
        let (third, mut next) = (waits.turn(4, true).await.unwrap(), Box::pin(waits.turn(5, true)));
        assert_eq!(third.lock_timeout, FIRST);
        assert!(poll!(next.as_mut()).is_pending(), "a quarter of the connections wait");
        drop(first);
        assert!(
            poll!(again.as_mut()).is_pending() && poll!(next.as_mut()).is_ready(),
            "the other company comes before"
        );
        drop(third);
        let fourth = other.await.unwrap();
        drop((second, fourth));
        assert_eq!(again.await.unwrap().lock_timeout, LONG);
        let free = [waits.try_turn(), waits.try_turn()];
        assert!(free.iter().all(Option::is_some) && waits.try_turn().is_none());
    }

    #[tokio::test]
    async fn there_is_one_turn_at_least() {
        let waits = LockWaits::new(1);
        let only = waits.turn(1, false).await.unwrap();
        let mut first = Box::pin(waits.turn(2, true));
        assert!(poll!(first.as_mut()).is_pending());
        drop(only);
        drop(first.await);
        assert!(waits.try_turn().is_some());
    }
}
