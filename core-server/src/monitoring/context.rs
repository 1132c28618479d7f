//! What every operation works with: connections and names.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use compliance_api::error::Error;
use tokio::sync::Semaphore;

use super::names::NameCache;
use crate::{
    database::{Connections, MAX_TRIES},
    error::{is_contention, is_disconnected},
    table::Layouts,
    writes::{Queues, WritePermit},
};

/// What every operation works with.
pub(super) struct Context {
    pub(super) pool: Connections,
    pub(super) names: NameCache,
    pub(super) queues: Queues,
    /// One for each chunk of observations that may be saved at a time, so that reads find connections as well.
    pub(super) chunk_permits: Semaphore,
}

impl Context {
    pub(super) fn new(pool: &Connections, queues: &Queues) -> Self {
        // The writers of one company wait for each other at its counts; more of them would only hold connections.
        let chunk_permits = Semaphore::new((pool.most() / 4).clamp(1, 8) as usize);
        Self { pool: pool.clone(), names: NameCache::new(pool), queues: queues.clone(), chunk_permits }
    }

    /// Runs a statement of a company that sends a batch, and retries it where that helps: every write of internal services
    /// is idempotent.
    pub(super) async fn write<T, F: Future<Output = Result<T, sqlx::Error>>>(
        &self,
        company_id: i64,
        run: impl Fn(Connections, Arc<Layouts>) -> F,
    ) -> Result<T, Error> {
        let permit = self.queues.monitoring.one(company_id).await?;
        self.write_with(&permit, run).await
    }

    /// The same, for a caller that has waited in another queue.
    pub(super) async fn write_with<T, F: Future<Output = Result<T, sqlx::Error>>>(
        &self,
        permit: &WritePermit,
        run: impl Fn(Connections, Arc<Layouts>) -> F,
    ) -> Result<T, Error> {
        permit.write(&self.pool, |error| is_contention(error) || is_disconnected(error), run).await
    }

    /// Writes items of which no two have the same key, and returns what became of each. `run` hands the items back. It
    /// leaves out what became of an item that another writer has just written: the next run finds it.
    pub(super) async fn write_all<T, K: Eq + Hash, R, F: Future<Output = Result<(Vec<T>, HashMap<K, R>), Error>>>(
        &self,
        mut items: Vec<T>,
        key: impl Fn(&T) -> K,
        run: impl Fn(Vec<T>) -> F,
    ) -> Result<Vec<(T, R)>, Error> {
        let mut results = Vec::with_capacity(items.len());
        for _ in 0..MAX_TRIES {
            if items.is_empty() {
                break;
            }
            let (sent, mut written) = run(items).await?;
            items = Vec::new();
            for item in sent {
                match written.remove(&key(&item)) {
                    Some(result) => results.push((item, result)),
                    None => items.push(item),
                }
            }
        }
        if items.is_empty() {
            return Ok(results);
        }
        tracing::error!("records could not be written in {MAX_TRIES} tries");
        Err(Error::internal())
    }
}

/// A row that a statement returns for an item.
pub(super) trait ItemRow {
    /// Whether another run would not change the row. An item whose record another writer has just added is found by the
    /// next run only.
    fn is_final(&self) -> bool;

    /// Adds that an earlier run has changed the record.
    fn changed_before(&mut self, before: &Self);
}

/// Runs a statement until the rows of all items are final.
pub(super) async fn until_final<R: ItemRow, F: Future<Output = Result<Vec<R>, Error>>>(
    run: impl Fn() -> F,
) -> Result<Vec<R>, Error> {
    let mut rows = run().await?;
    for _ in 1..MAX_TRIES {
        if rows.iter().all(R::is_final) {
            break;
        }
        let before = std::mem::replace(&mut rows, run().await?);
        rows.iter_mut().zip(&before).for_each(|(row, before)| row.changed_before(before));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{ItemRow, MAX_TRIES, until_final};

    /// The row of an item, after so many runs.
    struct Row {
        run: usize,
        /// The run that is final.
        last: usize,
        /// Whether a run has changed the record.
        is_changed: bool,
    }

    impl ItemRow for Row {
        fn is_final(&self) -> bool {
            self.run >= self.last
        }

        fn changed_before(&mut self, before: &Self) {
            self.is_changed |= before.is_changed;
        }
    }

    /// Runs until items are final that are so after `last` runs, of which the one numbered `changing` changes the record.
    async fn run(last: [usize; 2], changing: [usize; 2]) -> (usize, Vec<bool>) {
        let runs = AtomicUsize::new(0);
        let rows = until_final(|| async {
            let run = runs.fetch_add(1, Ordering::Relaxed) + 1;
            let row = |index: usize| Row { run, last: last[index], is_changed: run == changing[index] };
            Ok(vec![row(0), row(1)])
        });
        let changed = rows.await.unwrap().iter().map(|row| row.is_changed).collect();
        (runs.into_inner(), changed)
    }

    #[tokio::test]
    async fn items_are_run_until_all_are_final_and_remember_every_change() {
        assert_eq!(run([1, 1], [1, 9]).await, (1, vec![true, false]));
        assert_eq!(run([1, 2], [1, 9]).await, (2, vec![true, false]), "the first run has changed the first record");
        assert_eq!(run([3, 1], [1, 2]).await, (3, vec![true, true]));
        assert_eq!(run([3, 3], [3, 9]).await, (3, vec![true, false]));
        assert_eq!(run([99, 1], [9, 1]).await, (MAX_TRIES as usize, vec![false, true]));
    }
}
