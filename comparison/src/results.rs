//! Results of a comparison, with the values of every round.

use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::{
    contender::Contender,
    dataset::Dataset,
    measure::Sample,
    statistics::{Summary, median, ratios},
};

/// All results of one build.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Results {
    pub(crate) machine: Machine,
    pub(crate) dataset: Dataset,
    pub(crate) rounds: u64,
    pub(crate) seconds: f64,
    pub(crate) minutes: f64,
    pub(crate) skipped: Vec<(String, String)>,
    pub(crate) point_reads: Vec<Series>,
    #[serde(default)]
    pub(crate) companies: Vec<CompanyLoad>,
    pub(crate) url_pages: Vec<Series>,
    #[serde(default)]
    pub(crate) first_pages: Vec<FirstPages>,
    pub(crate) pages: Vec<Pair>,
    pub(crate) totals: Vec<Pair>,
    pub(crate) listing: Option<Listing>,
    pub(crate) batch: Option<Batch>,
    #[serde(default)]
    pub(crate) demo_data: Option<DemoData>,
    pub(crate) goals: Vec<Goal>,
}

impl Results {
    pub(crate) fn new(machine: Machine, dataset: Dataset, rounds: u64, seconds: f64) -> Self {
        Self {
            machine,
            dataset,
            rounds,
            seconds,
            minutes: 0.0,
            skipped: Vec::new(),
            point_reads: Vec::new(),
            companies: Vec::new(),
            url_pages: Vec::new(),
            first_pages: Vec::new(),
            pages: Vec::new(),
            totals: Vec::new(),
            listing: None,
            batch: None,
            demo_data: None,
            goals: Vec::new(),
        }
    }

    /// The results of an earlier run.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} holds no results", file.display()))
    }

    /// One contender's point reads.
    pub(crate) fn point_read(&self, key: char, connections: u32) -> Option<&Series> {
        self.point_reads.iter().find(|series| series.key == key && series.connections == connections)
    }
}

/// The machine of the measurement.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) processor: String,
    pub(crate) postgres: String,
    /// Date and time, UTC.
    // The results of earlier versions call it so.
    #[serde(alias = "moment")]
    pub(crate) time: String,
}

impl Machine {
    pub(crate) fn this(postgres: &str) -> Self {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let now = time::OffsetDateTime::now_utc();
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: model.map_or("unknown processor", |(_, model)| model.trim()).to_owned(),
            postgres: postgres.to_owned(),
            time: format!("{} {:02}:{:02}", now.date(), now.hour(), now.minute()),
        }
    }
}

/// One contender at one number of connections.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) key: char,
    pub(crate) name: String,
    pub(crate) connections: u32,
    pub(crate) samples: Vec<Sample>,
}

impl Series {
    /// The series of a contender, which is added if it is missing.
    pub(crate) fn of<'v>(all: &'v mut Vec<Self>, contender: &Contender, connections: u32) -> &'v mut Self {
        let found = all.iter().position(|one| one.key == contender.key && one.connections == connections);
        let index = found.unwrap_or_else(|| {
            let (key, name) = (contender.key, contender.name.to_owned());
            all.push(Self { key, name, connections, samples: Vec::new() });
            all.len() - 1
        });
        &mut all[index]
    }

    /// One figure of each round.
    pub(crate) fn each(&self, figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples.iter().map(figure).collect()
    }

    /// Requests per second.
    pub(crate) fn rate(&self) -> Option<Summary> {
        Summary::of(&self.each(|sample| sample.rate))
    }

    /// The median of one figure.
    pub(crate) fn middle(&self, figure: impl Fn(&Sample) -> f64) -> f64 {
        median(&self.each(figure))
    }
}

/// One kind of work for one contender, by one company or by many.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CompanyLoad {
    pub(crate) work: String,
    pub(crate) key: char,
    pub(crate) companies: u32,
    pub(crate) samples: Vec<Sample>,
}

