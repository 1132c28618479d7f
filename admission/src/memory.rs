//! Memory that messages take, by company.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::Full;

/// The bytes that messages may take, for all companies together and for each. Clones share them.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    total: usize,
    share: usize,
    held: Mutex<Held>,
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
        Self(Arc::new(Inner { total, share: share.min(total), held: Mutex::default() }))
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
        if bytes > total.saturating_sub(held.all) {
            return Err(Full::Process);
        }
        if let Some(company) = self.company {
            let of_company = held.companies.entry(company).or_default();
            if bytes > share.saturating_sub(*of_company) {
                return Err(Full::Company);
            }
            *of_company += bytes;
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

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let held = &mut *self.memory.0.held();
        held.all -= self.bytes;
        if let Some(company) = self.company
            && let Some(of_company) = held.companies.get_mut(&company)
        {
            *of_company -= self.bytes;
            if *of_company == 0 {
                held.companies.remove(&company);
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
        drop((again, two));
        assert_eq!(memory.held(), 0);
        assert!(memory.0.held().companies.is_empty());
    }

    #[test]
    fn without_a_company_the_total_counts() {
        let memory = Memory::new(100, 60);
        let mut unknown = memory.reservation(None);
        assert_eq!((unknown.grow(80), unknown.grow(21)), (Ok(()), Err(Full::Process)));
    }
}
