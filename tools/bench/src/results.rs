//! Stores a comparison's results, with the values from every round.

use serde::Serialize;

use crate::{contender::Contender, dataset::Dataset, measure::Sample, statistics::Summary};

/// One build's results.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: Machine,
    pub(crate) dataset: Dataset,
    pub(crate) rounds: u64,
    pub(crate) seconds: f64,
    pub(crate) minutes: f64,
    pub(crate) skipped: Vec<(String, String)>,
    pub(crate) loads: Vec<Series>,
    pub(crate) goals: Vec<Goal>,
}

impl Results {
    /// Returns the series of a contender's work. Adds the series if it is missing.
    pub(crate) fn series(
        &mut self,
        work: &str,
        contender: &Contender,
        companies: u32,
        connections: u32,
    ) -> &mut Series {
        let found = self.loads.iter().position(|one| one.is(work, contender.key, companies, connections));
        let index = found.unwrap_or_else(|| {
            let (work, key, name) = (work.to_owned(), contender.key, contender.name.to_owned());
            self.loads.push(Series { work, key, name, companies, connections, samples: Vec::new() });
            self.loads.len() - 1
        });
        &mut self.loads[index]
    }

    /// Returns the series of a contender's work, if it was measured.
    pub(crate) fn find(&self, work: &str, key: char, companies: u32, connections: u32) -> Option<&Series> {
        self.loads.iter().find(|one| one.is(work, key, companies, connections))
    }
}

/// The machine that ran the measurement.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) processor: String,
    pub(crate) postgres: String,
    /// The date and time, in UTC.
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

/// The samples of one contender's work, for a number of companies and connections.
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

    /// Returns one figure from each round.
    pub(crate) fn each(&self, figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples.iter().map(figure).collect()
    }
}

/// A minimum ratio.
#[derive(Debug, Serialize)]
pub(crate) struct Goal {
    pub(crate) work: String,
    pub(crate) wanted: f64,
    pub(crate) summary: Summary,
}

impl Goal {
    pub(crate) fn is_met(&self) -> bool {
        self.summary.median >= self.wanted
    }
}
