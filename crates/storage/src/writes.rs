//! Coalesces concurrent single writes by all companies into one statement and one commit.
//!
//! A company with locked records must not delay others. If a shared statement waits too long, each company's items move to a separate statement.
//! Until these items are written, the company's new items join them.

mod queues;
mod send;

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc};

use batcher::{BatchLimits, Batcher, MAX_BATCH, RunBatch};
use compliance_api::error::Error;
use futures::{FutureExt as _, future::join_all};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use self::send::{PendingWrite, SharedWrites, Unwritten, WaitingWrite, company_of, keys_of, without_conflicts};
pub use self::{
    queues::{CompanyQueue, Queues, WritePermit},
    send::Write,
};
use crate::{database::Connections, error::from_batcher, limits::MAX_QUEUED_COALESCED, metrics};

/// Maximum number of statements in flight while some are slow.
const WRITES_WHEN_SLOW: usize = 4;
/// Maximum number of separate statements in flight, not counting statements blocked by a lock.
const MAX_IN_FLIGHT: usize = 4;

/// Writes items of one kind. Concurrent items share a statement.
pub struct Writes<W: Write>(Batcher<Writer<W>>);

struct Writer<W: Write>(Arc<SeparateWrites<W>>);

impl<W: Write> Writes<W> {
    /// Creates writes on `pool`. `queue` is the queue of batches that write the same records.
    pub fn new(write: W, pool: &Connections, queue: &CompanyQueue) -> Self {
        let limits = BatchLimits::for_this_machine(WRITES_WHEN_SLOW, MAX_QUEUED_COALESCED);
        let shared = SharedWrites { write, pool: pool.clone() };
        let (queue, in_flight) = (queue.clone(), Semaphore::new(MAX_IN_FLIGHT));
        let separate = SeparateWrites { shared, queue, waiting: Mutex::default(), in_flight };
        let writes = Batcher::new(Writer(Arc::new(separate)), limits);
        metrics::report_queue(W::NAME, writes.queue_length());
        Self(writes)
    }

    /// Writes an item. If the caller disconnects before the statement begins, nothing is written.
    pub async fn write(&self, item: W::Item) -> Result<W::Written, Error> {
        // The statement runs in a separate task that serves many callers.
        self.0.call(PendingWrite::current(item)).await.map_err(from_batcher)?
    }
}

impl<W: Write> RunBatch for Writer<W> {
    type Request = PendingWrite<W::Item>;
    type Response = Result<W::Written, Error>;

    async fn run(&self, batch: Vec<WaitingWrite<W>>) {
        let separate = &self.0;
        // The permits make the companies' batches wait for the statement. A company with other writes receives no permit.
        let mut permits = HashMap::new();
        let (free, busy): (Vec<_>, Vec<_>) = batch.into_iter().partition(|pending| {
            let company = company_of::<W>(pending);
            let permit = || separate.queue.try_all(company).filter(|_| !separate.contains(company));
            permits.entry(company).or_insert_with(permit).is_some()
        });
        let (now, later) = without_conflicts(free, MAX_BATCH, keys_of::<W>);
        separate.add(later.into_iter().chain(busy));
        let parts = separate.shared.pool.divided(now, company_of::<W>);
        join_all(parts.into_iter().map(async |part| {
            // A single item may be the cause.
            if let Err(unwritten) = separate.shared.write(part).await {
                separate.add(unwritten.items);
            }
        }))
        .await;
    }
}

/// Companies whose single writes temporarily do not share statements with other companies. Each has its own task.
struct SeparateWrites<W: Write> {
    shared: SharedWrites<W>,
    /// Queue of batches that write the same records.
    queue: CompanyQueue,
    /// Writes waiting for their company's task, by company.
    waiting: Mutex<HashMap<i64, Vec<WaitingWrite<W>>>>,
    in_flight: Semaphore,
}

impl<W: Write> SeparateWrites<W> {
    /// Returns whether a company currently has a task.
    fn contains(&self, company: i64) -> bool {
        self.waiting.lock().contains_key(&company)
    }

    /// Adds items to their company's task, which sends one statement after another.
    fn add(self: &Arc<Self>, items: impl IntoIterator<Item = WaitingWrite<W>>) {
        let mut waiting = self.waiting.lock();
        for pending in items {
            let company = company_of::<W>(&pending);
            let start = || {
                #[allow(clippy::disallowed_methods, reason = "the task ends with the writes, even after a panic")]
                tokio::spawn(Arc::clone(self).write(company));
                Vec::new()
            };
            waiting.entry(company).or_insert_with(start).push(pending);
        }
    }

    /// Runs a company's task. Afterwards, the company has no task, even if it failed or panicked.
    async fn write(self: Arc<Self>, company: i64) {
        if !matches!(AssertUnwindSafe(self.write_all(company)).catch_unwind().await, Ok(Ok(()))) {
            self.waiting.lock().remove(&company);
        }
    }

    /// Returns the company's unwritten items, remaining ones first. Ends the task if none are left.
    fn next(&self, company: i64, mut remaining: Vec<WaitingWrite<W>>) -> Option<Vec<WaitingWrite<W>>> {
        let mut all = self.waiting.lock();
        if let Some(waiting) = all.get_mut(&company) {
            remaining.append(waiting);
        }
        remaining.retain(|pending| !pending.is_abandoned());
        if remaining.is_empty() {
            all.remove(&company);
            return None;
        }
        Some(remaining)
    }

    async fn write_all(&self, company: i64) -> Result<(), Error> {
        // After a statement with several items fails, each item is sent in its own statement.
        let (mut remaining, mut single_items) = (Vec::new(), 0_usize);
        let mut is_locked = false;
        loop {
            // Waiting for the company's batches in the database would occupy a connection.
            let _write_permit = self.queue.all(company).await?;
            let statements = if is_locked { &self.queue.lock_retries } else { &self.in_flight };
            let _statement = statements.acquire().await;
            let Some(waiting) = self.next(company, remaining) else { return Ok(()) };
            let most = if single_items > 0 { 1 } else { MAX_BATCH };
            single_items = single_items.saturating_sub(1);
            let (now, later) = without_conflicts(waiting, most, keys_of::<W>);
            remaining = later;
            let written = self.shared.write(now).await;
            is_locked = matches!(written, Err(Unwritten { is_locked: true, .. }));
            match written {
                Err(Unwritten { items, .. }) if items.len() > 1 => {
                    single_items = items.len();
                    remaining.splice(0..0, items).for_each(drop);
                }
                Err(Unwritten { items, .. }) => remaining.extend(items),
                Ok(()) => {}
            }
        }
    }
}
