//! Sends and retries statements that write items for many callers, and responds to the callers.

use std::{collections::HashSet, hash::Hash, pin::pin, sync::Arc, task::Poll};

use batcher::{Pending, Reply};
use compliance_api::error::Error;
use futures::{future::join_all, poll};
use tokio::time::{Instant, timeout};

use crate::{
    database::{Connections, Session},
    deadline,
    error::{from_database, is_contention, is_disconnected, is_exhausted, is_lock_timeout_of_write},
    limits::COALESCED_TIMEOUT,
    metrics::{RETRY_CONFLICT, RETRY_LOCK, count_retry},
    statement_context::{self, Spent, StatementContext},
    table::Layouts,
};

/// A statement that writes items for many callers.
pub trait Write: Send + Sync + 'static {
    /// One caller's item.
    type Item: Send + Sync + 'static;
    /// One item's result.
    type Written: Send + 'static;
    /// Key that at most one item per statement can have.
    type Key: Eq + Hash + Send;

    /// Name of the write in metrics.
    const NAME: &'static str;

    /// Returns an item's company.
    fn company(item: &Self::Item) -> i64;

    /// Returns an item's keys. By default, an item has none.
    fn keys(_: &Self::Item) -> Vec<Self::Key> {
        Vec::new()
    }

    /// Sends one statement that writes all items, and returns their results in order.
    ///
    /// Must not wait before sending the statement. `writers` contains each item's [writer](statement_context::writer).
    fn write(
        &self,
        session: Session<'_>,
        layouts: Arc<Layouts>,
        items: &[&Self::Item],
        writers: Vec<String>,
    ) -> impl Future<Output = Result<Vec<Self::Written>, sqlx::Error>> + Send;
}

/// An item and its caller's context.
pub(super) struct PendingWrite<T> {
    item: T,
    deadline: Option<Instant>,
    request: statement_context::RequestContext,
    /// Time spent on attempts that wrote nothing.
    spent: Spent,
}

pub(super) type WaitingWrite<W> = Pending<PendingWrite<<W as Write>::Item>, Result<<W as Write>::Written, Error>>;

/// Items that a statement did not write, but that another statement can.
pub(super) struct Unwritten<W: Write> {
    pub(super) items: Vec<WaitingWrite<W>>,
    /// Whether the statement waited too long for a lock. Otherwise, one of several items may be invalid.
    pub(super) is_locked: bool,
}

impl<T> PendingWrite<T> {
    /// Returns an item of the current call.
    pub(super) fn current(item: T) -> Self {
        let request = statement_context::RequestContext::current("coalesced write");
        Self { item, deadline: deadline::current(), request, spent: Spent::default() }
    }
}

/// Writes items with statements shared by many callers.
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
    /// Writes items and responds to their callers.
    pub(super) async fn write(&self, batch: Vec<WaitingWrite<W>>) -> Result<(), Unwritten<W>> {
        let span = statement_context::batch_span(W::NAME, batch.iter().map(|pending| &pending.request.request));
        StatementContext::of(W::NAME).run(span.run(self.write_named(batch))).await
    }

    async fn write_named(&self, mut batch: Vec<WaitingWrite<W>>) -> Result<(), Unwritten<W>> {
        let (start, mut tries) = (Instant::now(), 1);
        let writing = async {
            loop {
                match self.try_write(&mut batch).await {
                    Err(error) if self.pool.may_retry(&error, is_contention, &mut tries).await => {}
                    written => break written,
                }
            }
        };
        let written = timeout(COALESCED_TIMEOUT, writing).await;
        for pending in &mut batch {
            pending.request.spent = pending.request.spent.since(start.into_std());
        }
        let error = match written {
            Ok(Ok(written)) => {
                log_if_slow::<W>(&batch);
                batch.into_iter().zip(written).for_each(|(pending, written)| pending.respond(Ok(written)));
                return Ok(());
            }
            Ok(Err(error)) if is_lock_timeout_of_write(&error) => {
                count_retry(RETRY_LOCK);
                return Err(Unwritten { items: batch, is_locked: true });
            }
            Ok(Err(error)) if batch.len() > 1 && !fails_every_statement(&error) => {
                count_retry(RETRY_CONFLICT);
                return Err(Unwritten { items: batch, is_locked: false });
            }
            Ok(Err(error)) => from_database(error),
            Err(_) => Error::deadline_exceeded(),
        };
        log_if_slow::<W>(&batch);
        respond_all(batch, &error);
        Ok(())
    }

    /// Sends a statement for the callers that are still waiting, and removes the others.
    async fn try_write(&self, batch: &mut Vec<WaitingWrite<W>>) -> Result<Vec<W::Written>, sqlx::Error> {
        let company_id = batch.first().map_or(0, company_of::<W>);
        let pool = self.pool.of_company(company_id);
        let mut borrowing = pin!(pool.borrow_connection());
        let polled = poll!(borrowing.as_mut());
        let mut borrowed = match polled {
            Poll::Ready(polled) => polled?,
            Poll::Pending => {
                let polled = borrowing.await?;
                // Lets the runtime notice callers that disconnected during the wait.
                deadline::check_caller().await;
                polled
            }
        };
        // Do not await between this decision and the statement.
        let now = Instant::now();
        batch.retain(|pending| !pending.is_abandoned());
        let late = batch.extract_if(.., |pending| pending.request.deadline.is_some_and(|deadline| deadline <= now));
        respond_all(late, &Error::deadline_exceeded());
        if batch.is_empty() {
            borrowed.unused();
            return Ok(Vec::new());
        }
        let (requests, replies): (Vec<_>, Vec<&mut Reply<_>>) = batch.iter_mut().map(Pending::parts_mut).unzip();
        let writers = requests.iter().map(|request| request.request.context.writer()).collect();
        let items: Vec<&W::Item> = requests.into_iter().map(|request| &request.item).collect();
        let (connection, outage) = borrowed.connection()?;
        let (session, layouts) = (pool.session(connection), pool.layouts());
        let written = tokio::select! {
            biased;
            written = outage.or_end(self.write.write(session, layouts, &items, writers)) => written?,
            _ = join_all(replies.into_iter().map(Reply::closed)) => return Ok(Vec::new()),
        };
        borrowed.done(written)
    }
}

