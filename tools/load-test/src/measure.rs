//! Measures the latencies of workers for some seconds. The loop is lean, since it shares the machine with the service.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use hdrhistogram::Histogram;
use tokio::{
    task::JoinSet,
    time::{Instant, Interval, interval_at, sleep_until, timeout},
};

/// Load before the measurement.
const WARM_UP: Duration = Duration::from_millis(400);
/// Bound of the last responses after the end.
const LAST_RESPONSES: Duration = Duration::from_mins(1);

/// Makes requests one by one, and checks the responses.
pub trait Worker: Send + 'static {
    /// Makes the next request.
    fn once(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// The responses of all workers within a period, with the readings of a meter.
#[derive(Debug)]
pub struct Measured<M> {
    /// In nanoseconds.
    pub latencies: Histogram<u64>,
    /// The fewest and the most requests of a worker.
    pub of_a_worker: [u64; 2],
    /// Duration of the period.
    pub seconds: f64,
    /// The readings of the meter at the start and the end.
    pub meter: [M; 2],
}

impl<M> Measured<M> {
    /// Requests a second.
    pub fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.seconds
    }

    /// Latency at this quantile, in milliseconds.
    pub fn milliseconds(&self, quantile: f64) -> f64 {
        self.latencies.value_at_quantile(quantile) as f64 / 1e6
    }
}

/// Runs all workers for some seconds, with at most `rate` requests a second. The first wrong response ends it.
///
/// With a rate, a latency counts from the time at which the request is due. So a service that falls behind looks slow.
pub async fn measure<W: Worker, M>(
    workers: Vec<W>,
    seconds: f64,
    rate: Option<f64>,
    meter: impl Fn() -> M,
) -> anyhow::Result<Measured<M>> {
    measure_after(WARM_UP, workers, seconds, rate, meter).await
}

/// Does the same as [`measure`], after a warm-up that does not count.
pub async fn measure_after<W: Worker, M>(
    warm_up: Duration,
    workers: Vec<W>,
    seconds: f64,
    rate: Option<f64>,
    meter: impl Fn() -> M,
) -> anyhow::Result<Measured<M>> {
    let start = Instant::now();
    let (begin, count) = (start + warm_up, workers.len() as f64);
    let end = begin + Duration::from_secs_f64(seconds);
    let mut tasks = JoinSet::new();
    for (number, worker) in workers.into_iter().enumerate() {
        let due = rate.map(|rate| {
            interval_at(start + Duration::from_secs_f64(number as f64 / rate), Duration::from_secs_f64(count / rate))
        });
        tasks.spawn(work(worker, due, begin, end));
    }
    let metered = async {
        sleep_until(begin).await;
        let before = meter();
        sleep_until(end).await;
        (before, begin.elapsed().as_secs_f64(), meter())
    };
    let working = async {
        let (mut latencies, mut of_a_worker) = (histogram()?, [u64::MAX, 0]);
        while let Some(done) = tasks.join_next().await {
            let own = done??;
            of_a_worker = [of_a_worker[0].min(own.len()), of_a_worker[1].max(own.len())];
            latencies.add(own).context("cannot add up the latencies")?;
        }
        Ok::<_, anyhow::Error>((latencies, of_a_worker))
    };
    let working = timeout(warm_up + Duration::from_secs_f64(seconds) + LAST_RESPONSES, working);
    let working = async { working.await.context("a response did not arrive")? };
    let ((before, seconds, after), (latencies, of_a_worker)) = tokio::try_join!(async { Ok(metered.await) }, working)?;
    ensure!(!latencies.is_empty(), "no response arrived in {seconds:.0} s");
    Ok(Measured { latencies, of_a_worker, seconds, meter: [before, after] })
}

async fn work<W: Worker>(
    mut worker: W,
    mut due: Option<Interval>,
    begin: Instant,
    end: Instant,
) -> anyhow::Result<Histogram<u64>> {
    let mut latencies = histogram()?;
    loop {
        let start = match &mut due {
            Some(due) => due.tick().await,
            None => Instant::now(),
        };
        if start >= end {
            return Ok(latencies);
        }
        worker.once().await?;
        let now = Instant::now();
        // Only responses within the period count, as for the meter.
        if now >= begin && now <= end {
            latencies.saturating_record((now - start).as_nanos() as u64);
        }
    }
}

/// Nanoseconds, up to a minute, to three digits.
fn histogram() -> anyhow::Result<Histogram<u64>> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).context("cannot count the latencies")
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicU64, Ordering},
        },
        time::Duration,
    };

    use super::{Worker, measure, measure_after};

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
        for rate in [None, Some(100.0)] {
            let measured = measure(vec![Nap(true), Nap(true)], 1.0, rate, || 7).await.unwrap();
            let requests = measured.latencies.len();
            assert!(requests > 0 && rate.is_none_or(|rate| requests as f64 <= rate + 2.0), "{requests}");
            assert!(measured.milliseconds(0.5) >= 2.0 && measured.milliseconds(0.99) >= measured.milliseconds(0.5));
            assert_eq!(measured.meter, [7, 7]);
        }
    }

    #[tokio::test]
    async fn requests_of_the_warm_up_do_not_count() {
        struct Counting(Arc<AtomicU64>);
        impl Worker for Counting {
            async fn once(&mut self) -> anyhow::Result<()> {
                tokio::time::sleep(Duration::from_millis(2)).await;
                self.0.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        }
        let all = Arc::new(AtomicU64::new(0));
        let (worker, read) = (Counting(Arc::clone(&all)), Arc::clone(&all));
        let meter = move || read.load(Ordering::Relaxed);
        let measured = measure_after(Duration::from_millis(200), vec![worker], 0.5, None, meter).await.unwrap();
        let [before, _] = measured.meter;
        let (all, counted) = (all.load(Ordering::Relaxed), measured.latencies.len());
        assert!(before > 0 && counted + before <= all + 1, "{before} before, {counted} counted, {all} in all");
    }

    #[tokio::test]
    async fn a_wrong_response_ends_the_measurement() {
        assert!(measure(vec![Nap(true), Nap(false)], 1.0, None, || ()).await.is_err());
    }
}
