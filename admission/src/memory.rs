//! Memory that messages take, by company.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::timeout};

use crate::Full;

/// The bytes that messages may take, for all companies together and for each. Clones share them.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    total: usize,
    share: usize,
    held: Mutex<Held>,
    /// Is notified when something is given back.
    freed: Notify,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    /// Companies that hold something.
    companies: HashMap<i64, usize>,
}

impl Memory {
    /// `total` bytes, of which one company may hold `share`.
    pub fn new(total: usize, share: usize) -> Self {
        Self(Arc::new(Inner { total, share: share.min(total), held: Mutex::default(), freed: Notify::new() }))
    }

    /// Nothing yet, for a company to grow; for no company if it is not known.
    pub fn reservation(&self, company: Option<i64>) -> Reservation {
        Reservation { memory: self.clone(), company, bytes: 0 }
    }

    /// The bytes that are held by all companies together.
    pub fn held(&self) -> usize {
        self.0.held().all
    }

    /// The bytes that one company may hold.
    pub fn share(&self) -> usize {
        self.0.share
    }
}

impl Inner {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that are held until it is dropped.
#[derive(Debug)]
pub struct Reservation {
    memory: Memory,
    company: Option<i64>,
    bytes: usize,
}

impl Reservation {
    /// Holds `bytes` more, or nothing more if they are not to be had.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        let Inner { total, share, .. } = *self.memory.0;
        let held = &mut *self.memory.0.held();
        if let Some(company) = self.company {
            let of_company = held.companies.get(&company).copied().unwrap_or_default();
            if bytes > share.saturating_sub(of_company) {
                return Err(Full::Company);
            }
        }
        if bytes > total.saturating_sub(held.all) {
            return Err(Full::Process);
        }
        if let Some(company) = self.company
            && bytes > 0
        {
            *held.companies.entry(company).or_default() += bytes;
        }
        held.all += bytes;
        self.bytes += bytes;
        Ok(())
    }

    /// Holds `bytes` in all, if that is more than before.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), Full> {
        match bytes.checked_sub(self.bytes) {
            None | Some(0) => Ok(()),
            Some(more) => self.grow(more),
        }
    }

    /// Holds `bytes` in all, if that is more than before. Waits for others to give something back, up to `longest`: they
    /// may wait for this one.
    pub async fn wait_to_grow(&mut self, bytes: usize, longest: Duration) -> Result<(), Full> {
        let memory = self.memory.clone();
        if bytes > memory.0.share {
            return self.grow_to(bytes);
        }
        let waiting = timeout(longest, async {
            loop {
                let mut freed = pin!(memory.0.freed.notified());
                // From here on, nothing that is given back is missed.
                freed.as_mut().enable();
                if self.grow_to(bytes).is_ok() {
                    return;
                }
                freed.await;
            }
        });
        let has_grown = waiting.await.is_ok();
        if has_grown { Ok(()) } else { self.grow_to(bytes) }
    }

    /// Holds `bytes` in all, if that is less than before.
    pub fn shrink_to(&mut self, bytes: usize) {
        let Some(less) = self.bytes.checked_sub(bytes).filter(|less| *less > 0) else { return };
        self.bytes = bytes;
        self.memory.0.held().give_back(self.company, less);
        self.memory.0.freed.notify_waiters();
    }

    /// Nothing yet, for the same company.
    #[must_use]
    pub fn empty(&self) -> Self {
        self.memory.reservation(self.company)
    }

    /// The bytes that are held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Held {
    fn give_back(&mut self, company: Option<i64>, bytes: usize) {
        self.all -= bytes;
        if let Some(company) = company
            && let Some(of_company) = self.companies.get_mut(&company)
        {
            *of_company -= bytes;
            if *of_company == 0 {
                self.companies.remove(&company);
            }
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Full, Memory};

    #[test]
    fn a_company_has_a_share_and_all_have_the_total() {
        let memory = Memory::new(100, 60);
        let (mut one, mut again, mut two) =
            (memory.reservation(Some(1)), memory.reservation(Some(1)), memory.reservation(Some(2)));
        assert_eq!(one.grow(50), Ok(()));
        assert_eq!(again.grow(11), Err(Full::Company));
        assert_eq!(again.grow(10), Ok(()));
        assert_eq!(two.grow(41), Err(Full::Process));
        assert_eq!(two.grow(40), Ok(()));
        drop(one);
        assert_eq!((memory.held(), two.grow_to(60), two.grow_to(61)), (50, Ok(()), Err(Full::Company)));
        two.shrink_to(5);
        assert_eq!(memory.held(), 15);
        drop((again, two));
        assert_eq!(memory.held(), 0);
        assert!(memory.0.held().companies.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_waits_has_what_another_gives_back() {
        let second = Duration::from_secs(1);
        let memory = Memory::new(100, 60);
        let (mut one, mut two) = (memory.reservation(Some(1)), memory.reservation(Some(1)));
        one.grow(50).unwrap();
        assert_eq!(two.wait_to_grow(20, second).await, Err(Full::Company));
        assert_eq!(two.wait_to_grow(61, second * 1000).await, Err(Full::Company));
        let waiting = tokio::spawn(async move {
            two.wait_to_grow(20, second).await.unwrap();
            two
        });
        tokio::task::yield_now().await;
        drop(one);
        assert_eq!(waiting.await.unwrap().bytes(), 20);
    }

    #[test]
    fn without_a_company_the_total_counts() {
        let memory = Memory::new(100, 60);
        let mut unknown = memory.reservation(None);
        assert_eq!((unknown.grow(80), unknown.grow(21)), (Ok(()), Err(Full::Process)));
    }
}