impl CompanyLoad {
    /// The load of a contender, which is added if it is missing.
    pub(crate) fn of<'v>(all: &'v mut Vec<Self>, work: &str, key: char, companies: u32) -> &'v mut Self {
        let found = all.iter().position(|one| one.is(work, key, companies));
        let index = found.unwrap_or_else(|| {
            all.push(Self { work: work.to_owned(), key, companies, samples: Vec::new() });
            all.len() - 1
        });
        &mut all[index]
    }

    pub(crate) fn is(&self, work: &str, key: char, companies: u32) -> bool {
        self.work == work && self.key == key && self.companies == companies
    }

    /// Requests per second of each round.
    pub(crate) fn rates(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.rate).collect()
    }
}

/// Two times that are compared, in milliseconds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Pair {
    pub(crate) what: String,
    /// The number of the late page, or of the counted records.
    pub(crate) number: u64,
    /// Whether a late page is found from counts, for which a bound is a goal.
    #[serde(default)]
    pub(crate) counted: bool,
    pub(crate) under: Vec<f64>,
    pub(crate) over: Vec<f64>,
}

impl Pair {
    pub(crate) fn new(what: String, number: u64) -> Self {
        Self { what, number, counted: false, under: Vec::new(), over: Vec::new() }
    }

    pub(crate) fn ratios(&self) -> Vec<f64> {
        ratios(&self.over, &self.under)
    }
}

/// Page 1 of one list of one company, in milliseconds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FirstPages {
    pub(crate) list: String,
    pub(crate) company: i64,
    pub(crate) records: u64,
    /// The plain page, once a round.
    pub(crate) plain: Vec<f64>,
    pub(crate) shapes: Vec<Shape>,
}

/// Page 1 with one combination of filters and sort, once a round.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub(crate) what: String,
    pub(crate) times: Vec<f64>,
}

impl FirstPages {
    /// The median ratio of each shape to the plain page, the highest first.
    pub(crate) fn ratios(&self) -> Vec<(&str, f64)> {
        let ratio = |shape: &Shape| median(&ratios(&shape.times, &self.plain));
        let mut all: Vec<_> = self.shapes.iter().map(|shape| (shape.what.as_str(), ratio(shape))).collect();
        all.sort_by(|one, other| other.1.total_cmp(&one.1));
        all
    }

    /// The highest ratio of each round.
    pub(crate) fn worst(&self) -> Vec<f64> {
        self.each_round(|ratios| ratios.iter().copied().max_by(f64::total_cmp).unwrap_or(f64::NAN))
    }

    /// The median ratio of each round.
    pub(crate) fn middle(&self) -> Vec<f64> {
        self.each_round(median)
    }

    fn each_round(&self, summary: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let in_round = |(round, plain): (usize, &f64)| {
            let times = self.shapes.iter().filter_map(|shape| shape.times.get(round));
            summary(&times.map(|time| time / plain).collect::<Vec<_>>())
        };
        self.plain.iter().enumerate().map(in_round).collect()
    }
}

/// Demo data in a new database, in seconds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct DemoData {
    pub(crate) urls: u64,
    pub(crate) alone: Vec<f64>,
    pub(crate) beside_service: Vec<f64>,
}

/// The whole list of affiliates: times in milliseconds, growth of peak memory in MiB.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Listing {
    pub(crate) affiliates: u64,
    pub(crate) one_first: Vec<f64>,
    pub(crate) one_time: Vec<f64>,
    pub(crate) one_growth: Vec<f64>,
    pub(crate) two_first: Vec<f64>,
    pub(crate) two_time: Vec<f64>,
    pub(crate) gateway_growth: Vec<f64>,
    pub(crate) core_growth: Vec<f64>,
    pub(crate) copy_time: Vec<f64>,
}

/// Batches, in affiliates per second.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Batch {
    pub(crate) size: u64,
    pub(crate) requests: Vec<f64>,
    pub(crate) copies: Vec<f64>,
}

/// One goal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Goal {
    pub(crate) work: String,
    /// Whether the bound is a lower one.
    pub(crate) at_least: bool,
    pub(crate) wanted: f64,
    pub(crate) unit: String,
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
