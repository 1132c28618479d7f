//! The memory of messages, by company.
//!
//! A company may have a part of what the others leave free. With a half, one company alone may hold a half of all memory, and each of two
//! companies a third. So a further company always finds some, however much the others want. Requests without a verified company have a
//! small limit of their own, and take nothing from companies.

use std::{collections::HashMap, pin::pin, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::timeout};

use crate::counts::{Full, subtract};

/// Maximum size of messages and responses that limits ignore, in bytes.
///
/// The memory limits do not count smaller messages, rows and responses. Limits on calls or connections bound their number.
pub const SMALL: usize = 16 << 10;
/// How long a request waits for memory that other requests hold.
pub const MEMORY_WAIT: Duration = Duration::from_secs(5);
/// One company alone may hold half of the memory of requests.
pub const MEMORY_SHARE: usize = 2;
/// Requests without a company may hold a sixteenth in addition.
const WITHOUT_COMPANY: usize = 16;

/// Limits the bytes of messages, for all companies together and for each. Clones share one set of limits.
#[derive(Clone, Debug)]
pub struct Memory(Arc<SharedMemory>);

#[derive(Debug)]
struct SharedMemory {
    total: usize,
    /// The limit of one company while the others hold nothing.
    share: usize,
    /// Individual limits of companies that may hold more or less.
    companies: HashMap<i64, usize>,
    held: Mutex<HeldBytes>,
    /// Notified when memory is released.
    freed: Notify,
}

#[derive(Debug, Default)]
struct HeldBytes {
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
    /// Allows `total` bytes for companies. One company alone may hold `share`, and beside others the same part of what they leave free.
    ///
    /// Requests without a company may hold a sixteenth of `total` in addition.
    pub fn new(total: usize, share: usize) -> Self {
        Self::with_companies(total, share, HashMap::new())
    }

    /// Allows `total` bytes, with individual limits for some companies.
    ///
    /// `companies` has the bytes that such a company may hold while no other company holds any.
    pub fn with_companies(total: usize, share: usize, companies: HashMap<i64, usize>) -> Self {
        let (held, freed) = (Mutex::default(), Notify::new());
        Self(Arc::new(SharedMemory { total, share: share.min(total), companies, held, freed }))
    }

    /// Makes an empty reservation for a company, or without one.
    pub fn reservation(&self, company: Option<i64>) -> Reservation {
        Reservation { memory: self.clone(), company, bytes: 0 }
    }

    /// The bytes in use, with and without a company.
    pub fn held(&self) -> usize {
        let held = self.0.held.lock();
        held.all + held.without_company
    }
}

impl SharedMemory {
    /// Returns what a company may hold while the others hold nothing.
    fn share_of(&self, company: i64) -> usize {
        self.companies.get(&company).map_or(self.share, |share| *share.min(&self.total))
    }

