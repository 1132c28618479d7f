//! Limits on open things such as calls and streams, and whether several companies call.

use std::{collections::HashMap, sync::Arc, time::Duration};

use compliance_api::error::Error;
use parking_lot::Mutex;
use tokio::time::Instant;

/// The reason for a rejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitReached {
    /// The company has reached its limit.
    Company,
    /// All companies together have reached the limit of the process.
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

/// Counts open things, for all companies together and for each. Clones share one set of counts.
#[derive(Clone, Debug)]
pub struct Counts(Arc<SharedCounts>);

#[derive(Debug)]
struct SharedCounts {
    total: usize,
    quota: usize,
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
    /// Allows `total` open things, and `quota` of them for one company.
    pub fn new(total: usize, quota: usize) -> Self {
        Self::with_companies(total, quota, HashMap::new())
    }

    /// Allows `total` open things, with individual limits for some companies.
    ///
    /// All other companies can have `quota` each.
    pub fn with_companies(total: usize, quota: usize, companies: HashMap<i64, usize>) -> Self {
        Self(Arc::new(SharedCounts { total, quota, companies, open: Mutex::default() }))
    }

    /// Maximum number of open things of a company.
    pub fn limit_of(&self, company: i64) -> usize {
        self.0.companies.get(&company).copied().unwrap_or(self.0.quota)
    }

    /// Counts one more thing as open, until the count is dropped.
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

    /// The number of open things.
    pub fn open(&self) -> usize {
        self.0.open.lock().all
    }

    /// The number of open things of a company.
    pub fn open_of(&self, company: i64) -> usize {
        self.0.open.lock().companies.get(&company).copied().unwrap_or_default()
    }
}

/// A thing that is open until this is dropped.
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

/// Subtracts from the count of a company, and removes the company at zero.
pub(crate) fn subtract(companies: &mut HashMap<i64, usize>, company: i64, count: usize) {
    if let Some(of_company) = companies.get_mut(&company) {
        *of_company -= count;
        if *of_company == 0 {
            companies.remove(&company);
        }
    }
}

/// Companies that call within this time of each other call at the same time.
const AT_THE_SAME_TIME: Duration = Duration::from_secs(1);

/// Detects when several companies call at the same time. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Callers(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    last: Option<i64>,
    /// When a call last came from another company than the call before.
    changed: Option<Instant>,
}

impl Callers {
    /// Records a call of a company.
    pub fn called(&self, company: i64) {
        let seen = &mut *self.0.lock();
        if seen.last.replace(company).is_some_and(|last| last != company) {
            seen.changed = Some(Instant::now());
        }
    }

    /// Whether more than one company has called recently.
    pub fn are_several(&self) -> bool {
        self.0.lock().changed.is_some_and(|changed| changed.elapsed() < AT_THE_SAME_TIME)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::{AT_THE_SAME_TIME, Callers, Counts, LimitReached};

    #[test]
    fn a_company_with_a_limit_of_its_own_has_no_other() {
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
    fn a_company_has_a_share_and_all_have_the_total() {
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

    #[tokio::test(start_paused = true)]
    async fn one_company_is_alone_until_another_calls_and_a_while_after_it() {
        let callers = Callers::default();
        assert!(!callers.are_several());
        // The ID 0 is a company's like any other.
        for _ in 0..3 {
            callers.called(0);
            assert!(!callers.are_several());
        }
        callers.called(7);
        assert!(callers.are_several());
        callers.called(7);
        advance(AT_THE_SAME_TIME / 2).await;
        callers.called(7);
        assert!(callers.are_several());
        advance(AT_THE_SAME_TIME).await;
        callers.called(7);
        assert!(!callers.are_several(), "the other company has gone");
        callers.clone().called(0);
        assert!(callers.are_several());
        advance(AT_THE_SAME_TIME).await;
        assert!(!callers.are_several(), "the time is over");
    }
}
