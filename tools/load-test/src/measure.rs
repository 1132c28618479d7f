//! Measures worker latencies. The loop is lean, because it shares the machine with the service.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, bail, ensure};
use hdrhistogram::Histogram;
use tokio::{
    task::JoinSet,
    time::{Instant, Interval, interval_at, sleep_until, timeout},
};

/// Maximum wait for the last responses after the end.
const LAST_RESPONSES: Duration = Duration::from_mins(1);
/// A worker's pause after an error, to avoid flooding a failed service.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of distinct error messages to keep.
const MESSAGES: usize = 20;
/// Counts errors beyond [`MESSAGES`].
const OTHERS: &str = "other errors";

/// Sends requests one by one, and checks the responses.
pub trait Worker: Send + 'static {
    /// Sends the next request.
    fn once(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// The responses to all workers within a period, and the readings of a meter.
#[derive(Debug)]
pub struct Measured<M> {
    /// Latencies of correct responses, in nanoseconds.
    pub latencies: Histogram<u64>,
    /// Number of errors by message, including errors before the period.
    pub errors: BTreeMap<String, u64>,
    /// Duration of the period, in seconds.
    pub seconds: f64,
    /// The meter's readings at the start and at the end.
    pub meter: [M; 2],
}

impl<M> Measured<M> {
    /// Returns the number of correct responses per second.
    pub fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.seconds
    }

    /// Returns the latency at this quantile, in milliseconds.
    pub fn milliseconds(&self, quantile: f64) -> f64 {
        self.latencies.value_at_quantile(quantile) as f64 / 1e6
    }

    /// Fails if an error occurred, or if there was no response.
    pub fn check(&self) -> anyhow::Result<()> {
        if let Some((message, _)) = self.errors.first_key_value() {
            bail!("{} errors, such as: {message}", self.errors.values().sum::<u64>());
        }
        ensure!(!self.latencies.is_empty(), "no response arrived in {:.0} s", self.seconds);
        Ok(())
    }
}

/// Runs all workers for `seconds` after a warm-up, with at most `rate` requests per second.
///
/// With a rate, latency is measured from the time a request is due, so a service that falls behind looks slow.
pub async fn measure<W: Worker, M>(
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
        let (mut latencies, mut errors) = (histogram()?, BTreeMap::new());
        while let Some(done) = tasks.join_next().await {
            let (own, failed) = done??;
            latencies.add(own).context("cannot add up the latencies")?;
            for (message, number) in failed {
                tally(&mut errors, message, number);
            }
        }
        anyhow::Ok((latencies, errors))
    };
    let working = timeout(warm_up + Duration::from_secs_f64(seconds) + LAST_RESPONSES, working);
    let working = async { working.await.context("a response did not arrive")? };
    let ((before, seconds, after), (latencies, errors)) = tokio::try_join!(async { Ok(metered.await) }, working)?;
    Ok(Measured { latencies, errors, seconds, meter: [before, after] })
}

type Outcome = (Histogram<u64>, BTreeMap<String, u64>);

async fn work<W: Worker>(
    mut worker: W,
    mut due: Option<Interval>,
    begin: Instant,
    end: Instant,
) -> anyhow::Result<Outcome> {
    let (mut latencies, mut errors) = (histogram()?, BTreeMap::new());
    loop {
        let start = match &mut due {
            Some(due) => due.tick().await,
            None => Instant::now(),
        };
        // A slow service must not prolong the run.
        if start.max(Instant::now()) >= end {
            return Ok((latencies, errors));
        }
        if let Err(error) = worker.once().await {
            tally(&mut errors, format!("{error:#}"), 1);
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        let now = Instant::now();
        // Like the meter, count only responses within the period.
        if now >= begin && now <= end {
            latencies.saturating_record((now - start).as_nanos() as u64);
        }
    }
}

/// Counts errors with this message.
fn tally(errors: &mut BTreeMap<String, u64>, message: String, number: u64) {
    let is_kept = errors.len() < MESSAGES || errors.contains_key(&message);
    *errors.entry(if is_kept { message } else { OTHERS.to_owned() }).or_default() += number;
}

/// Creates a histogram of nanoseconds, up to a minute, with three significant digits.
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

    use super::{MESSAGES, Worker, measure};

    /// Counts requests of two milliseconds. The first `failures` requests fail with different messages.
    #[derive(Default)]
    struct Nap {
        failures: u64,
        made: Arc<AtomicU64>,
    }

    fn failing(failures: u64) -> Nap {
        Nap { failures, ..Nap::default() }
    }

    impl Worker for Nap {
        async fn once(&mut self) -> anyhow::Result<()> {
            tokio::time::sleep(Duration::from_millis(2)).await;
            self.made.fetch_add(1, Ordering::Relaxed);
            if self.failures == 0 {
                return Ok(());
            }
            self.failures -= 1;
            Err(anyhow::anyhow!("error {}", self.failures))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn warm_up_is_excluded_from_latencies() {
        let warm_up = Duration::from_millis(200);
        let worker = failing(0);
        let made = Arc::clone(&worker.made);
        let measured = measure(warm_up, vec![worker], 0.5, None, || made.load(Ordering::Relaxed)).await.unwrap();
        let [before, after] = measured.meter;
        assert!(before >= 90 && measured.latencies.len() <= after - before + 1, "{measured:?}");
        assert!(measured.check().is_ok() && measured.rate() > 200.0);
        assert!(measured.milliseconds(0.5) >= 2.0);
    }

    #[tokio::test(start_paused = true)]
    async fn rate_limits_requests_per_second() {
        let measured = measure(Duration::ZERO, vec![failing(0), failing(0)], 2.0, Some(100.0), || ()).await.unwrap();
        let requests = measured.latencies.len();
        assert!((190..=201).contains(&requests), "{requests}");
    }

    #[tokio::test(start_paused = true)]
    async fn slow_service_does_not_prolong_the_run() {
        let start = tokio::time::Instant::now();
        let measured = measure(Duration::ZERO, vec![failing(0)], 1.0, Some(10_000.0), || ()).await.unwrap();
        assert!(start.elapsed() < Duration::from_secs(2) && measured.milliseconds(1.0) > 100.0, "{measured:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn errors_are_counted_by_message() {
        let measured = measure(Duration::ZERO, vec![failing(2), failing(1)], 60.0, None, || ()).await.unwrap();
        assert_eq!(measured.errors, [("error 0".to_owned(), 2), ("error 1".to_owned(), 1)].into());
        assert_eq!(measured.check().unwrap_err().to_string(), "3 errors, such as: error 0");
    }

    #[tokio::test(start_paused = true)]
    async fn excess_error_messages_are_counted_together() {
        let workers = vec![failing(MESSAGES as u64 + 5)];
        let measured = measure(Duration::ZERO, workers, 60.0, None, || ()).await.unwrap();
        assert_eq!((measured.errors.len(), measured.errors["other errors"]), (MESSAGES + 1, 5));
    }
}
