//! State and helpers that all operations share: connections, names, and item writes.

use std::sync::Arc;

use compliance_api::error::Error;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;

use super::names::{CompanyNames, OwnName};
use crate::backend::Backend;
use storage::{
    database::{self, Connections},
    error::{from_database, is_contention, is_disconnected},
    limits::MAX_TRIES,
    table::Layouts,
    writes::CompanyQueue,
};

/// Maximum number of companies in the name cache.
const MAX_CACHED_COMPANIES: usize = 1000;

pub(super) struct Context {
    pub(super) backend: Arc<Backend>,
    /// The names that companies have added. Names never change or disappear, so cached names stay valid.
    names: Cache<i64, Arc<CompanyNames>>,
    /// Limits how many observation chunks are saved concurrently, which leaves connections for reads.
    pub(super) chunk_permits: Semaphore,
}

impl Context {
    pub(super) fn new(backend: Arc<Backend>) -> Self {
        // A company's writers wait for each other to update its counts. More writers would only occupy connections.
        let chunk_permits = Semaphore::new((backend.pool.most() / 4).clamp(1, 8) as usize);
        Self { names: Cache::new(MAX_CACHED_COMPANIES), backend, chunk_permits }
    }
}

/// Writes a company's records.
#[derive(Clone, Copy)]
pub(super) struct CompanyWriter<'c> {
    pub(super) id: i64,
    pub(super) context: &'c Context,
}

impl CompanyWriter<'_> {
    /// Returns the company's names: from the cache if `enough` accepts them, otherwise from the database.
    pub(super) async fn names(self, enough: impl Fn(&CompanyNames) -> bool) -> Result<Arc<CompanyNames>, Error> {
        let cached = self.context.names.get(&self.id).unwrap_or_default();
        if enough(&cached) { Ok(cached) } else { self.read_names().await }
    }

    /// Reads the company's names from the database.
    pub(super) async fn read_names(self) -> Result<Arc<CompanyNames>, Error> {
        let Context { backend, names: cache, .. } = self.context;
        let own = database::read(&backend.pool, async |pool| {
            sqlx::query_file_as!(OwnName, "src/monitoring/names.sql", self.id).fetch_all(&pool).await
        });
        let own = own.await.map_err(from_database)?;
        let names = Arc::new(CompanyNames::new(own));
        if names.own.is_empty() {
            cache.remove(&self.id);
        } else {
            cache.insert(self.id, Arc::clone(&names));
        }
        Ok(names)
    }

    /// Runs a statement that writes a batch.
    pub(super) async fn write<T, F: Future<Output = Result<T, sqlx::Error>>>(
        self,
        run: impl Fn(Connections, Arc<Layouts>) -> F,
    ) -> Result<T, Error> {
        self.write_in(&self.context.backend.queues.monitoring, can_retry, run).await
    }

    /// Runs a statement in a queue and retries it after errors that `can_retry` accepts.
    pub(super) async fn write_in<T, F: Future<Output = Result<T, sqlx::Error>>>(
        self,
        queue: &CompanyQueue,
        can_retry: fn(&sqlx::Error) -> bool,
        run: impl Fn(Connections, Arc<Layouts>) -> F,
    ) -> Result<T, Error> {
        queue.one(self.id).await?.write(&self.context.backend.pool, can_retry, run).await
    }
}

/// Returns whether an idempotent statement can be retried after an error. Nearly every write here is idempotent.
///
/// If the connection was lost, the statement may have been applied.
pub(super) fn can_retry(error: &sqlx::Error) -> bool {
    is_contention(error) || is_disconnected(error)
}

/// Writes items and returns one row per item.
///
/// `run` sends items and returns their rows in order. If another writer has just added an item's record, only the next run finds the record
/// and returns the item's row.
pub(super) async fn write_all<'i, T: 'i, R, F: Future<Output = Result<Vec<Option<R>>, Error>>>(
    items: impl IntoIterator<Item = &'i T>,
    run: impl Fn(Vec<&'i T>) -> F,
) -> Result<Vec<R>, Error> {
    let items: Vec<&T> = items.into_iter().collect();
    let mut rows: Vec<Option<R>> = items.iter().map(|_| None).collect();
    for _ in 0..MAX_TRIES {
        let missing: Vec<usize> = (0..items.len()).filter(|index| rows[*index].is_none()).collect();
        if missing.is_empty() {
            break;
        }
        let written = run(missing.iter().map(|index| items[*index]).collect()).await?;
        missing.into_iter().zip(written).for_each(|(index, row)| rows[index] = row);
    }
    rows.into_iter().collect::<Option<_>>().ok_or_else(|| {
        tracing::error!("gave up writing records after {MAX_TRIES} attempts");
        Error::internal()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::write_all;
    use storage::limits::MAX_TRIES;

    /// Writes item `n` in run `n` or later. Returns the number of runs, and the run that wrote each item.
    async fn written(items: &[usize]) -> (usize, Option<Vec<usize>>) {
        let runs = AtomicUsize::new(0);
        let rows = write_all(items, async |items| {
            let run = runs.fetch_add(1, Ordering::Relaxed) + 1;
            Ok(items.into_iter().map(|item| Some(run).filter(|run| run >= item)).collect())
        });
        let rows = rows.await.ok();
        (runs.into_inner(), rows)
    }

    #[tokio::test]
    async fn unwritten_items_are_retried() {
        assert_eq!(written(&[]).await, (0, Some(vec![])));
        assert_eq!(written(&[1, 1]).await, (1, Some(vec![1, 1])));
        assert_eq!(written(&[3, 1, 2]).await, (3, Some(vec![3, 1, 2])));
        assert_eq!(written(&[99, 1]).await, (MAX_TRIES as usize, None));
    }
}
