//! The cost of large messages: their memory, which companies share, and long computations, which run on separate threads.
//!
//! A company may have a part of what the others leave free. With a half, one company alone may hold a half of all memory, and each of two
//! companies a third. So a further company always finds some, however much the others want. Requests without a verified company have a
//! small limit of their own, and take nothing from companies.

use std::{collections::HashMap, future::poll_fn, pin::pin, sync::Arc, time::Duration};

use futures::future::Either;
use parking_lot::Mutex;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::{Notify, Semaphore},
    time::timeout,
};

use crate::counts::{LimitReached, subtract};

/// Maximum size of messages and responses that limits ignore, in bytes.
///
/// The memory limits do not count smaller messages, rows and responses. Limits on calls or connections bound their number.
pub const SMALL: usize = 16 << 10;
/// How long a request waits for memory that other requests hold.
pub const MEMORY_WAIT: Duration = Duration::from_secs(5);
/// One company alone may hold half of the memory of requests.
pub const MEMORY_QUOTA_DIVISOR: usize = 2;
/// Requests without a company may hold a sixteenth in addition.
const WITHOUT_COMPANY: usize = 16;

/// Number of bytes from which a computation takes about a millisecond. During that time, its thread serves nobody else.
pub const LONG_COMPUTATION: usize = 64 << 10;
/// Maximum number of concurrent computations on other threads. Each occupies a thread.
const MAX_OFF_THREAD: usize = 64;

/// Permits for computations on other threads.
static OTHERS: Semaphore = Semaphore::const_new(MAX_OFF_THREAD);

/// Limits the bytes of messages, for all companies together and for each. Clones share one set of limits.
#[derive(Clone, Debug)]
pub struct Memory(Arc<SharedMemory>);

#[derive(Debug)]
struct SharedMemory {
    total: usize,
    /// The limit of one company while the others hold nothing.
    quota: usize,
    /// Individual limits of companies that may hold more or less.
    companies: HashMap<i64, usize>,
    reserved: Mutex<ReservedBytes>,
    /// Notified when memory is released.
    freed: Notify,
}

#[derive(Debug, Default)]
struct ReservedBytes {
    /// The bytes of all companies together.
    all: usize,
    /// The bytes without a company.
    without_company: usize,
    /// The bytes of each company that holds some.
    companies: HashMap<i64, usize>,
    /// The bytes that companies wait for.
    waiting: HashMap<i64, usize>,
}

impl Memory {
    /// Allows `total` bytes for companies. One company alone may hold `quota`, and beside others the same part of what they leave free.
    ///
    /// Requests without a company may hold a sixteenth of `total` in addition.
    pub fn new(total: usize, quota: usize) -> Self {
        Self::with_companies(total, quota, HashMap::new())
    }

    /// Allows `total` bytes, with individual limits for some companies.
    ///
    /// `companies` has the bytes that such a company may hold while no other company holds any.
    pub fn with_companies(total: usize, quota: usize, companies: HashMap<i64, usize>) -> Self {
        let (reserved, freed) = (Mutex::default(), Notify::new());
        Self(Arc::new(SharedMemory { total, quota: quota.min(total), companies, reserved, freed }))
    }

    /// Makes an empty reservation for a company, or without one.
    pub fn reservation(&self, company: Option<i64>) -> Reservation {
        Reservation { memory: self.clone(), company, bytes: 0 }
    }

    /// The bytes in use, with and without a company.
    pub fn reserved(&self) -> usize {
        let reserved = self.0.reserved.lock();
        reserved.all + reserved.without_company
    }
}

impl SharedMemory {
    /// Returns what a company may hold while the others hold nothing.
    fn quota_of(&self, company: i64) -> usize {
        self.companies.get(&company).map_or(self.quota, |quota| *quota.min(&self.total))
    }

    /// Returns why a company may not hold `bytes` more, if it may not.
    fn rejection(&self, reserved: &ReservedBytes, company: i64, bytes: usize) -> Option<LimitReached> {
        let own = reserved.companies.get(&company).copied().unwrap_or_default();
        let wanted = own.saturating_add(bytes);
        let quota = self.quota_of(company);
        if wanted > quota {
            return Some(LimitReached::Company);
        }
        // An equal part, with one part for a further company.
        let equal = self.total / (reserved.companies.len() + usize::from(own == 0) + 1);
        let left =
            self.total.saturating_sub(reserved.all - own).saturating_sub(reserved.wanted_by_others(company, equal));
        // Widened, because the product of two sizes can overflow.
        let most = (left as u128 * quota as u128 / self.total.max(1) as u128) as usize;
        if wanted <= most {
            None
        } else if own > 0 && wanted > equal {
            Some(LimitReached::Company)
        } else {
            Some(LimitReached::Process)
        }
    }
}

/// Bytes that are reserved until this is dropped.
#[derive(Debug)]
pub struct Reservation {
    memory: Memory,
    company: Option<i64>,
    bytes: usize,
}

