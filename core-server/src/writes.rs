//! Writes of single records. Concurrent writes, of all companies together, become one statement and one commit.
//!
//! A company whose statement waits must not hold up others. So a shared statement waits for locks only briefly, and leaves out
//! companies of which a batch is being written in this process. What it cannot write is written apart, company by company.

mod apart;
mod queues;

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::Arc,
    time::Duration,
};

use batcher::{BatchError, Batcher, Limits, Pending, Reply, RunBatch};
use compliance_api::error::Error;
use futures::{StreamExt as _, future::join_all, stream};
use telemetry::trace::Span;
use tokio::sync::Semaphore;

use self::apart::Apart;
pub(crate) use self::queues::{CompanyQueue, Queues, WritePermit};
use crate::{
    database::{Connections, Unavailable},
    error::{from_database, is_contention, is_disconnected, is_lock_timeout},
    gauges,
    table::Layouts,
};

/// Shared statements in flight when some of them are slow.
const MAX_IN_FLIGHT_WHEN_SLOW: usize = 4;
/// Writes that wait for a statement.
const MAX_QUEUE: usize = 8192;
/// Writes in one statement.
const MAX_BATCH: usize = 256;
/// Statements in flight for the companies of one that failed.
const SPLIT: usize = 2;
/// How long a statement may take.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How long a statement of several companies waits for a lock: longer than another such statement takes, and not so long
/// that others notice.
const SHARED_LOCK_TIMEOUT: &str = "50ms";
/// How long a statement of one company waits for a lock.
const LOCK_TIMEOUT: &str = "1s";

/// Writes records of one kind.
pub(crate) trait Write: Send + Sync + 'static {
    /// What is written for one caller.
    type Item: Send + Sync + 'static;
    /// What the caller receives.
    type Written: Send + 'static;
    /// What two items of one statement must not have in common.
    type Key: Eq + Hash + Send;

    /// What is written, for metrics.
    const NAME: &'static str;

    /// The company of an item.
    fn company(item: &Self::Item) -> i64;

    /// The keys of an item.
    fn keys(item: &Self::Item) -> Vec<Self::Key>;

    /// Writes items by one statement that waits for each lock for `lock_timeout` at most. Returns one result an item, in
    /// their order.
    fn write(
        &self,
        pool: &Connections,
        layouts: Arc<Layouts>,
        items: &[&Self::Item],
        lock_timeout: &'static str,
    ) -> impl Future<Output = Result<Vec<Self::Written>, sqlx::Error>> + Send;
}

/// Coalesces writes of one kind. Clones share the queue.
pub(crate) struct Writes<W: Write>(Batcher<Writer<W>>);

impl<W: Write> Clone for Writes<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Runs the statements of [`Writes`].
struct Writer<W: Write> {
    inner: Arc<Inner<W>>,
    apart: Arc<Apart<W>>,
}

struct Inner<W> {
    write: W,
    pool: Connections,
    /// Batches of the same records, which a company's coalesced writes wait for.
    queue: CompanyQueue,
}

/// Writes with their callers.
type Waiting<W> = Pending<<W as Write>::Item, Result<<W as Write>::Written, Error>>;

/// Why a statement wrote nothing.
enum Failure {
    /// It waited too long for a lock.
    Locked,
    /// The database cannot be reached, or the statement took too long.
    Unavailable(Error),
    /// The statement failed, perhaps by only one of its items.
    Refused(Error),
    /// All callers have gone away.
    Abandoned,
}

impl<W: Write> Writes<W> {
    /// Writes by statements on `pool`. `queue` is that of batches which write the same records; `locked` are the permits of
    /// statements that may wait for a lock.
    pub(crate) fn new(write: W, pool: &Connections, queue: &CompanyQueue, locked: &Arc<Semaphore>) -> Self {
        let limits = Limits { max_batch: MAX_BATCH, ..Limits::for_this_machine(MAX_IN_FLIGHT_WHEN_SLOW, MAX_QUEUE) };
        let inner = Arc::new(Inner { write, pool: pool.clone(), queue: queue.clone() });
        let apart = Arc::new(Apart::new(Arc::clone(&inner), Arc::clone(locked)));
        let writes = Batcher::new(Writer { inner, apart }, limits);
        gauges::report_queue(W::NAME, writes.queue_length());
        Self(writes)
    }

    /// Writes an item. Concurrent writes become one statement. If the caller goes away before that begins, nothing is
    /// written.
    pub(crate) async fn write(&self, item: W::Item) -> Result<W::Written, Error> {
        // The statement runs in a task of its own, for many callers.
        let _span = Span::of_statement("coalesced write");
        match self.0.call(item).await {
            Ok(written) => written,
            Err(BatchError::QueueFull) => Err(Error::overloaded()),
            Err(BatchError::Closed) => Err(Error::internal()),
        }
    }
}

impl<W: Write> RunBatch for Writer<W> {
    type Request = W::Item;
    type Response = Result<W::Written, Error>;

    async fn run(&self, batch: Vec<Waiting<W>>) {
        let (shared, apart) = self.divide(batch);
        self.apart.add(apart.into_iter());
        // Until all statements have ended, the companies' batches wait.
        let (_permits, shared) = shared;
        let Some(failed) = self.try_write(shared).await else { return };
        let mut companies: HashMap<i64, Vec<Waiting<W>>> = HashMap::new();
        for pending in failed {
            companies.entry(W::company(&pending.request)).or_default().push(pending);
        }
        if companies.len() == 1 {
            return self.apart.add(companies.into_values().flatten());
        }
        // Most of them have nothing to do with the failure.
        let each = stream::iter(companies.into_values());
        each.for_each_concurrent(SPLIT, async |items| {
            if let Some(failed) = self.try_write(items).await {
                self.apart.add(failed.into_iter());
            }
        })
        .await;
    }
}

