//! The result of several runs, as text and JSON, compared with an earlier result.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use anyhow::{Context as _, ensure};
use load_test::measure::Measured;
use serde::{Deserialize, Serialize};

/// The assumed noise of a figure, as a fraction, if one of the results has a single run.
const ASSUMED_NOISE: f64 = 0.1;
/// The minimum noise, because a few runs may be equal by chance.
const LEAST_NOISE: f64 = 0.03;

const RATE: &str = "requests_per_second";
const P99: &str = "p99_ms";

/// The figures of a run, in the order in which they are printed.
const FIGURES: [&str; 6] = [RATE, "p50_ms", "p90_ms", P99, "p999_ms", "max_ms"];

/// From this fraction of a processor on, the single thread of the generator limits the rate.
const FULL: f64 = 0.9;

/// The figures of one run, by name.
type Figures = BTreeMap<String, f64>;

/// The result of several runs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunResult {
    /// Scenario, layer and connections.
    load: String,
    /// Seconds of all runs.
    seconds: f64,
    /// Requests of all runs.
    requests: u64,
    /// The fewest and the most requests of a company, with a connection for each company.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of_a_company: Option<[u64; 2]>,
    /// Maximum processor use of the generator in all runs, as a fraction of one processor.
    #[serde(default)]
    generator: f64,
    /// The medians of the runs.
    #[serde(flatten)]
    figures: Figures,
    runs: Vec<Figures>,
}

/// The figures of one run.
pub(crate) fn figures(measured: &Measured<f64>) -> Figures {
    let values = [
        measured.rate(),
        measured.milliseconds(0.5),
        measured.milliseconds(0.9),
        measured.milliseconds(0.99),
        measured.milliseconds(0.999),
        measured.milliseconds(1.0),
    ];
    FIGURES.map(str::to_owned).into_iter().zip(values).collect()
}

fn figure(figures: &Figures, name: &str) -> f64 {
    figures.get(name).copied().unwrap_or(f64::NAN)
}

/// The figure in all runs, ascending.
fn sorted(runs: &[Figures], name: &str) -> Vec<f64> {
    let mut values: Vec<f64> = runs.iter().map(|run| figure(run, name)).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// A figure compared with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Better,
    Noise,
    Worse,
}

impl RunResult {
    /// Makes the result of at least one run.
    pub(crate) fn new(load: String, measured: &[Measured<f64>], worker_per_company: bool) -> Self {
        let requests = measured.iter().map(|run| run.latencies.len()).sum();
        let seconds = measured.iter().map(|run| run.seconds).sum();
        let both = |one: [u64; 2], other: [u64; 2]| [one[0].min(other[0]), one[1].max(other[1])];
        let of_a_company = measured.iter().map(|run| run.of_a_worker).reduce(both).filter(|_| worker_per_company);
        let used = |run: &Measured<f64>| (run.meter[1] - run.meter[0]) / run.seconds;
        let generator = measured.iter().map(used).fold(0.0, f64::max);
        Self { of_a_company, generator, ..Self::of(load, seconds, requests, measured.iter().map(figures).collect()) }
    }

    fn of(load: String, seconds: f64, requests: u64, runs: Vec<Figures>) -> Self {
        let median = |name: &str| {
            let values = sorted(&runs, name);
            f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
        };
        let figures = FIGURES.into_iter().map(|name| (name.to_owned(), median(name))).collect();
        Self { load, seconds, requests, of_a_company: None, generator: 0.0, figures, runs }
    }

    /// Reads a result from a file. It must be of the same load.
    pub(crate) fn read(file: &Path, load: &str) -> anyhow::Result<Self> {
        let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let result: Self =
            serde_json::from_slice(&text).with_context(|| format!("{} is not a result", file.display()))?;
        ensure!(!result.runs.is_empty(), "{} is a result without runs", file.display());
        ensure!(result.load == load, "{} is of another load: {}; this one is {load}", file.display(), result.load);
        Ok(result)
    }

    pub(crate) fn write(&self, file: &Path) -> anyhow::Result<()> {
        std::fs::write(file, serde_json::to_string_pretty(self)? + "\n")
            .with_context(|| format!("cannot write {}", file.display()))
    }

    /// The spread of the runs, as a fraction of the median. `None` for a single run.
    fn spread(&self, name: &str) -> Option<f64> {
        let values = sorted(&self.runs, name);
        (values.len() > 1).then(|| (values[values.len() - 1] - values[0]) / figure(&self.figures, name))
    }

    /// Differences up to this fraction of a figure are noise: the larger spread of both results.
    fn noise(&self, baseline: &Self, name: &str) -> f64 {
        match (self.spread(name), baseline.spread(name)) {
            (Some(own), Some(other)) => own.max(other).max(LEAST_NOISE),
            (own, other) => own.or(other).unwrap_or(ASSUMED_NOISE).max(ASSUMED_NOISE),
        }
    }

    fn verdict(&self, baseline: &Self, name: &str) -> Verdict {
        let ratio = figure(&self.figures, name) / figure(&baseline.figures, name);
        let noise = self.noise(baseline, name);
        let (is_higher, is_lower) = (ratio > 1.0 + noise, ratio < 1.0 / (1.0 + noise));
        match (is_higher, is_lower, name == RATE) {
            (false, false, _) => Verdict::Noise,
            (true, _, true) | (_, true, false) => Verdict::Better,
            _ => Verdict::Worse,
        }
    }

