//! What a comparison gave, round by round.

use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::{contender::Contender, goals::Goal, measure::Sample};
use crate::{
    service::Dataset,
    statistics::{Summary, median, ratios},
};

/// All of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Results {
    pub(super) machine: Machine,
    pub(super) dataset: Dataset,
    pub(super) rounds: u64,
    pub(super) seconds: f64,
    pub(super) minutes: f64,
    pub(super) skipped: Vec<(String, String)>,
    pub(super) point_reads: Vec<Series>,
    pub(super) url_pages: Vec<Series>,
    pub(super) pages: Vec<Pair>,
    pub(super) totals: Vec<Pair>,
    pub(super) listing: Option<Listing>,
    pub(super) batch: Option<Batch>,
    pub(super) goals: Vec<Goal>,
}

impl Results {
    pub(super) fn new(machine: Machine, dataset: Dataset, rounds: u64, seconds: f64) -> Self {
        Self {
            machine,
            dataset,
            rounds,
            seconds,
            minutes: 0.0,
            skipped: Vec::new(),
            point_reads: Vec::new(),
            url_pages: Vec::new(),
            pages: Vec::new(),
            totals: Vec::new(),
            listing: None,
            batch: None,
            goals: Vec::new(),
        }
    }

    /// The results of an earlier run.
    pub(super) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} holds no results", file.display()))
    }

    /// One contender's point reads.
    pub(super) fn point_read(&self, key: char, connections: u32) -> Option<&Series> {
        self.point_reads.iter().find(|series| series.key == key && series.connections == connections)
    }
}

/// Where it was measured.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Machine {
    pub(super) cores: usize,
    pub(super) processor: String,
    pub(super) postgres: String,
    /// When, UTC.
    pub(super) moment: String,
}

impl Machine {
    pub(super) fn this(postgres: &str) -> Self {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let now = time::OffsetDateTime::now_utc();
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: model.map_or("unknown processor", |(_, model)| model.trim()).to_owned(),
            postgres: postgres.to_owned(),
            moment: format!("{} {:02}:{:02}", now.date(), now.hour(), now.minute()),
        }
    }
}

/// One contender at one number of connections.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Series {
    pub(super) key: char,
    pub(super) name: String,
    pub(super) connections: u32,
    pub(super) samples: Vec<Sample>,
}

impl Series {
    pub(super) fn new(contender: &Contender, connections: u32) -> Self {
        Self { key: contender.key, name: contender.name.to_owned(), connections, samples: Vec::new() }
    }

    /// One figure of each round.
    pub(super) fn each(&self, figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples.iter().map(figure).collect()
    }

    /// Requests a second.
    pub(super) fn rate(&self) -> Option<Summary> {
        Summary::of(&self.each(|sample| sample.rate))
    }

    /// The median of one figure.
    pub(super) fn middle(&self, figure: impl Fn(&Sample) -> f64) -> f64 {
        median(&self.each(figure))
    }
}

/// Two times that are set beside each other, in milliseconds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Pair {
    pub(super) what: String,
    /// The number of the late page, or of the records that are counted.
    pub(super) number: u64,
    pub(super) under: Vec<f64>,
    pub(super) over: Vec<f64>,
}

impl Pair {
    pub(super) fn new(what: String, number: u64) -> Self {
        Self { what, number, under: Vec::new(), over: Vec::new() }
    }

    pub(super) fn ratios(&self) -> Vec<f64> {
        ratios(&self.over, &self.under)
    }
}

/// The whole list of affiliates; times in milliseconds, growth of the peak of memory in MiB.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Listing {
    pub(super) affiliates: u64,
    pub(super) one_first: Vec<f64>,
    pub(super) one_time: Vec<f64>,
    pub(super) one_growth: Vec<f64>,
    pub(super) two_first: Vec<f64>,
    pub(super) two_time: Vec<f64>,
    pub(super) gateway_growth: Vec<f64>,
    pub(super) core_growth: Vec<f64>,
    pub(super) copy_time: Vec<f64>,
}

/// Batches, in affiliates a second.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Batch {
    pub(super) size: u64,
    pub(super) requests: Vec<f64>,
    pub(super) copies: Vec<f64>,
}
