//! The scenarios: which operations, about which records, in which proportion.

use clap::ValueEnum;

use super::{Chance, Operation, Universe, affiliate};

/// What is asked, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// One affiliate by ID.
    PointRead,
    /// The first page of the URLs, 100 with their infractions.
    UrlPage,
    /// The first page of the cases, 100 with their incidents.
    CasePage,
    /// Pages of 200 URLs anywhere in the list.
    DeepPage,
    /// The whole list of affiliates.
    List,
    /// One new affiliate.
    Create,
    /// New affiliates, many in one request.
    BatchCreate,
    /// Changes of affiliates, many in one request.
    BatchUpdate,
    /// New URLs, many in one request.
    UrlAdd,
    /// Mostly reads, some lists, few writes.
    Mixed,
}

impl Scenario {
    /// Whether it leaves the number of affiliates as it is.
    pub(crate) fn keeps_affiliates(self) -> bool {
        !matches!(self, Self::Create | Self::BatchCreate | Self::Mixed)
    }
}

/// The operations of one worker, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    scenario: Scenario,
    universe: Universe,
    batch: u64,
    chance: Chance,
    /// Tells runs and workers apart in what they write.
    run: u64,
    written: u64,
}

/// The items of a batch within the mixed load.
const SMALL_BATCH: u64 = 10;

impl Plan {
    pub(crate) fn new(scenario: Scenario, universe: &Universe, batch: u64, worker: u32) -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let run = (since.as_millis() as u64) << 12 | u64::from(worker);
        // The records that are asked for are the same in every run; what is written is not.
        let chance = Chance::new(u64::from(worker) + 1);
        Self { scenario, universe: universe.clone(), batch, chance, run, written: 0 }
    }

    /// What is asked next.
    pub(crate) fn next(&mut self) -> Operation {
        match self.scenario {
            Scenario::PointRead => self.point_read(),
            Scenario::UrlPage => Operation::ListUrls { page: 1, per_page: 100 },
            Scenario::CasePage => Operation::ListCases { page: 1, per_page: 100 },
            Scenario::DeepPage => self.deep_page(),
            Scenario::List => Operation::ListAffiliates,
            Scenario::Create => Operation::Create(Box::new(self.affiliate())),
            Scenario::BatchCreate => Operation::BatchCreate((0..self.batch).map(|_| self.affiliate()).collect()),
            Scenario::BatchUpdate => self.batch_update(self.batch),
            Scenario::UrlAdd => self.add_urls(self.batch),
            Scenario::Mixed => self.mixed(),
        }
    }

    fn mixed(&mut self) -> Operation {
        match self.chance.below(100) {
            0..70 => self.point_read(),
            70..80 => Operation::ListUrls { page: 1, per_page: 100 },
            80..86 => Operation::ListCases { page: 1, per_page: 100 },
            86..90 => self.deep_page(),
            90..94 => Operation::Create(Box::new(self.affiliate())),
            94..97 => self.batch_update(SMALL_BATCH),
            _ => self.add_urls(SMALL_BATCH),
        }
    }

    fn point_read(&mut self) -> Operation {
        Operation::GetAffiliate(self.universe.affiliates.draw(&mut self.chance))
    }

    fn deep_page(&mut self) -> Operation {
        let pages = self.universe.urls.div_ceil(200).max(1);
        Operation::ListUrls { page: 1 + self.chance.below(pages), per_page: 200 }
    }

    fn affiliate(&mut self) -> compliance_api::v1::AffiliateInput {
        self.written += 1;
        affiliate(self.run, self.written)
    }

    fn batch_update(&mut self, size: u64) -> Operation {
        let ids = (0..size).map(|_| self.universe.affiliates.draw(&mut self.chance)).collect();
        Operation::BatchUpdate { ids, notes: format!("Changed by load {:x}", self.chance.next()) }
    }

    fn add_urls(&mut self, size: u64) -> Operation {
        let urls = (0..size).map(|_| {
            self.written += 1;
            format!("https://load.example.com/{:x}/{}", self.run, self.written)
        });
        Operation::AddUrls(urls.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{Plan, Scenario};
    use crate::workload::{Ids, Operation, Universe};

    fn plan(scenario: Scenario) -> Plan {
        let universe =
            Universe { company: 1, affiliates: Ids::Range(5..=9), affiliates_total: Some(5), urls: 401, cases: 3 };
        Plan::new(scenario, &universe, 3, 0)
    }

    #[test]
    fn operations_are_about_records_that_are_there() {
        let mut reads = plan(Scenario::PointRead);
        assert!((0..100).all(|_| matches!(reads.next(), Operation::GetAffiliate(5..=9))));
        let mut pages = plan(Scenario::DeepPage);
        assert!((0..100).all(|_| matches!(pages.next(), Operation::ListUrls { page: 1..=3, per_page: 200 })));
    }

    #[test]
    fn what_is_written_is_new_each_time() {
        let mut plan = plan(Scenario::UrlAdd);
        let (Operation::AddUrls(one), Operation::AddUrls(other)) = (plan.next(), plan.next()) else {
            panic!("not what the scenario says");
        };
        assert_eq!(one.len(), 3);
        assert!(one.iter().all(|url| !other.contains(url)));
    }
}
