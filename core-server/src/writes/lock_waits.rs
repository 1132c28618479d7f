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

/// The turns of a process. Clones share them.
#[derive(Clone)]
pub(super) struct LockWaits {
    companies: Companies,
    turns: Arc<Semaphore>,
}

/// The turn of a statement, until this is dropped.
pub(crate) struct Turn {
    /// How long the statement may wait for each lock.
    pub(crate) lock_timeout: &'static str,
    _company: Option<CompanyPermit>,
    _permit: OwnedSemaphorePermit,
}

impl LockWaits {
    /// The turns of a process with this number of connections.
    pub(super) fn new(connections: u32) -> Self {
        let turns = Arc::new(Semaphore::new((connections / 4).clamp(1, MAX_TURNS) as usize));
        Self { companies: Companies::new(1), turns }
    }

    /// Waits until it is a company's turn. The companies have theirs one after the other.
    pub(super) async fn turn(&self, company: i64) -> Result<Turn, Error> {
        let company = self.companies.one(company).await?;
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| Error::internal())?;
        let lock_timeout = if self.turns.available_permits() > 0 { LONG } else { SHORT };
        Ok(Turn { lock_timeout, _company: Some(company), _permit: turn })
    }

    /// A turn that nobody waits for, for a company that is not known to wait.
    pub(super) fn try_turn(&self) -> Option<Turn> {
        let turn = Arc::clone(&self.turns).try_acquire_owned().ok()?;
        Some(Turn { lock_timeout: SHORT, _company: None, _permit: turn })
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn companies_have_turns_one_after_the_other() {
        let waits = LockWaits::new(8);
        let first = waits.turn(1).await.unwrap();
        assert_eq!(first.lock_timeout, LONG);
        let (mut again, mut other) = (Box::pin(waits.turn(1)), Box::pin(waits.turn(3)));
        assert!(poll!(again.as_mut()).is_pending(), "a company has one turn");
        let second = waits.turn(2).await.unwrap();
        assert_eq!(second.lock_timeout, SHORT);
        assert!(poll!(other.as_mut()).is_pending(), "a quarter of the connections wait");
        assert!(waits.try_turn().is_none());
        drop(first);
        assert!(poll!(again.as_mut()).is_pending(), "the other company comes before");
        let third = other.await.unwrap();
        drop((second, third));
        assert_eq!(again.await.unwrap().lock_timeout, LONG);
        let free = [waits.try_turn(), waits.try_turn()];
        assert!(free.iter().all(Option::is_some) && waits.try_turn().is_none());
    }
}
