//! What a company has open.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use crate::{full::Full, memory::subtract};

/// Things that are open at the same time, for all companies together and for each. Clones share the counts.
#[derive(Clone, Debug)]
pub struct Counts(Arc<SharedCounts>);

#[derive(Debug)]
struct SharedCounts {
    total: usize,
    share: usize,
    /// Companies that may have another number.
    companies: HashMap<i64, usize>,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    companies: HashMap<i64, usize>,
}

impl Counts {
    /// At most `total` of them, of which one company may have `share`.
    pub fn new(total: usize, share: usize) -> Self {
        Self::with_companies(total, share, HashMap::new())
    }

    /// The same, where each of these companies may have another number.
    pub fn with_companies(total: usize, share: usize, companies: HashMap<i64, usize>) -> Self {
        Self(Arc::new(SharedCounts { total, share, companies, open: Mutex::default() }))
    }

    /// How many a company may have.
    pub fn limit_of(&self, company: i64) -> usize {
        self.0.companies.get(&company).copied().unwrap_or(self.0.share)
    }

    /// Counts one more.
    pub fn add(&self, company: i64) -> Result<Count, Full> {
        let open = &mut *self.0.open.lock();
        if open.all >= self.0.total {
            return Err(Full::Process);
        }
        let of_company = open.companies.entry(company).or_default();
        if *of_company >= self.limit_of(company) {
            return Err(Full::Company);
        }
        *of_company += 1;
        open.all += 1;
        Ok(Count { counts: self.clone(), company })
    }

    /// How many are open.
    pub fn open(&self) -> usize {
        self.0.open.lock().all
    }
}

/// One that is open until it is dropped.
#[derive(Debug)]
pub struct Count {
    counts: Counts,
    company: i64,
}

impl Drop for Count {
    fn drop(&mut self) {
        let open = &mut *self.counts.0.open.lock();
        open.all -= 1;
        subtract(&mut open.companies, self.company, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Full};

    #[test]
    fn a_company_with_a_limit_of_its_own_has_no_other() {
        let counts = Counts::with_companies(5, 2, [(1, 1), (2, 4)].into());
        let open = |company| (0..).map_while(|_| counts.add(company).ok()).collect::<Vec<_>>();
        let (one, two) = (open(1), open(2));
        assert_eq!((one.len(), two.len()), (1, 4));
        assert_eq!([1, 2, 3].map(|company| counts.limit_of(company)), [1, 4, 2]);
        assert_eq!((counts.add(1).unwrap_err(), counts.add(3).unwrap_err()), (Full::Process, Full::Process));
        drop(two);
        assert_eq!((open(3).len(), counts.add(1).unwrap_err()), (2, Full::Company));
    }

    #[test]
    fn a_company_has_a_share_and_all_have_the_total() {
        let counts = Counts::new(3, 2);
        let (first, second) = (counts.add(1).unwrap(), counts.add(1).unwrap());
        assert_eq!(counts.add(1).unwrap_err(), Full::Company);
        let other = counts.add(17).unwrap();
        assert_eq!(counts.add(2).unwrap_err(), Full::Process);
        assert_eq!(counts.open(), 3);
        drop((first, second, other));
        assert_eq!(counts.open(), 0);
        assert!(counts.0.open.lock().companies.is_empty());
        assert!([i64::MIN, i64::MAX].iter().all(|company| counts.add(*company).is_ok()));
    }
}
