//! Companies whose single writes are written apart from those of others: each has a task of its own while it lasts.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use batcher::MAX_BATCH;
use compliance_api::error::Error;
use futures::FutureExt as _;
use tokio::sync::Semaphore;

use super::{
    conflicts::without_conflicts,
    queues::CompanyQueue,
    send::{Failure, SharedWrites, WaitingWrite, Write, company_of, count_failure, keys_of, respond_failed},
};
use crate::limits::{FIRST_LOCK_TIMEOUT, WRITES_APART};

pub(super) struct Apart<W: Write> {
    shared: Arc<SharedWrites<W>>,
    queue: CompanyQueue,
    /// The writes of each company that wait for the company's task.
    waiting: Mutex<HashMap<i64, Vec<WaitingWrite<W>>>>,
    in_flight: Semaphore,
}

impl<W: Write> Apart<W> {
    /// `queue` is that of batches which write the same records.
    pub(super) fn new(shared: Arc<SharedWrites<W>>, queue: &CompanyQueue) -> Self {
        Self { shared, queue: queue.clone(), waiting: Mutex::default(), in_flight: Semaphore::new(WRITES_APART) }
    }

    /// Whether a company is written apart at present.
    pub(super) fn contains(&self, company: i64) -> bool {
        self.waiting().contains_key(&company)
    }

    /// Writes items apart. Each company's items are written by one task, one statement after the other.
    pub(super) fn add(self: &Arc<Self>, items: impl IntoIterator<Item = WaitingWrite<W>>) {
        let mut waiting = self.waiting();
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

    fn waiting(&self) -> MutexGuard<'_, HashMap<i64, Vec<WaitingWrite<W>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The task of a company. However it ends, the company is not written apart afterwards.
    async fn write(self: Arc<Self>, company: i64) {
        if !matches!(AssertUnwindSafe(self.write_all(company)).catch_unwind().await, Ok(Ok(()))) {
            self.waiting().remove(&company);
        }
    }

    /// The writes of a company that wait, behind those that are left. Without any, it is not written apart any longer.
    fn next(&self, company: i64, mut left: Vec<WaitingWrite<W>>) -> Option<Vec<WaitingWrite<W>>> {
        let mut all = self.waiting();
        if let Some(waiting) = all.get_mut(&company) {
            left.append(waiting);
        }
        left.retain(|pending| !pending.is_abandoned());
        if left.is_empty() {
            all.remove(&company);
            return None;
        }
        Some(left)
    }

    async fn write_all(&self, company: i64) -> Result<(), Error> {
        // Items of a statement that failed, each of which has the next one for itself.
        let (mut left, mut alone) = (Vec::new(), 0_usize);
        loop {
            // First the company's batches in this process, which would be waited for with a connection.
            let write_permit = self.queue.all(company).await?;
            let (turn, _permit) = if write_permit.waits_for_lock() {
                (write_permit.turn().await.ok(), None)
            } else {
                (None, self.in_flight.acquire().await.ok())
            };
            let Some(waiting) = self.next(company, left) else { return Ok(()) };
            let most = if alone > 0 { 1 } else { MAX_BATCH };
            alone = alone.saturating_sub(1);
            let (now, later) = without_conflicts(waiting, most, keys_of::<W>);
            left = later;
            let lock_timeout = turn.as_ref().map_or(FIRST_LOCK_TIMEOUT, |turn| turn.lock_timeout);
            match self.shared.write(&self.shared.pool.with_lock_timeout(lock_timeout), now).await {
                Ok(()) => write_permit.found_no_lock(),
                Err((items, Failure::Unavailable(error))) => respond_failed::<W>(items, &error),
                Err((items, Failure::Refused(error))) if items.len() == 1 => respond_failed::<W>(items, &error),
                Err((items, failure)) => {
                    count_failure(&failure);
                    if matches!(failure, Failure::Locked) {
                        write_permit.lock_timed_out(turn.is_some());
                    }
                    if items.len() > 1 {
                        alone = items.len();
                        left.splice(0..0, items).for_each(drop);
                    } else {
                        left.extend(items);
                    }
                }
            }
        }
    }
}