impl<W: Write> Writer<W> {
    /// Writes items by one statement. Returns them if it waited too long for a lock, or failed.
    async fn try_write(&self, items: Vec<Waiting<W>>) -> Option<Vec<Waiting<W>>> {
        match self.inner.write(items, SHARED_LOCK_TIMEOUT).await {
            Some((items, Failure::Locked | Failure::Refused(_))) => Some(items),
            Some((items, Failure::Unavailable(error))) => {
                respond_all(items, &error);
                None
            }
            Some((_, Failure::Abandoned)) | None => None,
        }
    }

    /// Divides a batch into what one statement can write now and the rest: a company that is busy, and items that have a
    /// key in common with another one.
    #[expect(clippy::type_complexity, reason = "it is taken apart at once")]
    fn divide(&self, batch: Vec<Waiting<W>>) -> ((Vec<WritePermit>, Vec<Waiting<W>>), Vec<Waiting<W>>) {
        let (mut free, mut busy) = (Vec::new(), HashSet::new());
        let mut seen = HashSet::new();
        for pending in &batch {
            let company = W::company(&pending.request);
            if seen.insert(company) {
                match self.inner.queue.try_all(company) {
                    Some(permit) if !self.apart.has(company) => free.push(permit),
                    _ => {
                        busy.insert(company);
                    }
                }
            }
        }
        let (others, now_free) = batch.into_iter().partition(|pending| busy.contains(&W::company(&pending.request)));
        let (now, mut later) = without_conflicts(now_free, MAX_BATCH, |pending| W::keys(&pending.request));
        later.extend::<Vec<_>>(others);
        ((free, now), later)
    }
}

/// The first items of which no two have a key in common, and the others.
fn without_conflicts<T, K: Eq + Hash>(items: Vec<T>, most: usize, keys_of: impl Fn(&T) -> Vec<K>) -> (Vec<T>, Vec<T>) {
    let mut keys = HashSet::new();
    let mut count = 0;
    items.into_iter().partition(|item| {
        let own = keys_of(item);
        let fits = count < most && own.iter().all(|key| !keys.contains(key));
        // An item that is left out keeps later ones with its keys behind it.
        keys.extend(own);
        count += usize::from(fits);
        fits
    })
}

impl<W: Write> Inner<W> {
    /// Writes items, and responds to their callers. Returns them if nothing was written.
    async fn write(&self, batch: Vec<Waiting<W>>, lock_timeout: &'static str) -> Option<(Vec<Waiting<W>>, Failure)> {
        if batch.is_empty() {
            return None;
        }
        let (items, mut replies): (Vec<W::Item>, Vec<Reply<_>>) = batch.into_iter().map(Pending::into_parts).unzip();
        let references: Vec<&W::Item> = items.iter().collect();
        let statement = self
            .pool
            .try_write(is_contention, |layouts| self.write.write(&self.pool, layouts, &references, lock_timeout));
        let abandoned = async {
            join_all(replies.iter_mut().map(Reply::abandoned)).await;
        };
        let written = tokio::select! {
            written = tokio::time::timeout(TIMEOUT, statement) => written,
            () = abandoned => return Some((Vec::new(), Failure::Abandoned)),
        };
        let failure = match written {
            Ok(Ok(written)) => {
                replies.into_iter().zip(written).for_each(|(reply, written)| reply.respond(Ok(written)));
                return None;
            }
            Ok(Err(error)) if is_lock_timeout(&error) => Failure::Locked,
            Ok(Err(error)) if is_unavailable(&error) => Failure::Unavailable(from_database(&error)),
            Ok(Err(error)) => Failure::Refused(from_database(&error)),
            Err(_) => Failure::Unavailable(Error::deadline_exceeded()),
        };
        Some((items.into_iter().zip(replies).map(Pending::from).collect(), failure))
    }
}

/// Whether every other statement would fail as well.
fn is_unavailable(error: &sqlx::Error) -> bool {
    is_disconnected(error) || Unavailable::of(error).is_some() || matches!(error, sqlx::Error::PoolTimedOut)
}

fn respond_all<Q, R>(batch: Vec<Pending<Q, Result<R, Error>>>, error: &Error) {
    for pending in batch {
        pending.respond(Err(error.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::without_conflicts;

    /// Items of a few keys each; the first items of the result are written now.
    fn divided(items: &[&[u8]], most: usize) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        without_conflicts(items.iter().map(|keys| keys.to_vec()).collect(), most, Clone::clone)
    }

    #[test]
    fn no_two_items_of_a_statement_have_a_key_in_common() {
        assert_eq!(divided(&[&[1, 2], &[3], &[2, 4], &[5]], 9), (vec![vec![1, 2], vec![3], vec![5]], vec![vec![2, 4]]));
        // The third item is behind the second one, with which it has a key in common.
        assert_eq!(divided(&[&[1], &[1, 2], &[2], &[3]], 9), (vec![vec![1], vec![3]], vec![vec![1, 2], vec![2]]));
        assert_eq!(divided(&[&[], &[]], 9), (vec![vec![], vec![]], vec![]));
    }

    #[test]
    fn a_statement_has_a_limit() {
        assert_eq!(divided(&[&[1], &[2], &[3]], 2), (vec![vec![1], vec![2]], vec![vec![3]]));
        assert_eq!(divided(&[&[1], &[2]], 2), (vec![vec![1], vec![2]], vec![]));
        // What is left out counts for nothing.
        assert_eq!(divided(&[&[1], &[1], &[2], &[3]], 2), (vec![vec![1], vec![2]], vec![vec![1], vec![3]]));
    }
}
