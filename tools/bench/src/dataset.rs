//! Defines the number of generated records per company.

use load_test::workload::Universe;
use serde::Serialize;

use crate::service::{Database, Records};

/// The measured company, which owns half of all records.
pub(crate) const MANY: i64 = 1;
/// The company that owns the other half, which the load never reads.
const OTHER: i64 = 2;
/// Number of companies that share a load, each with its own token.
pub(crate) const CROWD: u32 = 64;
/// The first of the companies that share a load.
const FIRST_OF_CROWD: i64 = 1001;
/// Number of affiliates per company that the memory contender serves.
pub(crate) const IN_MEMORY: i64 = 1_000;
/// Affiliates of each company that shares a load.
const AFFILIATES: u64 = 1_000;
/// The first of the companies that receive writes. They have no records before and after a measurement.
const FIRST_WRITER: i64 = 2001;

/// Record counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Dataset {
    /// Affiliates of the first two companies.
    pub(crate) affiliates: u64,
    /// URLs of the first two companies.
    pub(crate) urls: u64,
    /// Cases of the first two companies.
    pub(crate) cases: u64,
    pub(crate) seed: u64,
}

impl Dataset {
    /// Returns each company's record counts.
    pub(crate) fn records(&self) -> Vec<Records> {
        let half = |all: u64| (all / 2, all - all / 2);
        let ((affiliates, a), (urls, u), (cases, c)) = (half(self.affiliates), half(self.urls), half(self.cases));
        let mut records = vec![
            Records { company: MANY, affiliates, urls, cases },
            Records { company: OTHER, affiliates: a, urls: u, cases: c },
        ];
        records.extend(crowd().map(|company| Records { company, affiliates: AFFILIATES, urls: 0, cases: 0 }));
        records
    }
}

/// Returns the companies that share a load.
pub(crate) fn crowd() -> impl Iterator<Item = i64> {
    (FIRST_OF_CROWD..).take(CROWD as usize)
}

/// Returns the companies that receive writes, without records.
pub(crate) fn writers() -> impl Iterator<Item = Universe> {
    (FIRST_WRITER..).map(|company| Universe { company, affiliates: [].into(), urls: 0, cases: 0 })
}

/// Deletes the records of the companies that receive writes.
pub(crate) async fn clear_writers(database: &Database) -> anyhow::Result<()> {
    let writers = format!("between {FIRST_WRITER} and {}", FIRST_WRITER + i64::from(CROWD) - 1);
    for table in ["compliance_urls", "affiliates"] {
        database.run(&format!("delete from {table} where company_id {writers}")).await?;
    }
    database.tidy().await
}

/// Returns the part of a company's records that the memory contender serves.
pub(crate) fn in_memory(universe: &Universe) -> Universe {
    let affiliates = universe.affiliates.iter().copied().take(IN_MEMORY as usize).collect();
    Universe { affiliates, ..universe.clone() }
}

#[cfg(test)]
mod tests {
    use super::{CROWD, Dataset, MANY};

    #[test]
    fn measured_company_owns_half_of_the_records() {
        let records = Dataset { affiliates: 11, urls: 20, cases: 0, seed: 1 }.records();
        assert_eq!(records.len(), 2 + CROWD as usize);
        assert_eq!((records[0].company, records[0].affiliates, records[1].affiliates), (MANY, 5, 6));
    }
}
