//! Companies whose single writes do not share a statement with other companies. Each has a task of its own during this time.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc};

use batcher::MAX_BATCH;
use compliance_api::error::Error;
use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::{
    queues::CompanyQueue,
    send::{
        Failure, SharedWrites, WaitingWrite, Write, company_of, count_failure, keys_of, respond_failed,
        without_conflicts,
    },
};
use crate::limits::FIRST_LOCK_TIMEOUT;

/// Statements in flight for companies that are not known to wait for a lock.
const MAX_IN_FLIGHT: usize = 4;

pub(super) struct SeparateWrites<W: Write> {
    shared: Arc<SharedWrites<W>>,
    queue: CompanyQueue,
    /// The writes of each company that wait for the company's task.
    waiting: Mutex<HashMap<i64, Vec<WaitingWrite<W>>>>,
    in_flight: Semaphore,
}

impl<W: Write> SeparateWrites<W> {
    /// `queue` is the queue of batches that write the same records.
    pub(super) fn new(shared: Arc<SharedWrites<W>>, queue: &CompanyQueue) -> Self {
        Self { shared, queue: queue.clone(), waiting: Mutex::default(), in_flight: Semaphore::new(MAX_IN_FLIGHT) }
    }

    /// Returns whether a company has a task now.
    pub(super) fn contains(&self, company: i64) -> bool {
        self.waiting.lock().contains_key(&company)
    }

    /// Adds items to the task of their company, which sends one statement after another.
    pub(super) fn add(self: &Arc<Self>, items: impl IntoIterator<Item = WaitingWrite<W>>) {
        let mut waiting = self.waiting.lock();
        for pending in items {
            let company = company_of::<W>(&pending);
            let start = || {
                #[allow(clippy::disallowed_methods, reason = "it ends with the writes, also by a panic")]
                tokio::spawn(Arc::clone(self).write(company));
                Vec::new()
            };
            waiting.entry(company).or_insert_with(start).push(pending);
        }
    }

    /// Runs the task of a company. However it ends, the company has no task afterwards.
    async fn write(self: Arc<Self>, company: i64) {
        if !matches!(AssertUnwindSafe(self.write_all(company)).catch_unwind().await, Ok(Ok(()))) {
            self.waiting.lock().remove(&company);
        }
    }

    /// Returns what the company still has to write, the remaining items first. Ends its task if nothing is left.
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
        // After a statement with several items has failed, each of them has a statement of its own.
        let (mut remaining, mut single_items) = (Vec::new(), 0_usize);
        loop {
            // Waiting for the company's batches in the database would keep a connection.
            let write_permit = self.queue.all(company).await?;
            let (lock_permit, _in_flight) = if write_permit.waits_for_lock() {
                (write_permit.lock_permit().await.ok(), None)
            } else {
                (None, self.in_flight.acquire().await.ok())
            };
            let Some(waiting) = self.next(company, remaining) else { return Ok(()) };
            let most = if single_items > 0 { 1 } else { MAX_BATCH };
            single_items = single_items.saturating_sub(1);
            let (now, later) = without_conflicts(waiting, most, keys_of::<W>);
            remaining = later;
            let lock_timeout = lock_permit.as_ref().map_or(FIRST_LOCK_TIMEOUT, |permit| permit.lock_timeout);
            match self.shared.write(&self.shared.pool.with_lock_timeout(lock_timeout), now).await {
                Ok(()) => write_permit.found_no_lock(),
                Err((items, Failure::Unavailable(error))) => respond_failed::<W>(items, &error),
                Err((items, Failure::Refused(error))) if items.len() == 1 => respond_failed::<W>(items, &error),
                Err((items, failure)) => {
                    count_failure(&failure);
                    if matches!(failure, Failure::Locked) {
                        write_permit.lock_timed_out(lock_permit.is_some());
                    }
                    if items.len() > 1 {
                        single_items = items.len();
                        remaining.splice(0..0, items).for_each(drop);
                    } else {
                        remaining.extend(items);
                    }
                }
            }
        }
    }
}
