//! Writes of single records. Concurrent writes, of all companies together, become one statement and one commit.
//!
//! A company whose statement waits must not hold up others. So a shared statement waits for locks only briefly, and leaves out
//! companies that are known to wait. What it cannot write is written apart, company by company.

mod apart;
mod lock_waits;
mod queues;

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    pin::pin,
    sync::{Arc, Mutex},
    task::Poll,
};

use batcher::{BatchLimits, Batcher, MAX_BATCH, Pending, Reply, RunBatch};
use compliance_api::error::Error;
use futures::{future::join_all, poll};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

pub use self::{
    lock_waits::OnWait,
    queues::{CompanyQueue, Queues, WritePermit},
};
use crate::{
    database::{Connections, Lease, Session},
    deadline,
    error::{from_batcher, from_database, is_contention, is_disconnected, is_exhausted, is_lock_timeout_of_write},
    limits::{COALESCED_TIMEOUT, MAX_QUEUED_COALESCED, SHARED_LOCK_TIMEOUT, WRITES_APART, WRITES_WHEN_SLOW},
    metrics::{self, RETRY_CONFLICT, RETRY_LOCK, count_retry},
    statement::{self, Purpose, Spent},
    table::Layouts,
};

/// A statement that writes items of many callers.
pub trait Write: Send + Sync + 'static {
    /// What is written for one caller.
    type Item: Send + Sync + 'static;
    /// What its caller gets.
    type Written: Send + 'static;
    /// What two items of one statement must not have in common.
    type Key: Eq + Hash + Send;

    /// What is written, for metrics.
    const NAME: &'static str;

    /// The company of an item.
    fn company(item: &Self::Item) -> i64;

    /// The keys of an item. By default it has none.
    fn keys(_: &Self::Item) -> Vec<Self::Key> {
        Vec::new()
    }

    /// Writes items by one statement, which is sent at once. Returns one result an item, in their order. `writers` has who writes each
    /// item, see [`statement::writer`].
    fn write(
        &self,
        session: Session<'_>,
        layouts: Arc<Layouts>,
        items: &[&Self::Item],
        writers: Vec<String>,
    ) -> impl Future<Output = Result<Vec<Self::Written>, sqlx::Error>> + Send;
}

/// Writes items of one kind. Those that come together share a statement.
pub struct Writes<W: Write>(Batcher<Writer<W>>);

struct Writer<W: Write>(Arc<SharedWrites<W>>);

struct SharedWrites<W: Write> {
    write: W,
    pool: Connections,
    /// Batches of the same records, which a company's coalesced writes wait for.
    queue: CompanyQueue,
    /// The companies that are written apart, with the writes that wait for the company's task.
    apart: Mutex<HashMap<i64, Vec<Waiting<W>>>>,
    apart_in_flight: Semaphore,
}

/// What is written for a caller that waits until its deadline.
struct Request<T> {
    item: T,
    deadline: Option<Instant>,
    origin: statement::Request,
    /// By the attempts that wrote nothing.
    spent: Spent,
}

type Waiting<W> = Pending<Request<<W as Write>::Item>, Result<<W as Write>::Written, Error>>;

/// Why a statement wrote nothing.
enum Failure {
    /// It waited too long for a lock.
    Locked,
    /// The database cannot be reached, or the statement took too long.
    Unavailable(Error),
    /// The statement failed, perhaps by only one of its items.
    Refused(Error),
    Abandoned,
}

impl<W: Write> Writes<W> {
    /// Writes by statements on `pool`. `queue` is that of batches which write the same records.
    pub fn new(write: W, pool: &Connections, queue: &CompanyQueue) -> Self {
        let limits = BatchLimits::for_this_machine(WRITES_WHEN_SLOW, MAX_QUEUED_COALESCED);
        let pool = pool.with_lock_timeout(SHARED_LOCK_TIMEOUT);
        let (apart, apart_in_flight) = (Mutex::default(), Semaphore::new(WRITES_APART));
        let shared = SharedWrites { write, pool, queue: queue.clone(), apart, apart_in_flight };
        let writes = Batcher::new(Writer(Arc::new(shared)), limits);
        metrics::report_queue(W::NAME, writes.queue_length());
        Self(writes)
    }

