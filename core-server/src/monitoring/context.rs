//! What every operation works with: connections and names.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use compliance_api::error::Error;
use tokio::sync::Semaphore;

use super::names::NameCache;
use crate::{
    database::{Connections, MAX_TRIES},
    error::{is_contention, is_disconnected},
    table::Layouts,
    writes::Queues,
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
        run: impl Fn(Arc<Layouts>) -> F,
    ) -> Result<T, Error> {
        let _permit = self.queues.monitoring.one(company_id).await?;
        self.write_now(run).await
    }

    /// The same, for a caller that has waited in another queue.
    pub(super) async fn write_now<T, F: Future<Output = Result<T, sqlx::Error>>>(
        &self,
        run: impl Fn(Arc<Layouts>) -> F,
    ) -> Result<T, Error> {
        self.pool.write(|error| is_contention(error) || is_disconnected(error), run).await
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
