//! The command line.

use std::path::PathBuf;

use clap::Args;

use crate::{
    dataset::Dataset,
    work::{self, Work},
};

/// Settings of the measurement.
#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// Number of rounds. The median counts.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    rounds: u64,
    /// Seconds of load for each contender in each round.
    #[arg(long, default_value_t = 3, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Number of affiliates. Half of them belong to the measured company.
    #[arg(long, default_value_t = 1_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(2_000..))]
    affiliates: u64,
    /// Number of URLs. Half of them belong to the measured company.
    #[arg(long, default_value_t = 2_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(2_000..))]
    urls: u64,
    /// Number of cases. Half of them belong to the measured company.
    #[arg(long, default_value_t = 500_000, value_name = "N", value_parser = clap::value_parser!(u64).range(2_000..))]
    cases: u64,
    /// Seed of the demo records.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(0..1 << 20))]
    seed: u64,
    /// Measure only work whose name contains one of these texts.
    #[arg(long, value_delimiter = ',', value_name = "TEXT,…")]
    only: Vec<String>,
    /// Check that everything works: one round of a second with few records. Its figures are meaningless.
    #[arg(long)]
    quick: bool,
    /// Folder for the databases, to use them again [default: a temporary folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Folder for peers from package indexes.
    #[arg(long, value_name = "DIR")]
    pub(crate) peers_dir: Option<PathBuf>,
    /// Folder for the report [default: docs/, or target/bench/ for a quick or partial run].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The program `compliance` to measure [default: the current build, next to this program].
    #[arg(long, value_name = "PATH")]
    pub(crate) ours: Option<PathBuf>,
    /// The program `compliance` of an earlier build, to measure in the same run over its own database.
    #[arg(long, value_name = "PATH")]
    pub(crate) before_build: Option<PathBuf>,
}

/// Rounds, and seconds of load in each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) rounds: u64,
    pub(crate) seconds: f64,
}

impl CompareArgs {
    /// The work to measure.
    pub(crate) fn work(&self) -> impl Iterator<Item = Work> {
        let is_wanted = |name: &str| self.only.is_empty() || self.only.iter().any(|text| name.contains(text));
        work::ALL.into_iter().filter(move |work| is_wanted(work.name))
    }

    pub(crate) fn effort(&self) -> Effort {
        if self.quick {
            Effort { rounds: 1, seconds: 1.0 }
        } else {
            Effort { rounds: self.rounds, seconds: self.seconds as f64 }
        }
    }

    pub(crate) fn dataset(&self) -> Dataset {
        let Self { seed, affiliates, urls, cases, .. } = *self;
        if self.quick {
            return Dataset { affiliates: 20_000, urls: 40_000, cases: 8_000, seed };
        }
        Dataset { affiliates, urls, cases, seed }
    }

    /// The folder for the report.
    pub(crate) fn out(&self) -> PathBuf {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let whole = !self.quick && self.only.is_empty();
        self.out.clone().unwrap_or_else(|| root.join(if whole { "docs" } else { "target/bench" }))
    }
}