/// Returns whether the statement of any other item would also fail.
fn fails_every_statement(error: &sqlx::Error) -> bool {
    is_disconnected(error) || is_exhausted(error) || matches!(error, sqlx::Error::PoolTimedOut)
}

/// Logs a slow statement with all its attempts.
fn log_if_slow<W: Write>(batch: &[WaitingWrite<W>]) {
    if let Some(spent) = batch.iter().map(|pending| pending.request.spent).max_by_key(|spent| spent.duration) {
        statement_context::log_if_slow(W::NAME, spent, batch.iter().map(|pending| pending.request.request.id()));
    }
}

fn respond_all<Q, R>(batch: impl IntoIterator<Item = Pending<Q, Result<R, Error>>>, error: &Error) {
    for pending in batch {
        pending.respond(Err(error.clone()));
    }
}

/// Separates items that one statement can write, with no key in common, from the rest.
pub(super) fn without_conflicts<T, K: Eq + Hash>(
    items: Vec<T>,
    most: usize,
    keys_of: impl Fn(&T) -> Vec<K>,
) -> (Vec<T>, Vec<T>) {
    let mut keys = HashSet::new();
    let mut count = 0;
    items.into_iter().partition(|item| {
        let own = keys_of(item);
        let fits = count < most && own.iter().all(|key| !keys.contains(key));
        // A later item must not overtake a postponed item with the same key.
        keys.extend(own);
        count += usize::from(fits);
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::without_conflicts;

    /// Splits items, specified by their keys, into items written now and the rest.
    fn divided(items: &[&[u8]], most: usize) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        without_conflicts(items.iter().map(|keys| keys.to_vec()).collect(), most, Clone::clone)
    }

    #[test]
    fn statement_items_share_no_keys() {
        assert_eq!(divided(&[&[1, 2], &[3], &[2, 4], &[5]], 9), (vec![vec![1, 2], vec![3], vec![5]], vec![vec![2, 4]]));
        // The third item shares a key with the second and must not overtake it.
        assert_eq!(divided(&[&[1], &[1, 2], &[2], &[3]], 9), (vec![vec![1], vec![3]], vec![vec![1, 2], vec![2]]));
        assert_eq!(divided(&[&[], &[]], 9), (vec![vec![], vec![]], vec![]));
    }

    #[test]
    fn statement_size_is_limited() {
        assert_eq!(divided(&[&[1], &[2], &[3]], 2), (vec![vec![1], vec![2]], vec![vec![3]]));
        assert_eq!(divided(&[&[1], &[2]], 2), (vec![vec![1], vec![2]], vec![]));
        // Postponed items do not count towards the limit.
        assert_eq!(divided(&[&[1], &[1], &[2], &[3]], 2), (vec![vec![1], vec![2]], vec![vec![1], vec![3]]));
    }
}
