//! Metrics in the text format of Prometheus.
//!
//! Crates record with the macros of `metrics`, or with [`Durations`]. States, such as the length of a queue, are read when metrics are
//! rendered ([`on_render`]).

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, OnceLock},
    time::Duration,
};

use ::metrics::{Gauge, Histogram, Label, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector;
use parking_lot::{Mutex, RwLock};

use crate::background::Task;

/// Upper bounds of buckets for durations, in seconds.
const SECONDS: [f64; 16] =
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];
/// Upper bound of buckets for durations of each company, in seconds: one, since there are many companies.
const SECONDS_OF_COMPANIES: [f64; 1] = [1.0];
/// Upper bounds of buckets for numbers of items.
const ITEMS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
/// How often recorded values are added to their buckets, even if nobody reads metrics.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();

/// Sets a gauge. Returns false if its source is gone.
type Reading = Box<dyn Fn() -> bool + Send>;
static READINGS: Mutex<Vec<Reading>> = Mutex::new(Vec::new());

/// Starts recording, once per process, before any metric is created.
pub fn install(version: &'static str, commit: &'static str, instance: &str) -> Result<(), BuildError> {
    use metrics_exporter_prometheus::Matcher::{Prefix, Suffix};
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Suffix("_seconds".to_owned()), &SECONDS)?
        .set_buckets_for_metric(Suffix("_items".to_owned()), &ITEMS)?
        .set_buckets_for_metric(Prefix("compliance_company_".to_owned()), &SECONDS_OF_COMPANIES)?
        .install_recorder()?;
    let _ = RECORDER.set(handle);
    Collector::default().describe();
    describe_gauge!(
        "compliance_build_info",
        "The version, the commit and the instance of the program; its value is always 1."
    );
    gauge!("compliance_build_info", "version" => version, "commit" => commit, "instance_id" => instance.to_owned())
        .set(1.0);
    Ok(())
}

/// Returns whether metrics are recorded.
pub fn is_installed() -> bool {
    RECORDER.get().is_some()
}

/// Returns all metrics in the text format of Prometheus. Empty before [`install`].
pub fn render() -> String {
    let Some(recorder) = RECORDER.get() else { return String::new() };
    Collector::default().collect();
    READINGS.lock().retain(|reading| reading());
    recorder.render()
}

/// Adds recorded values to their buckets at intervals.
///
/// Otherwise, values would accumulate between two renderings.
pub async fn upkeep(task: Arc<Task>) {
    while let Some(recorder) = RECORDER.get() {
        tokio::time::sleep(UPKEEP_INTERVAL).await;
        recorder.run_upkeep();
        task.succeeded();
    }
}

/// Sets a gauge when metrics are rendered, until `read` returns `None`.
pub fn on_render(gauge: Gauge, read: impl Fn() -> Option<f64> + Send + 'static) {
    if !is_installed() {
        return;
    }
    let reading = move || read().map(|value| gauge.set(value)).is_some();
    READINGS.lock().push(Box::new(reading));
}

/// Counts an event with one constant label.
pub fn count(name: &'static str, label: &'static str, value: &'static str) {
    if is_installed() {
        counter!(name, label => value).increment(1);
    }
}

/// Describes a counter of [`count`]. It begins with 0 for each of these values.
pub fn describe(name: &'static str, description: &'static str, label: &'static str, values: &[&'static str]) {
    describe_counter!(name, description);
    for value in values {
        counter!(name, label => *value).increment(0);
    }
}

/// Histograms of durations with one name, one for each combination of labels.
#[derive(Debug)]
pub struct Durations<K> {
    name: &'static str,
    labels: fn(&K) -> Vec<Label>,
    histograms: RwLock<HashMap<K, Histogram>>,
}

impl<K: Eq + Hash + Copy> Durations<K> {
    /// Creates histograms. `name` must end in `_seconds`. Labels must have few values, which no caller chooses.
    pub fn new(name: &'static str, description: &'static str, labels: fn(&K) -> Vec<Label>) -> Self {
        describe_histogram!(name, Unit::Seconds, description);
        Self { name, labels, histograms: RwLock::default() }
    }

    /// Records a duration.
    pub fn record(&self, key: K, duration: Duration) {
        if !is_installed() {
            return;
        }
        let histograms = self.histograms.read();
        if let Some(histogram) = histograms.get(&key) {
            histogram.record(duration);
            return;
        }
        drop(histograms);
        let mut histograms = self.histograms.write();
        let histogram = histograms.entry(key).or_insert_with(|| ::metrics::histogram!(self.name, (self.labels)(&key)));
        histogram.record(duration);
    }
}
