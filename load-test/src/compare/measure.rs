//! One contender under load for some seconds: a loop as lean as it can be, as it shares the machine.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::service::cpu_seconds;

/// How long a contender is under load before it counts.
const WARM_UP: Duration = Duration::from_millis(400);
/// How long the last answers may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Does the same thing again and again, and checks the answers.
pub(super) trait Worker: Send + 'static {
    fn once(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// What one measurement gave.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Sample {
    pub(super) requests: u64,
    /// Requests a second.
    pub(super) rate: f64,
    /// Milliseconds.
    pub(super) p50: f64,
    pub(super) p99: f64,
    /// CPU microseconds a request: of the contender's own processes, and of the database's.
    pub(super) own_cpu: f64,
    pub(super) database_cpu: f64,
}

impl Sample {
    /// CPU microseconds a request of all that serves.
    pub(super) fn cpu(&self) -> f64 {
        self.own_cpu + self.database_cpu
    }
}

/// Lets all workers work at once for so many seconds.
pub(super) async fn measure<W: Worker>(
    workers: Vec<W>,
    seconds: f64,
    own: &[i32],
    database: i32,
) -> anyhow::Result<Sample> {
    let begin = Instant::now() + WARM_UP;
    let end = begin + Duration::from_secs_f64(seconds);
    let tasks: Vec<_> = workers.into_iter().map(|worker| tokio::spawn(work(worker, begin, end))).collect();
    // None is left working when another fails.
    let _all = AbortAll(tasks.iter().map(tokio::task::JoinHandle::abort_handle).collect());
    tokio::time::sleep_until(begin.into()).await;
    let (own_before, database_before) = (cpu_seconds(own), cpu_seconds(&[database]));
    tokio::time::sleep_until(end.into()).await;
    let spent = begin.elapsed().as_secs_f64();
    let (own_after, database_after) = (cpu_seconds(own), cpu_seconds(&[database]));

    let mut histogram = histogram()?;
    for task in tasks {
        let done = tokio::time::timeout(PATIENCE, task).await.context("an answer does not come")???;
        histogram.add(done).context("the latencies cannot be added up")?;
    }
    let requests = histogram.len();
    ensure!(requests > 0, "nothing was answered in {seconds} s");
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
        // What is answered within the time counts, as the CPU time is that of the same span.
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
    async fn what_is_answered_is_counted() {
        let own = std::process::id() as i32;
        let sample = measure(vec![Nap(true), Nap(true)], 0.2, &[own], 0).await.unwrap();
        assert!(sample.requests > 0 && sample.p50 >= 2.0 && sample.p99 >= sample.p50);
    }

    #[tokio::test]
    async fn a_wrong_answer_fails_the_measurement() {
        assert!(measure(vec![Nap(true), Nap(false)], 0.1, &[], 0).await.is_err());
    }
}
