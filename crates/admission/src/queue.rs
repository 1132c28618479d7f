//! Limits concurrent work, in total and per company.
//!
//! Work first waits for a permit of its company, so little work of each company waits for a permit of the process. While several companies
//! call, a company has few permits.

use std::{pin::pin, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

use crate::{
    counts::{Callers, Count, Counts, LimitReached},
    semaphores::CompanySemaphores,
};

/// Work that takes longer than this releases its permit of the process.
pub const SLOW_AFTER: Duration = Duration::from_secs(2);
/// How often waiting work checks for slow work, and whether several companies still call.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The limits of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Maximum number of running tasks.
    pub running: usize,
    /// Maximum number of running tasks of one company.
    pub running_per_company: usize,
    /// Maximum number of running tasks of one company while others call.
    pub running_with_others: usize,
    /// Duration after which work no longer counts in `running`.
    ///
    /// Such work probably waits for something.
    pub slow_after: Duration,
    /// Maximum number of waiting tasks, and of slow tasks.
    pub waiting: usize,
    /// Maximum number of waiting tasks of one company.
    pub waiting_per_company: usize,
}

/// A queue of work. Clones share the queue.
#[derive(Clone, Debug)]
pub struct WorkQueue(Arc<SharedQueue>);

#[derive(Debug)]
struct SharedQueue {
    limits: QueueLimits,
    callers: Callers,
    process: Arc<Semaphore>,
    /// The permits of slow work, instead of those of the process.
    slow: Arc<Semaphore>,
    companies: CompanySemaphores,
    /// At most a few dozen.
    running: Mutex<Vec<Arc<Running>>>,
    waiting: Counts,
}

#[derive(Debug)]
struct Running {
    company: i64,
    since: Instant,
    permit: Mutex<OwnedSemaphorePermit>,
}

/// Running work, until this is dropped.
#[derive(Debug)]
pub struct WorkPermit {
    queue: WorkQueue,
    running: Arc<Running>,
    _of_company: OwnedSemaphorePermit,
}

impl WorkQueue {
    /// Makes an empty queue. `callers` detects when several companies call.
    pub fn new(limits: QueueLimits, callers: Callers) -> Self {
        Self(Arc::new(SharedQueue {
            limits,
            callers,
            process: Arc::new(Semaphore::new(limits.running)),
            slow: Arc::new(Semaphore::new(limits.waiting)),
            companies: CompanySemaphores::new(limits.running_per_company),
            running: Mutex::default(),
            waiting: Counts::new(limits.waiting, limits.waiting_per_company),
        }))
    }

    /// Waits for a permit for work of a company. The wait is unbounded, because the caller has a deadline.
    pub async fn enter(&self, company: i64) -> Result<WorkPermit, LimitReached> {
        let Self(queue) = self;
        let permits = queue.companies.of(company);
        let mut waiting = None;
        let of_company = if let Ok(permit) = Arc::clone(&permits).try_acquire_many_owned(queue.permits_of_one()) {
            permit
        } else {
            waiting = Some(queue.wait(company)?);
            queue.next_of(&permits).await?
        };
        let permit = if let Ok(permit) = Arc::clone(&queue.process).try_acquire_owned() {
            permit
        } else {
            if waiting.is_none() {
                waiting = Some(queue.wait(company)?);
            }
            queue.next().await?
        };
        drop(waiting);
        let running = Arc::new(Running { company, since: Instant::now(), permit: Mutex::new(permit) });
        queue.running.lock().push(Arc::clone(&running));
        Ok(WorkPermit { queue: self.clone(), running, _of_company: of_company })
    }

    /// Marks the running work of a company as waiting for something. Like slow work, it no longer counts in `running`.
    pub fn waits(&self, company: i64) {
        let Self(queue) = self;
        for running in queue.running.lock().iter().filter(|running| running.company == company) {
            queue.make_room(running);
        }
    }

    /// The number of waiting work.
    pub fn waiting(&self) -> usize {
        self.0.waiting.open()
    }

    /// The number of running work.
    pub fn running(&self) -> usize {
        self.0.running.lock().len()
    }
}

impl SharedQueue {
    /// The number of its company's permits that work takes. While several companies call, work takes more.
    fn permits_of_one(&self) -> u32 {
        let QueueLimits { running_per_company, running_with_others, .. } = self.limits;
        if self.callers.are_several() { running_per_company.div_ceil(running_with_others) as u32 } else { 1 }
    }

    /// Counts waiting work, unless too much waits. The limit of a company comes before the limit of the process.
    fn wait(&self, company: i64) -> Result<Count, LimitReached> {
        let of_company = self.waiting.open_of(company);
        if of_company >= self.limits.waiting_per_company {
            Err(LimitReached::Company)
        } else {
            self.waiting.add(company)
        }
    }

    /// Waits for permits of a company. Their number changes when other companies come or leave.
    async fn next_of(&self, permits: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, LimitReached> {
        loop {
            let count = self.permits_of_one();
            let mut given_back = pin!(Arc::clone(permits).acquire_many_owned(count));
            while count == self.permits_of_one() {
                if let Ok(permit) = timeout(CHECK_INTERVAL, &mut given_back).await {
                    return permit.map_err(|_| LimitReached::Process);
                }
            }
        }
    }

    /// Waits for a permit of the process: a released one, or one of slow work.
    async fn next(&self) -> Result<OwnedSemaphorePermit, LimitReached> {
        let mut given_back = pin!(Arc::clone(&self.process).acquire_owned());
        loop {
            if let Some(permit) = self.of_slow_work() {
                return Ok(permit);
            }
            if let Ok(permit) = timeout(CHECK_INTERVAL, &mut given_back).await {
                return permit.map_err(|_| LimitReached::Process);
            }
        }
    }

    fn of_slow_work(&self) -> Option<OwnedSemaphorePermit> {
        let running = self.running.lock();
        let mut slow = running.iter().filter(|running| running.since.elapsed() >= self.limits.slow_after);
        slow.find_map(|running| self.make_room(running))
    }

    /// Takes the permit of the process from work, which gets a permit of slow work instead.
    fn make_room(&self, running: &Running) -> Option<OwnedSemaphorePermit> {
        let mut permit = running.permit.lock();
        if !Arc::ptr_eq(permit.semaphore(), &self.process) {
            return None;
        }
        let slow = Arc::clone(&self.slow).try_acquire_owned().ok()?;
        Some(std::mem::replace(&mut *permit, slow))
    }
}

impl WorkPermit {
    /// Whether work of another company waits.
    pub fn is_needed(&self) -> bool {
        self.queue.waiting() > self.queue.0.waiting.open_of(self.running.company)
    }
}

impl Drop for WorkPermit {
    fn drop(&mut self) {
        self.queue.0.running.lock().retain(|running| !Arc::ptr_eq(running, &self.running));
    }
}

#[cfg(test)]
mod tests;
