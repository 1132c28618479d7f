//! One contender under load for some seconds. The loop is lean, since it shares the machine with the contender.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::cpu::cpu_seconds;

/// Load before the measurement.
const WARM_UP: Duration = Duration::from_millis(400);
/// Bound of the last responses.
const LAST_RESPONSES: Duration = Duration::from_secs(20);

/// Sends the same kind of request repeatedly and checks the responses.
pub(crate) trait Worker: Send + 'static {
    fn once(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// The result of one measurement.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) requests: u64,
    /// Requests per second.
    pub(crate) rate: f64,
    /// Milliseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// CPU microseconds per request of the contender's own processes, and of the database's.
    pub(crate) own_cpu: f64,
    pub(crate) database_cpu: f64,
}

impl Sample {
    /// CPU microseconds per request of all serving processes.
    pub(crate) fn cpu(&self) -> f64 {
        self.own_cpu + self.database_cpu
    }
}

/// Runs all workers at once for some seconds.
pub(crate) async fn measure<W: Worker>(
    workers: Vec<W>,
    seconds: f64,
    own: &[i32],
    database: i32,
) -> anyhow::Result<Sample> {
    let begin = Instant::now() + WARM_UP;
    let end = begin + Duration::from_secs_f64(seconds);
    let tasks: Vec<_> = workers.into_iter().map(|worker| tokio::spawn(work(worker, begin, end))).collect();
    // No worker goes on when another fails.
    let _all = AbortAll(tasks.iter().map(tokio::task::JoinHandle::abort_handle).collect());
    tokio::time::sleep_until(begin.into()).await;
    let (own_before, database_before) = (cpu_seconds(own), cpu_seconds(&[database]));
    tokio::time::sleep_until(end.into()).await;
    let spent = begin.elapsed().as_secs_f64();
    let (own_after, database_after) = (cpu_seconds(own), cpu_seconds(&[database]));

    let mut histogram = histogram()?;
    for task in tasks {
        let done = tokio::time::timeout(LAST_RESPONSES, task).await.context("a response does not arrive")???;
        histogram.add(done).context("the latencies cannot be added up")?;
    }
    let requests = histogram.len();
    ensure!(requests > 0, "no response arrived in {seconds} s");
    let milliseconds = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e6;
    let per_request = |seconds: f64| seconds * 1e6 / requests as f64;
    Ok(Sample {
        requests,
        rate: requests as f64 / spent,
        p50: milliseconds(0.5),
        p99: milliseconds(0.99),
        own_cpu: per_request(own_after - own_before),
        database_cpu: per_request(database_after - database_before),
    })
}

async fn work<W: Worker>(mut worker: W, begin: Instant, end: Instant) -> anyhow::Result<Histogram<u64>> {
    let mut histogram = histogram()?;
    loop {
        let start = Instant::now();
        if start >= end {
            return Ok(histogram);
        }
        worker.once().await?;
        let now = Instant::now();
        // Only responses within the period count, since the CPU time is that of the same period.
        if now >= begin && now <= end {
            histogram.saturating_record((now - start).as_nanos() as u64);
        }
    }
}

/// Nanoseconds, up to a minute, to three digits.
fn histogram() -> anyhow::Result<Histogram<u64>> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).context("the latencies cannot be counted")
}

struct AbortAll(Arc<[tokio::task::AbortHandle]>);

impl Drop for AbortAll {
    fn drop(&mut self) {
        self.0.iter().for_each(tokio::task::AbortHandle::abort);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Worker, measure};

    struct Nap(bool);

    impl Worker for Nap {
        async fn once(&mut self) -> anyhow::Result<()> {
            tokio::time::sleep(Duration::from_millis(2)).await;
            anyhow::ensure!(self.0, "no nap");
            Ok(())
        }
    }

    #[tokio::test]
    async fn responses_are_counted() {
        let own = std::process::id() as i32;
        let sample = measure(vec![Nap(true), Nap(true)], 1.0, &[own], 0).await.unwrap();
        assert!(sample.requests > 0 && sample.p50 >= 2.0 && sample.p99 >= sample.p50);
    }

    #[tokio::test]
    async fn a_wrong_response_fails_the_measurement() {
        assert!(measure(vec![Nap(true), Nap(false)], 1.0, &[], 0).await.is_err());
    }
}
