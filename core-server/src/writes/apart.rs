//! Companies whose single writes are written apart from those of others: each has a task of its own while it lasts.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Semaphore;

use super::{Failure, Inner, LOCK_TIMEOUT, MAX_BATCH, Waiting, Write, respond_all, without_conflicts};

/// The companies that are written apart.
pub(super) struct Apart<W: Write> {
    inner: Arc<Inner<W>>,
    /// The writes that wait for the task of their company.
    companies: Mutex<HashMap<i64, Vec<Waiting<W>>>>,
    /// One for each statement in flight: it can wait for a lock, with a connection.
    permits: Arc<Semaphore>,
}

impl<W: Write> Apart<W> {
    pub(super) fn new(inner: Arc<Inner<W>>, permits: Arc<Semaphore>) -> Self {
        Self { inner, companies: Mutex::default(), permits }
    }

    /// Whether a company is written apart at present.
    pub(super) fn has(&self, company: i64) -> bool {
        self.companies().contains_key(&company)
    }

    /// Writes items apart. Each company's items are written by one task, one statement after the other.
    pub(super) fn add(self: &Arc<Self>, items: impl Iterator<Item = Waiting<W>>) {
        let mut companies = self.companies();
        for pending in items {
            let company = W::company(&pending.request);
            match companies.entry(company) {
                Entry::Occupied(mut waiting) => waiting.get_mut().push(pending),
                Entry::Vacant(vacant) => {
                    vacant.insert(vec![pending]);
                    tokio::spawn(run(Task { apart: Arc::clone(self), company }));
                }
            }
        }
    }

    fn companies(&self) -> MutexGuard<'_, HashMap<i64, Vec<Waiting<W>>>> {
        self.companies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writes of a company that wait. Without any, its task ends.
    fn next(&self, company: i64, mut left: Vec<Waiting<W>>) -> Option<Vec<Waiting<W>>> {
        let mut companies = self.companies();
        if let Some(waiting) = companies.get_mut(&company) {
            left.append(waiting);
        }
        left.retain(|pending| !pending.is_abandoned());
        if left.is_empty() {
            companies.remove(&company);
            return None;
        }
        Some(left)
    }
}

/// The task of a company. However it ends, the company is not written apart afterwards.
struct Task<W: Write> {
    apart: Arc<Apart<W>>,
    company: i64,
}

impl<W: Write> Drop for Task<W> {
    fn drop(&mut self) {
        self.apart.companies().remove(&self.company);
    }
}

async fn run<W: Write>(task: Task<W>) {
    let Task { apart, company } = &task;
    let mut left = Vec::new();
    while let Some(waiting) = apart.next(*company, std::mem::take(&mut left)) {
        // First the company's batches in this process, which would be waited for with a connection.
        let write_permit = apart.inner.queue.all(*company).await;
        let Ok(permit) = apart.permits.acquire().await else { return };
        let (now, later) = without_conflicts(waiting, MAX_BATCH, |pending| W::keys(&pending.request));
        left = later;
        match apart.inner.write(now, LOCK_TIMEOUT).await {
            Some((items, Failure::Locked)) => left.splice(0..0, items).for_each(drop),
            Some((items, Failure::Unavailable(error))) => respond_all(items, &error),
            Some((items, Failure::Refused(error))) if items.len() == 1 => respond_all(items, &error),
            Some((items, Failure::Refused(_))) => left.splice(0..0, one_by_one(apart, items).await).for_each(drop),
            Some((_, Failure::Abandoned)) | None => {}
        }
        drop((permit, write_permit));
    }
}

/// Writes each item by a statement of its own, so that only those fail that must. Returns those that wait for a lock.
async fn one_by_one<W: Write>(apart: &Apart<W>, items: Vec<Waiting<W>>) -> Vec<Waiting<W>> {
    let mut locked = Vec::new();
    for item in items {
        match apart.inner.write(vec![item], LOCK_TIMEOUT).await {
            Some((items, Failure::Locked)) => locked.extend(items),
            Some((items, Failure::Unavailable(error) | Failure::Refused(error))) => respond_all(items, &error),
            Some((_, Failure::Abandoned)) | None => {}
        }
    }
    locked
}
