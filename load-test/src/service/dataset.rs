//! How many records there are, and whose.

use serde::{Deserialize, Serialize};

/// The company that everything is measured with: half of all records.
pub(crate) const MANY: i64 = 1;
/// The company with the other half, there to be in the way.
const OTHER: i64 = 2;
/// The company with a thousand records.
pub(crate) const SMALL: i64 = 3;
/// The company whose whole list of affiliates is streamed.
pub(crate) const LISTED: i64 = 4;
/// How many records the small company has of each kind.
const FEW: u64 = 1_000;

/// How many records there are of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Dataset {
    /// Affiliates of the first two companies.
    pub(crate) affiliates: u64,
    /// URLs of the first two companies.
    pub(crate) urls: u64,
    /// Cases of the first two companies.
    pub(crate) cases: u64,
    /// Affiliates of the company that is listed whole; zero for none.
    pub(crate) listed: u64,
    pub(crate) seed: u64,
}

/// The records of one company.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub(crate) company: i64,
    pub(crate) affiliates: u64,
    pub(crate) urls: u64,
    pub(crate) cases: u64,
}

impl Dataset {
    /// What is made for load on a service that goes away again.
    pub(crate) const DEMO: Self = Self { affiliates: 20_000, urls: 40_000, cases: 4_000, listed: 0, seed: 1 };

    /// Who gets how many.
    pub(crate) fn shares(&self) -> Vec<Share> {
        let half = |all: u64| (all / 2, all - all / 2);
        let ((affiliates, a), (urls, u), (cases, c)) = (half(self.affiliates), half(self.urls), half(self.cases));
        let mut shares = vec![
            Share { company: MANY, affiliates, urls, cases },
            Share { company: OTHER, affiliates: a, urls: u, cases: c },
            Share { company: SMALL, affiliates: FEW, urls: FEW, cases: FEW },
            Share { company: LISTED, affiliates: self.listed, urls: 0, cases: 0 },
        ];
        shares.retain(|share| share.affiliates > 0);
        shares
    }

    /// What tells whether a database holds just these records.
    pub(crate) fn mark(&self) -> String {
        format!("1 {} {} {} {} {}", self.affiliates, self.urls, self.cases, self.listed, self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::{Dataset, MANY};

    #[test]
    fn the_first_company_has_half() {
        let shares = Dataset { affiliates: 11, urls: 20, cases: 0, listed: 0, seed: 1 }.shares();
        assert_eq!(shares.len(), 3);
        assert_eq!((shares[0].company, shares[0].affiliates, shares[1].affiliates), (MANY, 5, 6));
    }
}
