//! Supervises tasks that run for the lifetime of the process. Restarts them after panics, and reports lasting failures in logs and metrics.

use std::{
    fmt::Display,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ::metrics::{counter, describe_counter, describe_gauge, gauge};
use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

const RESTARTS: &str = "compliance_background_restarts_total";
const FAILING: &str = "compliance_background_failing";
const LAST_SUCCESS: &str = "compliance_background_last_success_timestamp_seconds";

/// Initial delay before a restart. It doubles with each panic up to [`LONGEST_PAUSE`], and resets after a run at least that long.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
/// Maximum delay before a restart.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// How often a lasting failure is logged.
const LOG_INTERVAL: Duration = Duration::from_mins(10);

/// State of a task: whether its last attempt succeeded.
#[derive(Debug)]
pub struct Task {
    name: &'static str,
    failure: Mutex<Option<Failure>>,
}

#[derive(Debug)]
struct Failure {
    reason: String,
    since: Instant,
    logged: Instant,
}

impl Task {
    /// Creates a task without failures.
    pub fn new(name: &'static str) -> Arc<Self> {
        describe_counter!(RESTARTS, "Background tasks restarted after a panic.");
        describe_gauge!(FAILING, "Whether a background task's last attempt failed: 1 if it did.");
        describe_gauge!(LAST_SUCCESS, "Unix time of a background task's last success.");
        counter!(RESTARTS, "task" => name).increment(0);
        gauge!(FAILING, "task" => name).set(0.0);
        Arc::new(Self { name, failure: Mutex::default() })
    }

    /// Reports that an attempt succeeded.
    pub fn succeeded(&self) {
        gauge!(LAST_SUCCESS, "task" => self.name)
            .set(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64());
        let Some(Failure { since, .. }) = self.failure.lock().take() else { return };
        gauge!(FAILING, "task" => self.name).set(0.0);
        tracing::info!(task = self.name, seconds = since.elapsed().as_secs(), "a background task recovered");
    }

    /// Returns why the last attempt failed, if it did.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().as_ref().map(|failure| failure.reason.clone())
    }

    /// Reports that an attempt failed. Logs the first of several consecutive failures, and then one every ten minutes.
    pub fn failed(&self, reason: impl Display) {
        let (now, reason) = (Instant::now(), reason.to_string());
        let mut failure = self.failure.lock();
        let (since, logged) = failure.as_ref().map_or((now, None), |failure| (failure.since, Some(failure.logged)));
        let logged = logged.filter(|logged| now - *logged < LOG_INTERVAL);
        if logged.is_none() {
            let seconds = (now - since).as_secs();
            tracing::warn!(task = self.name, seconds, reason, "a background task failed and will try again");
        }
        *failure = Some(Failure { reason, since, logged: logged.unwrap_or(now) });
        gauge!(FAILING, "task" => self.name).set(1.0);
    }
}

/// Starts a [supervised](supervise) task.
pub fn spawn<F: Future<Output = ()> + Send + 'static>(
    name: &'static str,
    run: impl Fn(Arc<Task>) -> F + Send + Sync + 'static,
) -> JoinHandle<()> {
    #[allow(clippy::disallowed_methods, reason = "the task is supervised")]
    tokio::spawn(supervise(name, run))
}

/// Runs a task until it ends, and restarts it after each panic. `run` creates the task, and the task reports to its [`Task`].
pub async fn supervise<F: Future<Output = ()>>(name: &'static str, run: impl Fn(Arc<Task>) -> F) {
    let (task, mut pause) = (Task::new(name), SHORTEST_PAUSE);
    loop {
        let start = Instant::now();
        // A panic affects shared state like a panic in any other task.
        let running = AssertUnwindSafe(async { run(Arc::clone(&task)).await });
        if running.catch_unwind().await.is_ok() {
            return;
        }
        if start.elapsed() >= LONGEST_PAUSE {
            pause = SHORTEST_PAUSE;
        }
        counter!(RESTARTS, "task" => name).increment(1);
        // The panic hook logs the panic.
        task.failed("panicked");
        tracing::error!(task = name, pause_seconds = pause.as_secs(), "a background task panicked and will restart");
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn panicked_tasks_restart_with_exponential_backoff() {
        let (runs, start) = (AtomicU32::new(0), Instant::now());
        supervise("test", |_| async {
            assert!(runs.fetch_add(1, Relaxed) >= 3, "on purpose");
        })
        .await;
        assert_eq!((runs.load(Relaxed), start.elapsed().as_secs()), (4, 1 + 2 + 4));
    }

    #[tokio::test(start_paused = true)]
    async fn long_runs_reset_restart_backoff() {
        let (runs, start) = (AtomicU32::new(0), Instant::now());
        supervise("test", |_| {
            let run = runs.fetch_add(1, Relaxed);
            assert!(run > 0, "on purpose");
            async move {
                sleep(LONGEST_PAUSE).await;
                assert!(run > 1, "on purpose");
            }
        })
        .await;
        // After a long run, the delay starts over.
        assert_eq!((runs.load(Relaxed), start.elapsed().as_secs()), (3, 1 + 60 + 1 + 60));
    }

    #[tokio::test(start_paused = true)]
    async fn repeated_failures_are_logged_at_intervals() {
        let task = Task::new("test");
        let logged = || task.failure.lock().as_ref().map(|failure| failure.logged);
        task.failed("x");
        let first = logged();
        sleep(LOG_INTERVAL / 2).await;
        task.failed("x");
        assert_eq!(logged(), first);
        sleep(LOG_INTERVAL / 2).await;
        task.failed("x");
        assert!(logged() > first);
        task.succeeded();
        assert_eq!(logged(), None);
    }
}
