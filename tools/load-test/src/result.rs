//! The result of a run, for people and as JSON, next to that of an earlier run.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context as _, ensure};
use load_test::measure::Measured;
use serde::{Deserialize, Serialize};

/// A lower rate, or a higher latency, than that of the baseline by this factor counts as worse. Less is noise.
const NOISE: f64 = 1.1;

/// The figures of a result, in the order in which they are printed.
const FIGURES: [&str; 6] = ["requests_per_second", "p50_ms", "p90_ms", "p99_ms", "p999_ms", "max_ms"];

/// The result of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunResult {
    /// Layer, scenario and connections.
    load: String,
    seconds: f64,
    requests: u64,
    #[serde(flatten)]
    figures: BTreeMap<String, f64>,
}

impl RunResult {
    pub(crate) fn new(load: String, measured: &Measured<()>) -> Self {
        let values = [
            measured.rate(),
            measured.milliseconds(0.5),
            measured.milliseconds(0.9),
            measured.milliseconds(0.99),
            measured.milliseconds(0.999),
            measured.milliseconds(1.0),
        ];
        let figures = FIGURES.map(str::to_owned).into_iter().zip(values).collect();
        Self { load, seconds: measured.seconds, requests: measured.latencies.len(), figures }
    }

    fn figure(&self, name: &str) -> f64 {
        self.figures.get(name).copied().unwrap_or(f64::NAN)
    }

    /// The result in a file.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} holds no result", file.display()))
    }

    pub(crate) fn write(&self, file: &Path) -> anyhow::Result<()> {
        std::fs::write(file, serde_json::to_string_pretty(self)?)
            .with_context(|| format!("cannot write {}", file.display()))
    }

    /// Prints the result, next to that of an earlier run.
    pub(crate) fn print(&self, baseline: Option<&Self>) {
        println!("{}: {} requests in {:.1} s, all of them right", self.load, self.requests, self.seconds);
        for name in FIGURES {
            let value = self.figure(name);
            match baseline.map(|earlier| earlier.figure(name)) {
                Some(old) => println!("{name:>20} {value:12.2}   baseline {old:12.2}   × {:.2}", value / old),
                None => println!("{name:>20} {value:12.2}"),
            }
        }
    }

    /// Fails if the result is worse than an earlier one.
    pub(crate) fn check(&self, baseline: &Self) -> anyhow::Result<()> {
        let (rate, p99) = ("requests_per_second", "p99_ms");
        let is_slower = self.figure(rate) * NOISE < baseline.figure(rate);
        ensure!(!is_slower, "the rate is lower than that of the baseline");
        ensure!(self.figure(p99) <= baseline.figure(p99) * NOISE, "the p99 is higher than that of the baseline");
        Ok(())
    }
}