impl Reservation {
    /// Reserves `bytes` more, or nothing if they are not free.
    pub fn grow(&mut self, bytes: usize) -> Result<(), LimitReached> {
        if bytes == 0 {
            return Ok(());
        }
        let inner = &self.memory.0;
        let reserved = &mut *inner.reserved.lock();
        let rejection = match self.company {
            Some(company) => inner.rejection(reserved, company, bytes),
            None => (bytes > inner.total / WITHOUT_COMPANY - reserved.without_company).then_some(LimitReached::Process),
        };
        if let Some(limit) = rejection {
            return Err(limit);
        }
        match self.company {
            Some(company) => {
                *reserved.companies.entry(company).or_default() += bytes;
                reserved.all += bytes;
            }
            None => reserved.without_company += bytes,
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Reserves `bytes` in total, if that is more than before.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), LimitReached> {
        self.grow(bytes.saturating_sub(self.bytes))
    }

    /// Like [`Self::grow_to`], but waits up to `longest` for memory that others release.
    pub async fn wait_to_grow(&mut self, bytes: usize, longest: Duration) -> Result<(), LimitReached> {
        let memory = self.memory.clone();
        if bytes > self.company.map_or(memory.0.quota, |company| memory.0.quota_of(company)) {
            return self.grow_to(bytes);
        }
        let Err(limit) = self.grow_to(bytes) else { return Ok(()) };
        // During the wait, other companies leave an equal part free.
        let more = bytes - self.bytes;
        let _waits = self.company.map(|company| {
            *memory.0.reserved.lock().waiting.entry(company).or_default() += more;
            WaitingCompany { memory: memory.clone(), company, bytes: more }
        });
        let waiting = timeout(longest, async {
            loop {
                let mut freed = pin!(memory.0.freed.notified());
                // From here on, no release is missed.
                freed.as_mut().enable();
                if self.grow_to(bytes).is_ok() {
                    return;
                }
                freed.await;
            }
        });
        waiting.await.map_err(|_| limit)
    }

    /// Reserves `bytes` in total, if that is less than before.
    pub fn shrink_to(&mut self, bytes: usize) {
        let Some(less) = self.bytes.checked_sub(bytes).filter(|less| *less > 0) else { return };
        self.bytes = bytes;
        let reserved = &mut *self.memory.0.reserved.lock();
        match self.company {
            Some(company) => {
                reserved.all -= less;
                subtract(&mut reserved.companies, company, less);
            }
            None => reserved.without_company -= less,
        }
        self.memory.0.freed.notify_waiters();
    }

    /// Whether this many bytes in total can be free at some time, when nothing else is reserved.
    pub fn can_reach(&self, bytes: usize) -> bool {
        let memory = &self.memory.0;
        bytes <= self.company.map_or(memory.total / WITHOUT_COMPANY, |company| memory.quota_of(company))
    }

    /// Makes an empty reservation for the same company.
    #[must_use]
    pub fn empty(&self) -> Self {
        self.memory.reservation(self.company)
    }

    /// The reserved bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A company waits for bytes until it is dropped.
struct WaitingCompany {
    memory: Memory,
    company: i64,
    bytes: usize,
}

impl Drop for WaitingCompany {
    fn drop(&mut self) {
        subtract(&mut self.memory.0.reserved.lock().waiting, self.company, self.bytes);
        // Its part is free for the others again.
        self.memory.0.freed.notify_waiters();
    }
}

impl ReservedBytes {
    /// The bytes that other companies wait for. Each counts up to its equal part.
    fn wanted_by_others(&self, company: i64, equal: usize) -> usize {
        let others = self.waiting.iter().filter(|(waiting, _)| **waiting != company);
        let missing = |(company, bytes): (&i64, &usize)| {
            (*bytes).min(equal.saturating_sub(self.companies.get(company).copied().unwrap_or_default()))
        };
        others.map(missing).sum()
    }
}

/// The memory of a response, in its extensions, until it is sent.
pub type ResponseMemory = Arc<Reservation>;

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

/// Runs a long computation without blocking the thread's other tasks.
///
/// The other tasks continue on another thread.
///
/// If the runtime has one thread, or too many computations run, the other tasks wait.
pub fn off_thread<T>(compute: impl FnOnce() -> T) -> T {
    run(&OTHERS, compute)
}

fn run<T>(others: &Semaphore, compute: impl FnOnce() -> T) -> T {
    let Ok(RuntimeFlavor::MultiThread) = Handle::try_current().map(|runtime| runtime.runtime_flavor()) else {
        return compute();
    };
    match others.try_acquire() {
        Ok(_other) => tokio::task::block_in_place(compute),
        Err(_) => compute(),
    }
}

/// Runs a computation on `bytes` bytes, by [`off_thread`] if it is long.
pub fn compute<T>(bytes: usize, compute: impl FnOnce() -> T) -> T {
    if is_long(bytes) { off_thread(compute) } else { compute() }
}

/// Whether a computation on `bytes` bytes is long.
pub fn is_long(bytes: usize) -> bool {
    bytes > LONG_COMPUTATION
}

/// Runs a future. If `is_long` is set, [`off_thread`] runs each step.
pub fn run_off_thread<F: Future>(future: F, is_long: bool) -> impl Future<Output = F::Output> {
    if !is_long {
        return Either::Left(future);
    }
    let mut future = Box::pin(future);
    Either::Right(poll_fn(move |context| off_thread(|| future.as_mut().poll(context))))
}

#[cfg(test)]
mod tests;
