//! Measures rate, latency and CPU time.

use std::time::Duration;

use load_test::measure::{Worker, measure};
use serde::Serialize;

use crate::cpu::cpu_seconds;

/// Duration of the load before a measurement.
const WARM_UP: Duration = Duration::from_millis(400);

/// The result of one measurement.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sample {
    /// Requests per second.
    pub(crate) rate: f64,
    /// Latencies, in milliseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// CPU time per request of the contender's processes and of the database's, in microseconds.
    pub(crate) own_cpu: f64,
    pub(crate) database_cpu: f64,
}

impl Sample {
    /// Returns the CPU time per request of all serving processes, in microseconds.
    pub(crate) fn cpu(&self) -> f64 {
        self.own_cpu + self.database_cpu
    }

    /// Runs all workers concurrently for `seconds`. Fails if a response was wrong.
    pub(crate) async fn of<W: Worker>(
        workers: Vec<W>,
        seconds: f64,
        own: &[i32],
        database: i32,
    ) -> anyhow::Result<Self> {
        let meter = || (cpu_seconds(own), cpu_seconds(&[database]));
        let measured = measure(WARM_UP, workers, seconds, None, meter).await?;
        measured.check()?;
        let [before, after] = measured.meter;
        let per_request = |seconds: f64| seconds * 1e6 / measured.latencies.len() as f64;
        Ok(Self {
            rate: measured.rate(),
            p50: measured.milliseconds(0.5),
            p99: measured.milliseconds(0.99),
            own_cpu: per_request(after.0 - before.0),
            database_cpu: per_request(after.1 - before.1),
        })
    }
}
