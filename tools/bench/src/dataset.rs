//! Numbers of made records, by company.

use load_test::workload::{Ids, Universe};
use serde::Serialize;

use crate::service::Records;

/// The measured company. It has half of all records.
pub(crate) const MANY: i64 = 1;
/// The company with the other half, which is never read.
const OTHER: i64 = 2;
/// The company with a thousand records of each kind.
pub(crate) const SMALL: i64 = 3;
/// The company whose whole list of affiliates is streamed.
pub(crate) const LISTED: i64 = 4;
/// The company with lists of medium length.
pub(crate) const MIDDLE: i64 = 7;
/// Companies that share a load, each with a token and a thousand affiliates.
pub(crate) const CROWD: u32 = 64;
/// The first of these companies.
const FIRST_OF_CROWD: i64 = 1001;
/// Number of first affiliates of each company that the memory contender serves.
pub(crate) const IN_MEMORY: i64 = 1_000;
/// Records of each kind of the small company.
const FEW: u64 = 1_000;

/// Numbers of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Dataset {
    /// Affiliates of the first two companies.
    pub(crate) affiliates: u64,
    /// URLs of the first two companies.
    pub(crate) urls: u64,
    /// Cases of the first two companies.
    pub(crate) cases: u64,
    /// Affiliates of the company that is listed whole; zero for none.
    pub(crate) listed: u64,
    /// URLs, and also cases, of the company with lists of medium length.
    pub(crate) middle: u64,
    /// Affiliates of each company of the crowd; zero for none.
    pub(crate) crowd: u64,
    pub(crate) seed: u64,
}

impl Dataset {
    /// The records of each company.
    pub(crate) fn records(&self) -> Vec<Records> {
        let half = |all: u64| (all / 2, all - all / 2);
        let ((affiliates, a), (urls, u), (cases, c)) = (half(self.affiliates), half(self.urls), half(self.cases));
        let mut records = vec![
            Records { company: MANY, affiliates, urls, cases },
            Records { company: OTHER, affiliates: a, urls: u, cases: c },
            Records { company: SMALL, affiliates: FEW, urls: FEW, cases: FEW },
            Records { company: MIDDLE, affiliates: self.middle.div_ceil(20), urls: self.middle, cases: self.middle },
            Records { company: LISTED, affiliates: self.listed, urls: 0, cases: 0 },
        ];
        records.extend(crowd().map(|company| Records { company, affiliates: self.crowd, urls: 0, cases: 0 }));
        records.retain(|records| records.affiliates > 0);
        records
    }
}

/// The companies that share a load.
pub(crate) fn crowd() -> impl Iterator<Item = i64> {
    (FIRST_OF_CROWD..).take(CROWD as usize)
}

/// The records of a company that the memory contender serves.
pub(crate) fn in_memory(universe: &Universe) -> Universe {
    let affiliates = match &universe.affiliates {
        Ids::Range(ids) => Ids::Range(*ids.start()..=(*ids.end()).min(ids.start() + IN_MEMORY - 1)),
        Ids::Known(ids) => Ids::Known(ids.iter().copied().take(IN_MEMORY as usize).collect()),
    };
    Universe { affiliates, ..universe.clone() }
}

#[cfg(test)]
mod tests {
    use super::{Dataset, MANY};

    #[test]
    fn the_first_company_has_half() {
        let records = Dataset { affiliates: 11, urls: 20, cases: 0, listed: 0, middle: 0, crowd: 0, seed: 1 }.records();
        assert_eq!(records.len(), 3);
        assert_eq!((records[0].company, records[0].affiliates, records[1].affiliates), (MANY, 5, 6));
    }
}
