//! Writes of single records. Concurrent writes, of all companies together, become one statement and one commit.
//!
//! A company whose statement waits must not delay others. So a shared statement waits for locks only briefly, and leaves out
//! companies that are known to wait. Their items are written by statements of their own.

mod lock_waits;
mod queues;
mod send;
mod separate;

use std::{collections::HashMap, sync::Arc};

use batcher::{BatchLimits, Batcher, MAX_BATCH, RunBatch};
use compliance_api::error::Error;
use futures::future::join_all;

pub use self::{
    lock_waits::OnWait,
    queues::{CompanyQueue, Queues, WritePermit},
    send::Write,
};
use self::{
    send::{
        Failure, PendingWrite, SharedWrites, WaitingWrite, company_of, count_failure, keys_of, respond_failed,
        without_conflicts,
    },
    separate::SeparateWrites,
};
use crate::{
    database::Connections,
    error::from_batcher,
    limits::{MAX_QUEUED_COALESCED, SHARED_LOCK_TIMEOUT},
    metrics,
};

/// Statements in flight while some of them are slow.
const WRITES_WHEN_SLOW: usize = 4;

/// Writes items of one kind. Concurrent items share a statement.
pub struct Writes<W: Write>(Batcher<Writer<W>>);

struct Writer<W: Write> {
    shared: Arc<SharedWrites<W>>,
    /// The queue of batches that write the same records.
    queue: CompanyQueue,
    separate: Arc<SeparateWrites<W>>,
}

impl<W: Write> Writes<W> {
    /// Writes with statements on `pool`. `queue` is the queue of batches that write the same records.
    pub fn new(write: W, pool: &Connections, queue: &CompanyQueue) -> Self {
        let limits = BatchLimits::for_this_machine(WRITES_WHEN_SLOW, MAX_QUEUED_COALESCED);
        let shared = Arc::new(SharedWrites { write, pool: pool.with_lock_timeout(SHARED_LOCK_TIMEOUT) });
        let separate = Arc::new(SeparateWrites::new(Arc::clone(&shared), queue));
        let writes = Batcher::new(Writer { shared, queue: queue.clone(), separate }, limits);
        metrics::report_queue(W::NAME, writes.queue_length());
        Self(writes)
    }

    /// Writes an item. If the caller leaves before the statement begins, nothing is written.
    pub async fn write(&self, item: W::Item) -> Result<W::Written, Error> {
        // The statement runs in a task of its own, for many callers.
        self.0.call(PendingWrite::current(item)).await.map_err(from_batcher)?
    }
}

impl<W: Write> RunBatch for Writer<W> {
    type Request = PendingWrite<W::Item>;
    type Response = Result<W::Written, Error>;

    async fn run(&self, batch: Vec<WaitingWrite<W>>) {
        let Self { shared, queue, separate } = self;
        // The companies' batches wait until the statement has ended. A company with other writes gets no permit.
        let mut permits = HashMap::new();
        for pending in &batch {
            let company = company_of::<W>(pending);
            let permit = || queue.try_all(company).filter(|_| !separate.contains(company));
            permits.entry(company).or_insert_with(permit);
        }
        let is_free = |pending: &WaitingWrite<W>| permits.get(&company_of::<W>(pending)).is_some_and(Option::is_some);
        let (free, busy): (Vec<_>, Vec<_>) = batch.into_iter().partition(is_free);
        let (now, later) = without_conflicts(free, MAX_BATCH, keys_of::<W>);
        separate.add(later.into_iter().chain(busy));
        let parts = shared.pool.divided(now, company_of::<W>).await;
        join_all(parts.into_iter().map(|part| self.write_shared(part, &permits))).await;
    }
}

impl<W: Write> Writer<W> {
    /// Writes items with one statement. If it fails, each company's items get statements of their own.
    async fn write_shared(&self, items: Vec<WaitingWrite<W>>, permits: &HashMap<i64, Option<WritePermit>>) {
        match self.shared.write(&self.shared.pool, items).await {
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
                self.shared.pool.forget_locations(companies);
                // Only one of the items may be the cause.
                self.separate.add(items);
            }
        }
    }
}
