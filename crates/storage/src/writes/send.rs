//! One statement that writes items of many callers: when it is sent, tried again, and what its callers get.

use std::{hash::Hash, pin::pin, sync::Arc, task::Poll};

use batcher::{Pending, Reply};
use compliance_api::error::Error;
use futures::{future::join_all, poll};
use tokio::time::{Instant, timeout_at};

use crate::{
    database::{BorrowedConnection, Connections, Session},
    deadline,
    error::{from_database, is_contention, is_disconnected, is_exhausted, is_lock_timeout_of_write},
    limits::COALESCED_TIMEOUT,
    metrics::{RETRY_CONFLICT, RETRY_LOCK, count_retry},
    statement::{self, Spent, StatementContext},
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

    /// Sends one statement immediately, which writes all items. Returns one result for each item, in order. `writers` names the writer
    /// of each item, see [`statement::writer`].
    fn write(
        &self,
        session: Session<'_>,
        layouts: Arc<Layouts>,
        items: &[&Self::Item],
        writers: Vec<String>,
    ) -> impl Future<Output = Result<Vec<Self::Written>, sqlx::Error>> + Send;
}

/// What is written for a caller that waits until its deadline.
pub(super) struct PendingWrite<T> {
    item: T,
    deadline: Option<Instant>,
    origin: statement::RequestContext,
    /// By the attempts that wrote nothing.
    spent: Spent,
}

pub(super) type WaitingWrite<W> = Pending<PendingWrite<<W as Write>::Item>, Result<<W as Write>::Written, Error>>;

/// Why a statement wrote nothing.
pub(super) enum Failure {
    /// It waited too long for a lock.
    Locked,
    /// The database cannot be reached, or the statement took too long.
    Unavailable(Error),
    /// The statement failed, perhaps by only one of its items.
    Refused(Error),
    Abandoned,
}

impl<T> PendingWrite<T> {
    /// That of the call that runs here.
    pub(super) fn current(item: T) -> Self {
        let origin = statement::RequestContext::current("coalesced write");
        Self { item, deadline: deadline::current(), origin, spent: Spent::default() }
    }
}

/// Writes items by statements that many callers share.
pub(super) struct SharedWrites<W: Write> {
    pub(super) write: W,
    pub(super) pool: Connections,
}

pub(super) fn company_of<W: Write>(pending: &WaitingWrite<W>) -> i64 {
    W::company(&pending.request.item)
}

pub(super) fn keys_of<W: Write>(pending: &WaitingWrite<W>) -> Vec<W::Key> {
    W::keys(&pending.request.item)
}

impl<W: Write> SharedWrites<W> {
    /// Writes items, and responds to their callers. Returns them if nothing was written.
    pub(super) async fn write(
        &self,
        pool: &Connections,
        batch: Vec<WaitingWrite<W>>,
    ) -> Result<(), (Vec<WaitingWrite<W>>, Failure)> {
        let span = statement::batch_span(W::NAME, batch.iter().map(|pending| &pending.request.origin));
        StatementContext::of(W::NAME).run(span.run(self.write_named(pool, batch))).await
    }

    async fn write_named(
        &self,
        pool: &Connections,
        mut batch: Vec<WaitingWrite<W>>,
    ) -> Result<(), (Vec<WaitingWrite<W>>, Failure)> {
        let start = Instant::now();
        let (deadline, mut tries) = (start + COALESCED_TIMEOUT, 1);
        let add_spent = |batch: &mut Vec<WaitingWrite<W>>| {
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
        batch: &mut Vec<WaitingWrite<W>>,
    ) -> Result<Option<Vec<W::Written>>, sqlx::Error> {
        let pool = batch.first().map_or_else(|| pool.clone(), |first| pool.of_company(company_of::<W>(first)));
        let mut borrowing = pin!(borrow_connection(&pool));
        let polled = poll!(borrowing.as_mut());
        let (mut borrowed, node) = match polled {
            Poll::Ready(polled) => polled?,
            Poll::Pending => {
                let polled = borrowing.await?;
                // Notices callers that left during the wait.
                deadline::check_caller().await;
                polled
            }
        };
        // From here on nothing is waited for before the statement is sent.
        let now = Instant::now();
        batch.retain(|pending| !pending.is_abandoned());
        let late = batch.extract_if(.., |pending| pending.request.deadline.is_some_and(|deadline| deadline <= now));
        respond_all(late, &Error::deadline_exceeded());
        if batch.is_empty() {
            borrowed.unused();
            return Ok(None);
        }
        let (requests, replies): (Vec<_>, Vec<&mut Reply<_>>) = batch.iter_mut().map(Pending::parts_mut).unzip();
        let writers = requests.iter().map(|request| request.origin.writer()).collect();
        let items: Vec<&W::Item> = requests.into_iter().map(|request| &request.item).collect();
        let (connection, generation) = borrowed.connection()?;
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
        borrowed.done(written).map(Some)
    }
}

/// A connection for a write. It is one to the node of Citus that has the company's records, if this can be reached.
async fn borrow_connection(pool: &Connections) -> Result<(BorrowedConnection, Option<Connections>), sqlx::Error> {
    if pool.is_divided()
        && let Some(node) = pool.node()
    {
        match node.borrow_connection().await {
            Ok(borrowed) => return Ok((borrowed, Some(node))),
            Err(error) => pool.node_failed(&node, &error).await,
        }
    }
    Ok((pool.borrow_connection().await?, None))
}

/// Counts the items of a statement that failed as sent again.
pub(super) fn count_failure(failure: &Failure) {
    match failure {
        Failure::Locked => count_retry(RETRY_LOCK),
        Failure::Refused(_) => count_retry(RETRY_CONFLICT),
        Failure::Unavailable(_) | Failure::Abandoned => {}
    }
}

/// Logs a statement that took long, with the attempts before this one.
fn log_if_slow<W: Write>(batch: &[WaitingWrite<W>]) {
    if let Some(spent) = batch.iter().map(|pending| pending.request.spent).max_by_key(|spent| spent.duration) {
        statement::log_if_slow(W::NAME, spent, batch.iter().map(|pending| pending.request.origin.id()));
    }
}

/// Responds to callers whose items are not written.
pub(super) fn respond_failed<W: Write>(batch: Vec<WaitingWrite<W>>, error: &Error) {
    log_if_slow::<W>(&batch);
    respond_all(batch, error);
}

fn respond_all<Q, R>(batch: impl IntoIterator<Item = Pending<Q, Result<R, Error>>>, error: &Error) {
    for pending in batch {
        pending.respond(Err(error.clone()));
    }
}
