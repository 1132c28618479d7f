//! Limits on open items, such as calls and streams.

use std::{collections::HashMap, sync::Arc};

use compliance_api::error::Error;
use parking_lot::Mutex;

/// The reason for a rejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitReached {
    /// The company has reached its limit.
    Company,
    /// All companies together have reached the process limit.
    Process,
}

impl From<LimitReached> for Error {
    fn from(limit: LimitReached) -> Self {
        match limit {
            LimitReached::Company => Self::too_many_concurrent_requests(),
            LimitReached::Process => Self::overloaded(),
        }
    }
}

/// Counts open items per company and in total. Clones share one set of counts.
#[derive(Clone, Debug)]
pub struct Counts(Arc<SharedCounts>);

#[derive(Debug)]
struct SharedCounts {
    total: usize,
    quota: usize,
    /// Per-company limits that override the quota.
    companies: HashMap<i64, usize>,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    companies: HashMap<i64, usize>,
}

impl Counts {
    /// Allows `total` open items, at most `quota` per company.
    pub fn new(total: usize, quota: usize) -> Self {
        Self::with_companies(total, quota, HashMap::new())
    }

    /// Allows `total` open items, with individual limits for some companies.
    ///
    /// Every other company is limited to `quota`.
    pub fn with_companies(total: usize, quota: usize, companies: HashMap<i64, usize>) -> Self {
        Self(Arc::new(SharedCounts { total, quota, companies, open: Mutex::default() }))
    }

    /// Returns a company's maximum number of open items.
    fn limit_of(&self, company: i64) -> usize {
        self.0.companies.get(&company).copied().unwrap_or(self.0.quota)
    }

    /// Counts an item as open until the returned count is dropped.
    pub fn add(&self, company: i64) -> Result<Count, LimitReached> {
        let open = &mut *self.0.open.lock();
        if open.all >= self.0.total {
            return Err(LimitReached::Process);
        }
        let of_company = open.companies.entry(company).or_default();
        if *of_company >= self.limit_of(company) {
            return Err(LimitReached::Company);
        }
        *of_company += 1;
        open.all += 1;
        Ok(Count { counts: self.clone(), company })
    }

    /// Returns the number of open items.
    pub fn open(&self) -> usize {
        self.0.open.lock().all
    }
}

/// An open item, counted until this value is dropped.
#[derive(Debug)]
pub struct Count {
    counts: Counts,
    company: i64,
}

impl Drop for Count {
    fn drop(&mut self) {
        let open = &mut *self.counts.0.open.lock();
        open.all -= 1;
        if let Some(of_company) = open.companies.get_mut(&self.company) {
            *of_company -= 1;
            if *of_company == 0 {
                open.companies.remove(&self.company);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, LimitReached};

    #[test]
    fn company_limits_override_default_quota() {
        let counts = Counts::with_companies(5, 2, [(1, 1), (2, 4)].into());
        let open = |company| (0..).map_while(|_| counts.add(company).ok()).collect::<Vec<_>>();
        let (one, two) = (open(1), open(2));
        assert_eq!((one.len(), two.len()), (1, 4));
        assert_eq!([1, 2, 3].map(|company| counts.limit_of(company)), [1, 4, 2]);
        assert_eq!(
            (counts.add(1).unwrap_err(), counts.add(3).unwrap_err()),
            (LimitReached::Process, LimitReached::Process)
        );
        drop(two);
        assert_eq!((open(3).len(), counts.add(1).unwrap_err()), (2, LimitReached::Company));
    }

    #[test]
    fn counts_enforce_company_quota_and_total() {
        let counts = Counts::new(3, 2);
        let (first, second) = (counts.add(1).unwrap(), counts.add(1).unwrap());
        assert_eq!(counts.add(1).unwrap_err(), LimitReached::Company);
        let other = counts.add(17).unwrap();
        assert_eq!(counts.add(2).unwrap_err(), LimitReached::Process);
        assert_eq!(counts.open(), 3);
        drop((first, second, other));
        assert_eq!(counts.open(), 0);
        assert!(counts.0.open.lock().companies.is_empty());
        assert!([i64::MIN, i64::MAX].iter().all(|company| counts.add(*company).is_ok()));
    }
}
