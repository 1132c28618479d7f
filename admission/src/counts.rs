//! What a company has open.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::Full;

/// Companies are spread over so many locks.
const SHARDS: usize = 16;

/// Things that are open at the same time, for all companies together and for each. Clones share the counts.
#[derive(Clone, Debug)]
pub struct Counts(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    total: usize,
    share: usize,
    all: std::sync::atomic::AtomicUsize,
    shards: [Mutex<HashMap<i64, usize>>; SHARDS],
}

impl Counts {
    /// At most `total` of them, of which one company may have `share`.
    pub fn new(total: usize, share: usize) -> Self {
        Self(Arc::new(Inner { total, share, all: 0.into(), shards: Default::default() }))
    }

    /// Counts one more.
    pub fn add(&self, company: i64) -> Result<Count, Full> {
        use std::sync::atomic::Ordering::Relaxed;
        let Inner { total, share, all, .. } = &*self.0;
        all.fetch_update(Relaxed, Relaxed, |all| (all < *total).then_some(all + 1)).map_err(|_| Full::Process)?;
        let mut companies = self.0.shard(company);
        let of_company = companies.entry(company).or_default();
        if *of_company >= *share {
            all.fetch_sub(1, Relaxed);
            return Err(Full::Company);
        }
        *of_company += 1;
        drop(companies);
        Ok(Count { counts: self.clone(), company })
    }

    /// How many are open.
    pub fn open(&self) -> usize {
        self.0.all.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl Inner {
    fn shard(&self, company: i64) -> MutexGuard<'_, HashMap<i64, usize>> {
        let shard = company.unsigned_abs() as usize % SHARDS;
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut companies = self.counts.0.shard(self.company);
        if let Some(of_company) = companies.get_mut(&self.company) {
            *of_company -= 1;
            if *of_company == 0 {
                companies.remove(&self.company);
            }
        }
        self.counts.0.all.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Full};

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
        assert!(counts.0.shards.iter().all(|shard| shard.lock().unwrap().is_empty()));
        assert!([i64::MIN, i64::MAX].iter().all(|company| counts.add(*company).is_ok()));
    }
}
