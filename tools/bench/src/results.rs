//! Results of a comparison, with the values of every round.

use serde::Serialize;

use crate::{
    dataset::Dataset,
    measure::Sample,
    statistics::{Summary, median, ratios},
    tables::Table,
};

/// All results of one build.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: Machine,
    pub(crate) dataset: Dataset,
    pub(crate) rounds: u64,
    pub(crate) seconds: f64,
    pub(crate) minutes: f64,
    pub(crate) skipped: Vec<(String, String)>,
    pub(crate) loads: Vec<Series>,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) goals: Vec<Goal>,
}

impl Results {
    /// The series of a contender's work, which is added if it is missing.
    pub(crate) fn series(
        &mut self,
        work: &str,
        contender: (char, &str),
        companies: u32,
        connections: u32,
    ) -> &mut Series {
        let found = self.loads.iter().position(|one| one.is(work, contender.0, companies, connections));
        let index = found.unwrap_or_else(|| {
            let (work, (key, name)) = (work.to_owned(), (contender.0, contender.1.to_owned()));
            self.loads.push(Series { work, key, name, companies, connections, samples: Vec::new() });
            self.loads.len() - 1
        });
        &mut self.loads[index]
    }

    /// The series of a contender's work, if it was measured.
    pub(crate) fn find(&self, work: &str, key: char, companies: u32, connections: u32) -> Option<&Series> {
        self.loads.iter().find(|one| one.is(work, key, companies, connections))
    }

    /// Adds the values of one round to a row of a table, with or without a value to compare.
    pub(crate) fn add(&mut self, table: Table, what: &str, number: u64, under: Option<f64>, over: f64) {
        let found =
            self.pairs.iter().position(|pair| (pair.table, pair.number, pair.what.as_str()) == (table, number, what));
        let index = found.unwrap_or_else(|| {
            self.pairs.push(Pair { table, what: what.to_owned(), number, under: Vec::new(), over: Vec::new() });
            self.pairs.len() - 1
        });
        self.pairs[index].under.extend(under);
        self.pairs[index].over.push(over);
    }

    /// The groups of rows of a table, each with the worst row first: all rows, or those of each list if the table shows only the
    /// worst of each.
    pub(crate) fn groups(&self, table: Table) -> Vec<Vec<&Pair>> {
        let mut groups: Vec<Vec<&Pair>> = Vec::new();
        for pair in self.pairs.iter().filter(|pair| pair.table == table) {
            match groups.iter_mut().find(|group| table.shown().is_none() || group[0].list() == pair.list()) {
                Some(group) => group.push(pair),
                None => groups.push(vec![pair]),
            }
        }
        for group in &mut groups {
            group.sort_by(|one, other| median(&other.ratios()).total_cmp(&median(&one.ratios())));
        }
        groups
    }
}

/// The machine of the measurement.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) processor: String,
    pub(crate) postgres: String,
    /// Date and time, UTC.
    pub(crate) time: String,
}

impl Machine {
    pub(crate) fn this(postgres: &str) -> Self {
        let processors = <procfs::CpuInfo as procfs::Current>::current().ok();
        let model = processors.as_ref().and_then(|all| all.model_name(0)).unwrap_or("unknown processor").to_owned();
        let now = time::OffsetDateTime::now_utc();
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: model,
            postgres: postgres.to_owned(),
            time: format!("{} {:02}:{:02}", now.date(), now.hour(), now.minute()),
        }
    }
}

/// Some work by one contender, for a number of companies over a number of connections.
#[derive(Debug, Serialize)]
pub(crate) struct Series {
    pub(crate) work: String,
    pub(crate) key: char,
    pub(crate) name: String,
    pub(crate) companies: u32,
    pub(crate) connections: u32,
    pub(crate) samples: Vec<Sample>,
}

impl Series {
    fn is(&self, work: &str, key: char, companies: u32, connections: u32) -> bool {
        (self.work.as_str(), self.key, self.companies, self.connections) == (work, key, companies, connections)
    }

    /// One figure of each round.
    pub(crate) fn each(&self, figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples.iter().map(figure).collect()
    }
}

/// A row of a table: two values that are compared in each round, or one (`over`) that stands alone. Lower ones are better.
#[derive(Debug, Serialize)]
pub(crate) struct Pair {
    pub(crate) table: Table,
    pub(crate) what: String,
    /// Records, the page or connections: see the table.
    pub(crate) number: u64,
    pub(crate) under: Vec<f64>,
    pub(crate) over: Vec<f64>,
}

impl Pair {
    /// The ratio of each round, or the single value.
    pub(crate) fn ratios(&self) -> Vec<f64> {
        if self.under.is_empty() { self.over.clone() } else { ratios(&self.over, &self.under) }
    }

    /// The path of a list, with its number of records.
    fn list(&self) -> (&str, u64) {
        (self.what.split('?').next().unwrap_or_default(), self.number)
    }
}

/// One goal.
#[derive(Debug, Serialize)]
pub(crate) struct Goal {
    pub(crate) work: String,
    /// Whether the bound is a lower one.
    pub(crate) at_least: bool,
    pub(crate) wanted: f64,
    pub(crate) unit: &'static str,
    pub(crate) summary: Summary,
}

impl Goal {
    pub(crate) fn is_met(&self) -> bool {
        if self.at_least { self.summary.median >= self.wanted } else { self.summary.median <= self.wanted }
    }

    /// The goal in words.
    pub(crate) fn words(&self) -> String {
        let sign = if self.at_least { '≥' } else { '≤' };
        format!("{sign} {}{}", self.wanted, self.unit)
    }
}