    /// Returns why a company may not hold `bytes` more, if it may not.
    fn refusal(&self, held: &HeldBytes, company: i64, bytes: usize) -> Option<Full> {
        let own = held.companies.get(&company).copied().unwrap_or_default();
        let wanted = own.saturating_add(bytes);
        let share = self.share_of(company);
        if wanted > share {
            return Some(Full::Company);
        }
        // An equal part, with one part for a further company.
        let equal = self.total / (held.companies.len() + usize::from(own == 0) + 1);
        let left = self.total.saturating_sub(held.all - own).saturating_sub(held.wanted_by_others(company, equal));
        // Widened, because the product of two sizes can overflow.
        let most = (left as u128 * share as u128 / self.total.max(1) as u128) as usize;
        if wanted <= most && bytes <= self.total - held.all {
            None
        } else if own > 0 && wanted > equal {
            Some(Full::Company)
        } else {
            Some(Full::Process)
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
    pub fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        if bytes == 0 {
            return Ok(());
        }
        let inner = &self.memory.0;
        let held = &mut *inner.held.lock();
        let refusal = match self.company {
            Some(company) => inner.refusal(held, company, bytes),
            None => (bytes > inner.total / WITHOUT_COMPANY - held.without_company).then_some(Full::Process),
        };
        if let Some(full) = refusal {
            return Err(full);
        }
        match self.company {
            Some(company) => {
                *held.companies.entry(company).or_default() += bytes;
                held.all += bytes;
            }
            None => held.without_company += bytes,
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Reserves `bytes` in total, if that is more than before.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), Full> {
        self.grow(bytes.saturating_sub(self.bytes))
    }

    /// Like [`Self::grow_to`], but waits up to `longest` for memory that others release.
    pub async fn wait_to_grow(&mut self, bytes: usize, longest: Duration) -> Result<(), Full> {
        let memory = self.memory.clone();
        if bytes > self.company.map_or(memory.0.share, |company| memory.0.share_of(company)) {
            return self.grow_to(bytes);
        }
        let Err(full) = self.grow_to(bytes) else { return Ok(()) };
        // During the wait, other companies leave an equal part free.
        let more = bytes - self.bytes;
        let _waits = self.company.map(|company| {
            *memory.0.held.lock().waiting.entry(company).or_default() += more;
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
        waiting.await.map_err(|_| full)
    }

    /// Reserves `bytes` in total, if that is less than before.
    pub fn shrink_to(&mut self, bytes: usize) {
        let Some(less) = self.bytes.checked_sub(bytes).filter(|less| *less > 0) else { return };
        self.bytes = bytes;
        let held = &mut *self.memory.0.held.lock();
        match self.company {
            Some(company) => {
                held.all -= less;
                subtract(&mut held.companies, company, less);
            }
            None => held.without_company -= less,
        }
        self.memory.0.freed.notify_waiters();
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
        subtract(&mut self.memory.0.held.lock().waiting, self.company, self.bytes);
        // Its part is free for the others again.
        self.memory.0.freed.notify_waiters();
    }
}

impl HeldBytes {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::{future::join_all, poll};
    use tokio::time::sleep;

    use super::{Full, Memory, Reservation, ResponseMemory};

    #[test]
    fn a_company_has_a_share_and_all_have_the_total() {
        let memory = Memory::new(100, 60);
        let (mut one, mut again, mut two) =
            (memory.reservation(Some(1)), memory.reservation(Some(1)), memory.reservation(Some(2)));
        assert_eq!(one.grow(50), Ok(()));
        assert_eq!(again.grow(11), Err(Full::Company));
        assert_eq!(again.grow(10), Ok(()));
        // 40 are left, of which it may have 60 %.
        assert_eq!(two.grow(25), Err(Full::Process));
        assert_eq!(two.grow(24), Ok(()));
        assert_eq!(memory.0.held.lock().companies[&1], 60);
        drop(one);
        assert_eq!(memory.0.held.lock().companies[&1], 10);
        assert_eq!((memory.held(), two.grow_to(54), two.grow_to(55)), (34, Ok(()), Err(Full::Company)));
        drop(again);
        assert_eq!((two.grow_to(60), two.grow_to(61)), (Ok(()), Err(Full::Company)));
        two.shrink_to(5);
        assert_eq!(memory.held(), 5);
        drop(two);
        assert_eq!(memory.held(), 0);
        assert!(memory.0.held.lock().companies.is_empty());
        // A company that holds nothing is not remembered.
        let mut nothing = memory.reservation(Some(1));
        assert_eq!((nothing.grow(0), nothing.bytes()), (Ok(()), 0));
        assert!(memory.0.held.lock().companies.is_empty());
        assert_eq!([Memory::new(100, 60), Memory::new(50, 60)].map(|memory| memory.0.share), [60, 50]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_company_with_a_limit_of_its_own_has_no_other() {
        let memory = Memory::with_companies(100, 50, [(1, 10), (2, 200)].into());
        let (mut one, mut two) = (memory.reservation(Some(1)), memory.reservation(Some(2)));
        assert_eq!((one.grow(11), one.grow(10)), (Err(Full::Company), Ok(())));
        // More than its limit is not waited for.
        let start = tokio::time::Instant::now();
        assert_eq!(one.wait_to_grow(11, Duration::from_secs(1000)).await, Err(Full::Company));
        assert_eq!(start.elapsed(), Duration::ZERO);
        // Never more than there is, and what others hold.
        assert_eq!((two.grow(91), two.grow(90)), (Err(Full::Process), Ok(())));
        assert_eq!(memory.reservation(Some(3)).grow(1), Err(Full::Process));
        drop(two);
        let three = take_all(&memory, 3);
        assert_eq!(three.bytes(), 45);
    }

    #[test]
    fn above_an_equal_part_a_company_has_used_up_its_share() {
        let memory = Memory::new(120, 60);
        let (mut one, mut two) = (memory.reservation(Some(1)), memory.reservation(Some(2)));
        assert_eq!((one.grow(60), two.grow(20)), (Ok(()), Ok(())));
        // It may have 30. An equal part is 40: for these two, and for one that is yet to come.
        assert_eq!((two.grow_to(40), two.grow_to(41)), (Err(Full::Process), Err(Full::Company)));
        // One that has nothing has not used up anything.
        assert_eq!(memory.reservation(Some(3)).grow(50), Err(Full::Process));
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_company_waits_for_is_left_to_it_until_it_no_longer_waits() {
        let memory = Memory::new(300, 150);
        let [_one, _two, mut three] = [1, 2, 3].map(|company| take_all(&memory, company));
        let mut waits = memory.reservation(Some(4));
        waits.grow(10).unwrap();
        let mut waiting = Box::pin(waits.wait_to_grow(20, Duration::from_secs(1)));
        assert!(poll!(waiting.as_mut()).is_pending());
        three.shrink_to(0);
        // 65 are left. It waits for 10 of them, and of the others a company may have half.
        let mut five = memory.reservation(Some(5));
        assert_eq!((five.grow(28), five.grow(27)), (Err(Full::Process), Ok(())));
        five.shrink_to(0);
        drop(waiting);
        assert_eq!((five.grow(33), five.grow(32)), (Err(Full::Process), Ok(())));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_waits_has_what_another_gives_back() {
        let second = Duration::from_secs(1);
        let memory = Memory::new(100, 60);
        let (mut one, mut two) = (memory.reservation(Some(1)), memory.reservation(Some(1)));
        one.grow(50).unwrap();
        assert_eq!(two.wait_to_grow(20, second).await, Err(Full::Company));
        // More than the share is not waited for.
        let start = tokio::time::Instant::now();
        assert_eq!(two.wait_to_grow(61, second * 1000).await, Err(Full::Company));
        assert_eq!(start.elapsed(), Duration::ZERO);
        let waiting = tokio::spawn(async move {
            two.wait_to_grow(60, second).await.unwrap();
            two
        });
        tokio::task::yield_now().await;
        drop(one);
        assert_eq!(waiting.await.unwrap().bytes(), 60);
    }

    /// Takes as much as it may, byte by byte.
    fn take_all(memory: &Memory, company: i64) -> Reservation {
        let mut reservation = memory.reservation(Some(company));
        while reservation.grow(1).is_ok() {}
        reservation
    }

    #[test]
    fn each_company_that_comes_finds_half_of_what_is_left() {
        let memory = Memory::new(384, 192);
        let held = [1, 2, 3, 4].map(|company| take_all(&memory, company));
        assert_eq!(held.each_ref().map(Reservation::bytes), [192, 96, 48, 24]);
        // A fifth company is served, too.
        assert_eq!(memory.reservation(Some(5)).grow(12), Ok(()));
    }

    #[test]
    fn companies_that_want_all_come_to_equal_parts() {
        let memory = Memory::new(4000, 2000);
        let mut held: Vec<_> = [1, 2, 3].map(|company| take_all(&memory, company)).into();
        for _ in 0..100 {
            // Requests end in turn, and others of the same company follow.
            for reservation in &mut held {
                reservation.shrink_to(reservation.bytes() - 50);
                while reservation.grow(1).is_ok() {}
            }
        }
        let parts: Vec<_> = held.iter().map(Reservation::bytes).collect();
        assert!(parts.iter().all(|part| (900..=1100).contains(part)), "{parts:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_leaves_an_equal_part_to_a_company_that_waits() {
        let memory = Memory::new(300, 150);
        let second = Duration::from_secs(1);
        // A company whose requests of 30 follow each other without end.
        let flood = tokio::spawn({
            let memory = memory.clone();
            async move {
                loop {
                    let requests = (0..8).map(|_| async {
                        let mut request = memory.reservation(Some(1));
                        if request.wait_to_grow(30, second).await.is_ok() {
                            sleep(Duration::from_millis(10)).await;
                        }
                    });
                    join_all(requests).await;
                }
            }
        });
        sleep(Duration::from_millis(100)).await;
        // Half of what the flood leaves at its most would be 75.
        let mut other = memory.reservation(Some(2));
        assert_eq!(other.wait_to_grow(100, second).await, Ok(()));
        flood.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn what_belongs_to_no_company_takes_nothing_from_companies() {
        let memory = Memory::new(160, 80);
        let (mut unknown, mut another) = (memory.reservation(None), memory.reservation(None));
        assert_eq!((unknown.grow(8), another.grow(3), another.grow(2)), (Ok(()), Err(Full::Process), Ok(())));
        // Companies find as much as before, and take nothing from it.
        let held = [1, 2].map(|company| take_all(&memory, company));
        assert_eq!(held.each_ref().map(Reservation::bytes), [80, 40]);
        assert_eq!(memory.held(), 130);
        another.shrink_to(0);
        assert_eq!((memory.held(), another.grow(2), another.grow(1)), (128, Ok(()), Err(Full::Process)));
        // It waits for what is returned without a company.
        let (waits, returns) = (another.wait_to_grow(10, Duration::from_secs(1)), async { unknown.shrink_to(0) });
        assert_eq!(tokio::join!(waits, returns).0, Ok(()));
        drop((held, another));
        assert_eq!((memory.held(), ResponseMemory::new(unknown).bytes()), (0, 0));
    }
}
