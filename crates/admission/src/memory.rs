//! Memory limits for large messages, shared by all companies.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{AcquireError, OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{queue::LimitReached, semaphores::CompanySemaphores};

/// Maximum size of messages, rows and responses exempt from the memory limits, in bytes.
///
/// Call and connection limits bound their number.
pub const SMALL: usize = 16 << 10;
/// Maximum time a request waits for memory held by other requests.
pub const MEMORY_WAIT: Duration = Duration::from_secs(5);
/// A company can hold at most half of the request memory.
pub const MEMORY_QUOTA_DIVISOR: usize = 2;
/// Requests without a verified company share a sixteenth of the memory.
const WITHOUT_COMPANY: usize = 16;

/// Limits message bytes per company and in total. Clones share one set of limits.
///
/// Each byte needs a company permit and a process permit. A request waits for its company's permits first, so it does not block other companies.
#[derive(Clone, Debug)]
pub struct Memory {
    total: usize,
    quota: usize,
    process: Arc<Semaphore>,
    companies: CompanySemaphores,
    without_company: Arc<Semaphore>,
}

impl Memory {
    /// Allows `total` bytes, and `quota` of them for one company.
    pub fn new(total: usize, quota: usize) -> Self {
        let total = total.min(Semaphore::MAX_PERMITS);
        let quota = quota.min(total);
        Self {
            total,
            quota,
            process: Arc::new(Semaphore::new(total)),
            companies: CompanySemaphores::new(quota),
            without_company: Arc::new(Semaphore::new(total / WITHOUT_COMPANY)),
        }
    }

    /// Creates an empty reservation for a company, or for a request without a company.
    pub fn reservation(&self, company: Option<i64>) -> Reservation {
        Reservation { memory: self.clone(), company, permits: None }
    }

    /// Returns the number of reserved bytes.
    pub fn reserved(&self) -> usize {
        self.total - self.process.available_permits()
    }

    fn permits_of(&self, company: Option<i64>) -> Arc<Semaphore> {
        company.map_or_else(|| Arc::clone(&self.without_company), |company| self.companies.of(company))
    }
}

/// Memory reserved until this value is dropped.
#[derive(Debug)]
pub struct Reservation {
    memory: Memory,
    company: Option<i64>,
    permits: Option<Permits>,
}

#[derive(Debug)]
struct Permits {
    of_company: OwnedSemaphorePermit,
    of_process: OwnedSemaphorePermit,
}

/// Memory reserved for a response, kept in its extensions until it is sent.
pub type ResponseMemory = Arc<Reservation>;

impl Reservation {
    /// Reserves `bytes` more bytes. On failure, reserves nothing.
    pub fn grow(&mut self, bytes: usize) -> Result<(), LimitReached> {
        if bytes == 0 {
            return Ok(());
        }
        let count = self.count(bytes)?;
        let of_company = self.memory.permits_of(self.company).try_acquire_many_owned(count);
        let of_company = of_company.map_err(|_| self.own_limit())?;
        let of_process = Arc::clone(&self.memory.process).try_acquire_many_owned(count);
        self.add(of_company, of_process.map_err(|_| LimitReached::Process)?);
        Ok(())
    }

    /// Grows the reservation to `bytes` in total. Never shrinks it.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), LimitReached> {
        self.grow(bytes.saturating_sub(self.bytes()))
    }

    /// Like [`Self::grow_to`], but waits up to `longest` for other requests to release memory.
    pub async fn wait_to_grow(&mut self, bytes: usize, longest: Duration) -> Result<(), LimitReached> {
        if !self.can_reach(bytes) {
            return Err(self.own_limit());
        }
        let more = bytes.saturating_sub(self.bytes());
        if more == 0 {
            return Ok(());
        }
        let count = self.count(more)?;
        let (of_company, of_process) = (self.memory.permits_of(self.company), Arc::clone(&self.memory.process));
        let mut limit = self.own_limit();
        let waiting = timeout(longest, async {
            let of_company = of_company.acquire_many_owned(count).await;
            limit = LimitReached::Process;
            Ok::<_, AcquireError>((of_company?, of_process.acquire_many_owned(count).await?))
        });
        // The semaphores are never closed.
        let Ok(Ok((of_company, of_process))) = waiting.await else { return Err(limit) };
        self.add(of_company, of_process);
        Ok(())
    }

    /// Shrinks the reservation to `bytes` in total. Never grows it.
    pub fn shrink_to(&mut self, bytes: usize) {
        let Some(less) = self.bytes().checked_sub(bytes) else { return };
        if let Some(Permits { of_company, of_process }) = &mut self.permits {
            drop((of_process.split(less), of_company.split(less)));
        }
    }

    /// Returns how many bytes would fit in total if nothing else were reserved.
    pub fn most(&self) -> usize {
        let Memory { total, quota, .. } = self.memory;
        self.company.map_or(total / WITHOUT_COMPANY, |_| quota)
    }

    /// Returns whether `bytes` in total would fit if nothing else were reserved.
    pub fn can_reach(&self, bytes: usize) -> bool {
        bytes <= self.most()
    }

    /// Creates an empty reservation for the same company.
    #[must_use]
    pub fn empty(&self) -> Self {
        self.memory.reservation(self.company)
    }

    /// Returns the number of reserved bytes.
    pub fn bytes(&self) -> usize {
        self.permits.as_ref().map_or(0, |permits| permits.of_company.num_permits())
    }

    /// Returns the limit that this reservation's owner reaches first. Requests without a company share one limit.
    fn own_limit(&self) -> LimitReached {
        if self.company.is_some() { LimitReached::Company } else { LimitReached::Process }
    }

    /// Returns the number of permits for `bytes`.
    fn count(&self, bytes: usize) -> Result<u32, LimitReached> {
        u32::try_from(bytes).map_err(|_| self.own_limit())
    }

    fn add(&mut self, of_company: OwnedSemaphorePermit, of_process: OwnedSemaphorePermit) {
        match &mut self.permits {
            Some(permits) => {
                permits.of_company.merge(of_company);
                permits.of_process.merge(of_process);
            }
            None => self.permits = Some(Permits { of_company, of_process }),
        }
    }
}

#[cfg(test)]
mod tests;