    /// Writes an item. If the caller goes away before the statement begins, nothing is written.
    pub async fn write(&self, item: W::Item) -> Result<W::Written, Error> {
        // The statement runs in a task of its own, for many callers.
        let origin = statement::Request::current("coalesced write");
        let request = Request { item, deadline: deadline::current(), origin, spent: Spent::default() };
        self.0.call(request).await.map_err(from_batcher)?
    }
}

impl<W: Write> RunBatch for Writer<W> {
    type Request = Request<W::Item>;
    type Response = Result<W::Written, Error>;

    async fn run(&self, batch: Vec<Waiting<W>>) {
        let Self(shared) = self;
        // Until the statement has ended, the companies' batches wait. A company that is busy has no permit.
        let mut permits = HashMap::new();
        for pending in &batch {
            let company = company_of::<W>(pending);
            let permit = || shared.queue.try_all(company).filter(|_| !shared.is_apart(company));
            permits.entry(company).or_insert_with(permit);
        }
        let is_free = |pending: &Waiting<W>| permits.get(&company_of::<W>(pending)).is_some_and(Option::is_some);
        let (free, busy): (Vec<_>, Vec<_>) = batch.into_iter().partition(is_free);
        let (now, later) = without_conflicts(free, MAX_BATCH, keys_of::<W>);
        shared.add_apart(later.into_iter().chain(busy));
        let parts = shared.pool.divided(now, company_of::<W>).await;
        join_all(parts.into_iter().map(|part| shared.write_shared(part, &permits))).await;
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

fn company_of<W: Write>(pending: &Waiting<W>) -> i64 {
    W::company(&pending.request.item)
}

fn keys_of<W: Write>(pending: &Waiting<W>) -> Vec<W::Key> {
    W::keys(&pending.request.item)
}

impl<W: Write> SharedWrites<W> {
    /// Writes items of companies by one statement, and company by company what it could not write.
    async fn write_shared(self: &Arc<Self>, items: Vec<Waiting<W>>, permits: &HashMap<i64, Option<WritePermit>>) {
        match self.write(&self.pool, items).await {
            Ok(()) => {}
            Err((items, Failure::Unavailable(error))) => respond_failed::<W>(items, &error),
            Err((items, failure)) => {
                count_failure(&failure);
                let mut companies: Vec<i64> = items.iter().map(company_of::<W>).collect();
                companies.sort_unstable();
                companies.dedup();
                if let (Failure::Locked, [only]) = (&failure, &companies[..])
                    && let Some(Some(permit)) = permits.get(only)
                {
                    permit.lock_timed_out(false);
                }
                self.pool.forget_locations(companies);
                // Most of them have nothing to do with the failure.
                self.add_apart(items);
            }
        }
    }

    /// Writes items, and responds to their callers. Returns them if nothing was written.
    async fn write(&self, pool: &Connections, batch: Vec<Waiting<W>>) -> Result<(), (Vec<Waiting<W>>, Failure)> {
        let span = statement::batch_span(W::NAME, batch.iter().map(|pending| &pending.request.origin));
        Purpose::of(W::NAME).run(span.run(self.write_named(pool, batch))).await
    }

    async fn write_named(
        &self,
        pool: &Connections,
        mut batch: Vec<Waiting<W>>,
    ) -> Result<(), (Vec<Waiting<W>>, Failure)> {
        let start = Instant::now();
        let (deadline, mut tries) = (start + COALESCED_TIMEOUT, 1);
        let add_spent = |batch: &mut Vec<Waiting<W>>| {
            for pending in batch {
                pending.request.spent = pending.request.spent.since(start.into_std());
            }
        };
        let failure = loop {
            if batch.is_empty() {
                break Failure::Abandoned;
            }
            match timeout_at(deadline, self.try_write(pool, &mut batch)).await {
                Ok(Ok(Some(written))) => {
                    add_spent(&mut batch);
                    log_if_slow::<W>(&batch);
                    batch.into_iter().zip(written).for_each(|(pending, written)| pending.respond(Ok(written)));
                    return Ok(());
                }
                Ok(Ok(None)) => batch.clear(),
                Ok(Err(error)) if pool.may_retry(&error, is_contention, &mut tries).await => {}
                Ok(Err(error)) if is_lock_timeout_of_write(&error) => break Failure::Locked,
                // Every other statement would fail as well.
                Ok(Err(error))
                    if is_disconnected(&error)
                        || is_exhausted(&error)
                        || matches!(error, sqlx::Error::PoolTimedOut) =>
                {
                    break Failure::Unavailable(from_database(error));
                }
                Ok(Err(error)) => break Failure::Refused(from_database(error)),
                Err(_) => break Failure::Unavailable(Error::deadline_exceeded()),
            }
        };
        add_spent(&mut batch);
        Err((batch, failure))
    }

    /// Sends a statement once there is a connection, for those whose callers have not left by then. `None` if all have.
    async fn try_write(
        &self,
        pool: &Connections,
        batch: &mut Vec<Waiting<W>>,
    ) -> Result<Option<Vec<W::Written>>, sqlx::Error> {
        let pool = batch.first().map_or_else(|| pool.clone(), |first| pool.of_company(company_of::<W>(first)));
        let mut leasing = pin!(lease(&pool));
        let leased = poll!(leasing.as_mut());
        let (mut lease, node) = match leased {
            Poll::Ready(leased) => leased?,
            Poll::Pending => {
                let leased = leasing.await?;
                // Lets callers that have left meanwhile be noticed.
                deadline::check_caller().await;
                leased
            }
        };
        // From here on nothing is waited for before the statement is sent.
        let now = Instant::now();
        batch.retain(|pending| !pending.is_abandoned());
        let late = batch.extract_if(.., |pending| pending.request.deadline.is_some_and(|deadline| deadline <= now));
        respond_all(late, &Error::deadline_exceeded());
        if batch.is_empty() {
            lease.unused();
            return Ok(None);
        }
        let (requests, replies): (Vec<_>, Vec<&mut Reply<_>>) = batch.iter_mut().map(Pending::parts_mut).unzip();
        let writers = requests.iter().map(|request| request.origin.writer()).collect();
        let items: Vec<&W::Item> = requests.into_iter().map(|request| &request.item).collect();
        let (connection, generation) = lease.connection()?;
        let session = pool.session(connection);
        let (session, layouts) = match &node {
            Some(node) => (pool.at_node(session), node.layouts()),
            None => (session, pool.layouts()),
        };
        let written = tokio::select! {
            biased;
            written = generation.unless_hung(self.write.write(session, layouts, &items, writers)) => written?,
            _ = join_all(replies.into_iter().map(Reply::closed)) => return Ok(None),
        };
        if let (Err(error), Some(node)) = (&written, &node) {
            pool.node_failed(node, error).await;
        }
        lease.done(written).map(Some)
    }
}

/// A connection for a write. It is one to the node of Citus that has the company's records, if this can be reached.
async fn lease(pool: &Connections) -> Result<(Lease, Option<Connections>), sqlx::Error> {
    if pool.is_divided()
        && let Some(node) = pool.node()
    {
        match node.lease().await {
            Ok(lease) => return Ok((lease, Some(node))),
            Err(error) => pool.node_failed(&node, &error).await,
        }
    }
    Ok((pool.lease().await?, None))
}

/// Counts the items of a statement that failed as sent again.
fn count_failure(failure: &Failure) {
    match failure {
        Failure::Locked => count_retry(RETRY_LOCK),
        Failure::Refused(_) => count_retry(RETRY_CONFLICT),
        Failure::Unavailable(_) | Failure::Abandoned => {}
    }
}

/// Logs a statement that took long, with the attempts before this one.
fn log_if_slow<W: Write>(batch: &[Waiting<W>]) {
    if let Some(spent) = batch.iter().map(|pending| pending.request.spent).max_by_key(|spent| spent.duration) {
        statement::log_if_slow(W::NAME, spent, batch.iter().map(|pending| pending.request.origin.id()));
    }
}

/// Responds to callers whose items are not written.
fn respond_failed<W: Write>(batch: Vec<Waiting<W>>, error: &Error) {
    log_if_slow::<W>(&batch);
    respond_all(batch, error);
}

fn respond_all<Q, R>(batch: impl IntoIterator<Item = Pending<Q, Result<R, Error>>>, error: &Error) {
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
