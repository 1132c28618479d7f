//! Defines the measured work and its contenders.

use anyhow::Context as _;
use load_test::{
    load::Load,
    workload::{Scenario, Universe},
};

use crate::{
    contender::Contender,
    dataset::{self, CROWD, MANY},
    load::load,
    results::Results,
    stage::{LIMIT, Stage},
};

/// A kind of work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) scenario: Scenario,
    /// Number of items per request.
    batch: u64,
    /// Connection counts to measure.
    connections: &'static [u32],
    /// The contenders for one company, and for many companies.
    contenders: [&'static str; 2],
}

pub(crate) const POINT_READS: &str = "point reads";
pub(crate) const BY_COMPANIES: &str = "point reads by companies";
pub(crate) const NEW_URLS: &str = "one new URL a request";
pub(crate) const NEW_AFFILIATES: &str = "one new affiliate a request";
pub(crate) const URL_PAGES: &str = "pages of 100 URLs with infractions";

/// All work, in the order of the report.
pub(crate) const ALL: [Work; 10] = [
    Work::of(POINT_READS, Scenario::PointRead, &[1, 32, 64], ["abcdeh", ""]),
    Work::of(BY_COMPANIES, Scenario::PointRead, &[64], ["abcek", "abck"]),
    Work::of(NEW_URLS, Scenario::UrlAddOne, &[32], ["abcj", "abc"]),
    Work::of(NEW_AFFILIATES, Scenario::Create, &[32], ["abcj", "abc"]),
    Work::of("one changed affiliate a request", Scenario::Update, &[32], ["abc", "abc"]),
    Work { batch: 1_000, ..Work::of("1,000 new affiliates a request", Scenario::BatchCreate, &[4], ["abc", ""]) },
    Work::of(URL_PAGES, Scenario::UrlPage, &[16], ["abh", ""]),
    Work::of("late pages of 200 URLs", Scenario::DeepPage, &[16], ["abc", ""]),
    Work::of("pages of 100 cases", Scenario::CasePage, &[16], ["abc", ""]),
    Work::of("whole lists of 1,000 affiliates", Scenario::List, &[16], ["", "abc"]),
];

impl Work {
    const fn of(
        name: &'static str,
        scenario: Scenario,
        connections: &'static [u32],
        contenders: [&'static str; 2],
    ) -> Self {
        Self { name, scenario, batch: 1, connections, contenders }
    }

    /// Measures one round. Each round starts with a different contender.
    pub(crate) async fn round(
        &self,
        stage: &Stage<'_>,
        round: u64,
        seconds: f64,
        results: &mut Results,
    ) -> anyhow::Result<()> {
        for (keys, companies) in self.contenders.into_iter().zip([1, CROWD]) {
            let mut contenders: Vec<&Contender> = keys.chars().filter_map(|key| stage.contender(key)).collect();
            let length = contenders.len().max(1);
            contenders.rotate_left(round as usize % length);
            for connections in self.connections {
                for contender in &contenders {
                    let universes = self.universes(stage, contender, companies).await?;
                    let (scenario, batch, connections) = (self.scenario, self.batch, *connections);
                    let of_work = Load { scenario, batch, companies: &universes, connections };
                    let sample = load(stage, contender, of_work, seconds).await;
                    let sample =
                        sample.with_context(|| format!("cannot measure ({}) {}", contender.key, contender.name))?;
                    if self.creates() {
                        dataset::clear_writers(stage.database).await?;
                    }
                    results.series(self.name, contender, companies, connections).samples.push(sample);
                }
            }
        }
        Ok(())
    }

    /// Returns whether the work adds records, and therefore starts with empty companies.
    fn creates(&self) -> bool {
        matches!(self.scenario, Scenario::UrlAddOne | Scenario::Create | Scenario::BatchCreate)
    }

    async fn universes(
        &self,
        stage: &Stage<'_>,
        contender: &Contender,
        companies: u32,
    ) -> anyhow::Result<Vec<Universe>> {
        if self.creates() {
            return Ok(dataset::writers().take(companies as usize).collect());
        }
        let ids: Vec<i64> = if companies == 1 { vec![MANY] } else { dataset::crowd().collect() };
        let mut universes = Vec::new();
        for company in ids {
            let universe = stage.database.universe(company).await?;
            universes.push(if contender.key == LIMIT { dataset::in_memory(&universe) } else { universe });
        }
        Ok(universes)
    }
}