    /// The result as text, compared with an earlier result.
    pub(crate) fn text(&self, baseline: Option<&Self>) -> String {
        let runs = self.runs.len();
        let mut text = format!("{}: {} requests in {:.1} s", self.load, self.requests, self.seconds);
        // Writing to a string does not fail.
        let _ = writeln!(text, " ({runs} {}), all correct", if runs == 1 { "run" } else { "runs" });
        if let Some([least, most]) = self.of_a_company {
            let _ = writeln!(text, "requests per company in a run: {least} to {most}");
        }
        for name in FIGURES {
            let (value, values) = (figure(&self.figures, name), sorted(&self.runs, name));
            let _ = write!(text, "{name:>20} {value:12.2}");
            if runs > 1 {
                let _ = write!(text, "   ({:.2} to {:.2})", values[0], values[runs - 1]);
            }
            if let Some(baseline) = baseline {
                let old = figure(&baseline.figures, name);
                let verdict = match self.verdict(baseline, name) {
                    Verdict::Better => "better",
                    Verdict::Noise => "within noise",
                    Verdict::Worse => "WORSE",
                };
                let noise = self.noise(baseline, name) * 100.0;
                let _ = write!(text, "   baseline {old:.2}, x {:.2}, {verdict} (noise {noise:.0} %)", value / old);
            }
            text.push('\n');
        }
        let _ = writeln!(text, "the generator used {:.0} % of a processor", self.generator * 100.0);
        if self.generator >= FULL {
            text += "THE GENERATOR WAS THE LIMIT, not the service: run several with fewer connections each, or use h2load\n";
        }
        text
    }

    /// Fails if the result is worse than an earlier result, beyond noise.
    pub(crate) fn check(&self, baseline: &Self) -> anyhow::Result<()> {
        let is_worse = |name| self.verdict(baseline, name) == Verdict::Worse;
        ensure!(!is_worse(RATE), "the rate is lower than in the baseline");
        ensure!(!is_worse(P99), "the p99 is higher than in the baseline");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{FIGURES, Figures, P99, RATE, RunResult, Verdict};

    fn result(rates: &[f64]) -> RunResult {
        let run = |rate: &f64| FIGURES.iter().map(|name| ((*name).to_owned(), *rate)).collect::<Figures>();
        RunResult::of("load".to_owned(), 1.0, 10, rates.iter().map(run).collect())
    }

    #[test]
    fn a_difference_counts_if_it_is_larger_than_those_of_equal_runs() {
        let (calm, noisy) = (result(&[100.0, 101.0, 99.0]), result(&[100.0, 120.0, 95.0]));
        for (rate, baseline, expected) in [
            (97.5, &calm, Verdict::Noise),
            (96.0, &calm, Verdict::Worse),
            (104.0, &calm, Verdict::Better),
            (85.0, &noisy, Verdict::Noise),
            (79.0, &noisy, Verdict::Worse),
            (126.0, &noisy, Verdict::Better),
        ] {
            let own = result(&[rate, rate, rate]);
            assert_eq!(own.verdict(baseline, RATE), expected, "{rate}");
            assert_eq!(own.check(baseline).is_err(), expected != Verdict::Noise, "{rate}");
        }
        // A latency is better if it is lower.
        assert_eq!(result(&[90.0, 90.0]).verdict(&calm, P99), Verdict::Better);
    }

    #[test]
    fn a_single_run_shows_no_noise() {
        let baseline = result(&[100.0]);
        assert!(result(&[91.5]).check(&baseline).is_ok() && result(&[90.0]).check(&baseline).is_err());
        assert!(result(&[91.5, 92.0]).check(&baseline).is_ok());
    }

    #[test]
    fn a_result_is_read_as_it_was_written_and_compared_with_its_own_load() {
        let file = std::env::temp_dir().join(format!("load-test-result-{}.json", std::process::id()));
        let written = result(&[3.0, 1.0, 2.0]);
        written.write(&file).unwrap();
        let read = RunResult::read(&file, "load").unwrap();
        assert_eq!((read.text(None), read.figures[RATE]), (written.text(None), 2.0));
        let error = RunResult::read(&file, "other").unwrap_err().to_string();
        std::fs::remove_file(&file).unwrap();
        assert!(error.contains("another load"), "{error}");
    }

    #[test]
    fn a_generator_that_was_the_limit_says_so() {
        let text = |generator| RunResult { generator, ..result(&[1.0]) }.text(None);
        assert!(
            text(0.97).contains("the generator used 97 % of a processor\nTHE GENERATOR WAS THE LIMIT"),
            "{}",
            text(0.97)
        );
        assert!(!text(0.5).contains("LIMIT"));
    }

    #[test]
    fn a_result_is_plain_text() {
        let text = result(&[3.0, 1.0]).text(Some(&result(&[2.0, 2.0])));
        assert!(text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "{text}");
        assert!(text.contains("(1.00 to 3.00)   baseline 2.00, x 1.00, within noise (noise 100 %)"), "{text}");
    }
}
