//! Metrics in the Prometheus text format.
//!
//! Crates record with the `metrics` macros or with [`Durations`]. Current values, such as a queue length, are read when metrics
//! are rendered ([`on_render`]).

use std::{sync::Arc, time::Duration};

use ::metrics::{Gauge, counter, describe_counter, describe_gauge, gauge};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder};
use metrics_process::Collector;
use parking_lot::Mutex;

pub use crate::record::{Durations, count, is_installed};
use crate::{background::Task, record::RECORDER};

/// Upper bounds of duration buckets, in seconds.
const SECONDS: [f64; 16] =
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];
/// Upper bound of per-company duration buckets, in seconds. There is only one bucket, because there are many companies.
const SECONDS_OF_COMPANIES: [f64; 1] = [1.0];
/// Upper bounds of item count buckets.
const ITEMS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
/// How often recorded values move to their buckets, even if nothing scrapes the metrics.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Sets a gauge. Returns false if its source is gone.
type Reading = Box<dyn Fn() -> bool + Send>;
static READINGS: Mutex<Vec<Reading>> = Mutex::new(Vec::new());

/// Starts recording. Call it once per process, before creating any metric.
pub fn install(version: &'static str, commit: &'static str, instance: &str) -> Result<(), BuildError> {
    use metrics_exporter_prometheus::Matcher::{Prefix, Suffix};
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Suffix("_seconds".to_owned()), &SECONDS)?
        .set_buckets_for_metric(Suffix("_items".to_owned()), &ITEMS)?
        .set_buckets_for_metric(Prefix("compliance_company_".to_owned()), &SECONDS_OF_COMPANIES)?
        .install_recorder()?;
    let _ = RECORDER.set(handle);
    Collector::default().describe();
    describe_gauge!("compliance_build_info", "Version, commit and instance of the program. The value is always 1.");
    gauge!("compliance_build_info", "version" => version, "commit" => commit, "instance_id" => instance.to_owned())
        .set(1.0);
    Ok(())
}

/// Returns all metrics in the Prometheus text format. Empty before [`install`].
pub fn render() -> String {
    let Some(recorder) = RECORDER.get() else { return String::new() };
    Collector::default().collect();
    READINGS.lock().retain(|reading| reading());
    recorder.render()
}

/// Moves recorded values to their buckets at intervals. Otherwise, values would accumulate between scrapes.
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

/// Describes a [`count`] counter, and starts it at 0 for each of these values.
pub fn describe(name: &'static str, description: &'static str, label: &'static str, values: &[&'static str]) {
    describe_counter!(name, description);
    for value in values {
        counter!(name, label => *value).increment(0);
    }
}
