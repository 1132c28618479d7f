//! Companies whose single writes are written apart from those of others: each has a task of its own while it lasts.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Semaphore;

use super::{Failure, Inner, MAX_BATCH, Waiting, Write, company_of, keys_of, respond_all, without_conflicts};
use crate::database::FIRST_LOCK_TIMEOUT;

/// Statements in flight of companies that are written apart and are not known to wait for a lock.
const MAX_IN_FLIGHT: usize = 4;

/// The companies that are written apart.
pub(super) struct Apart<W: Write> {
    inner: Arc<Inner<W>>,
    /// The writes that wait for the task of their company.
    companies: Mutex<HashMap<i64, Vec<Waiting<W>>>>,
    in_flight: Semaphore,
}

impl<W: Write> Apart<W> {
    pub(super) fn new(inner: Arc<Inner<W>>) -> Self {
        Self { inner, companies: Mutex::default(), in_flight: Semaphore::new(MAX_IN_FLIGHT) }
    }

    /// Whether a company is written apart at present.
    pub(super) fn has(&self, company: i64) -> bool {
        self.companies().contains_key(&company)
    }

    /// Writes items apart. Each company's items are written by one task, one statement after the other.
    pub(super) fn add(self: &Arc<Self>, items: impl IntoIterator<Item = Waiting<W>>) {
        let mut companies = self.companies();
        for pending in items {
            let company = company_of::<W>(&pending);
            match companies.entry(company) {
                Entry::Occupied(mut waiting) => waiting.get_mut().push(pending),
                Entry::Vacant(vacant) => {
                    vacant.insert(vec![pending]);
                    tokio::spawn(run(Task { apart: Arc::clone(self), company, has_ended: false }));
                }
            }
        }
    }

    fn companies(&self) -> MutexGuard<'_, HashMap<i64, Vec<Waiting<W>>>> {
        self.companies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task of a company. However it ends, the company is not written apart afterwards.
struct Task<W: Write> {
    apart: Arc<Apart<W>>,
    company: i64,
    has_ended: bool,
}

impl<W: Write> Task<W> {
    /// The writes of the company that wait. Without any, the task ends.
    fn next(&mut self, mut left: Vec<Waiting<W>>) -> Option<Vec<Waiting<W>>> {
        let mut companies = self.apart.companies();
        if let Some(waiting) = companies.get_mut(&self.company) {
            left.append(waiting);
        }
        left.retain(|pending| !pending.is_abandoned());
        if left.is_empty() {
            companies.remove(&self.company);
            drop(companies);
            self.has_ended = true;
            return None;
        }
        Some(left)
    }
}

impl<W: Write> Drop for Task<W> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.apart.companies().remove(&self.company);
        }
    }
}

async fn run<W: Write>(mut task: Task<W>) {
    let (apart, company) = (Arc::clone(&task.apart), task.company);
    let Inner { queue, pool, .. } = &*apart.inner;
    // Items of a statement that failed, each of which has the next one for itself.
    let (mut left, mut alone) = (Vec::new(), 0_usize);
    loop {
        // First the company's batches in this process, which would be waited for with a connection.
        let Ok(write_permit) = queue.all(company).await else { return };
        let (turn, permit) = if write_permit.waits_for_lock() {
            (write_permit.turn().await.ok(), None)
        } else {
            (None, apart.in_flight.acquire().await.ok())
        };
        let Some(waiting) = task.next(left) else { return };
        let most = if alone > 0 { 1 } else { MAX_BATCH };
        alone = alone.saturating_sub(1);
        let (now, later) = without_conflicts(waiting, most, keys_of::<W>);
        left = later;
        let written = match &turn {
            Some(turn) => apart.inner.write(&pool.with_lock_timeout(turn.lock_timeout), now).await,
            None => apart.inner.write(&pool.with_lock_timeout(FIRST_LOCK_TIMEOUT), now).await,
        };
        match written {
            Ok(()) => write_permit.found_no_lock(),
            Err((items, Failure::Unavailable(error))) => respond_all(items, &error),
            Err((items, Failure::Refused(error))) if items.len() == 1 => respond_all(items, &error),
            Err((mut items, failure)) => {
                if matches!(failure, Failure::Locked) {
                    write_permit.lock_timed_out(turn.is_some());
                }
                if items.len() > 1 {
                    alone = items.len();
                    left.splice(0..0, items).for_each(drop);
                } else {
                    left.append(&mut items);
                }
            }
        }
        drop((turn, permit));
    }
}
