//! The probe: checks the database at short intervals, so that no caller has to find out that it does not respond.

use std::{
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use telemetry::background::Task;
use tokio::time::{sleep, timeout};

use super::pool::Pool;
use crate::{
    error::Unavailable,
    limits::{CHECK_INTERVAL, CHECK_TIMEOUT, SHORTEST_CHECK_INTERVAL},
};

/// Interval of checks while the database does not respond.
const CHECK_INTERVAL_WHEN_DOWN: Duration = Duration::from_millis(100);
/// How often the log repeats why the database does not respond.
const REASON_LOG_INTERVAL: Duration = Duration::from_secs(30);
/// How long suspected connections may stay silent before they are abandoned.
const SUSPECTED_SILENCE: Duration = Duration::from_secs(1);

/// Keeps it known whether the database responds, until the task is dropped.
pub(super) async fn probe(pool: Arc<Pool>, task: Arc<Task>) {
    let mut lost = Instant::now();
    let mut logged = (String::new(), lost);
    let mut knows_history = false;
    loop {
        let generation = pool.generation();
        let responses = generation.responses();
        let mut result = pool.reserve.check().await;
        // Callers got responses meanwhile: the database is slow, or only that connection was lost.
        let others_have_responses = generation.responses() != responses;
        // Those may be reads, which a server without writes serves for a while.
        let is_read_only = matches!(&result, Err(Some(error)) if Unavailable::of(error) == Some(Unavailable::ReadOnly));
        let mut serves = result.is_ok() || others_have_responses && pool.responds() && !is_read_only;
        // Callers know by now that it does not respond, or its URL names other hosts.
        if (!serves && !pool.responds() || !pool.current.is_named())
            && let Some(found) = pool.current.find_another().await
        {
            suspect(&pool, false);
            pool.reserve.keep(found).await;
            (result, serves, knows_history) = (Ok(false), true, false);
        }
        if matches!(result, Ok(true) | Err(None)) {
            suspect(&pool, others_have_responses);
        }
        if serves && pool.current.notices_restores() && pool.reserve.is_restored().await {
            // Connections that are open know types and tables that may be gone. No new one is made until positions have jumped.
            pool.responds.send_replace(false);
            suspect(&pool, false);
            serves = pool.reserve.notice_restore().await && pool.inputs.reread().await;
        }
        // It changes only while the server does not serve.
        knows_history &= serves;
        if serves && !knows_history && pool.current.needs_history() {
            knows_history = pool.reserve.remember_history().await;
        }
        let has_changed = pool.responds.send_if_modified(|before| mem::replace(before, serves) != serves);
        if serves && has_changed {
            tracing::info!(milliseconds = lost.elapsed().as_millis() as u64, "the database responds again");
        }
        if !serves {
            let reason = result.err().flatten().map_or_else(|| "silence".to_owned(), |error| error.to_string());
            if has_changed {
                lost = Instant::now();
                pool.drop_idle();
            }
            if has_changed || reason != logged.0 || logged.1.elapsed() >= REASON_LOG_INTERVAL {
                let seconds = lost.elapsed().as_secs();
                tracing::warn!(reason, seconds, "the database does not respond: calls are rejected until it does");
                logged = (reason, Instant::now());
            }
        }
        if serves {
            check_idle(&pool).await;
        }
        // Whether the database responds has a metric of its own.
        task.succeeded();
        sleep(SHORTEST_CHECK_INTERVAL).await;
        if serves {
            let _ = timeout(CHECK_INTERVAL, pool.check_soon.notified()).await;
        } else {
            sleep(CHECK_INTERVAL_WHEN_DOWN).await;
        }
    }
}

/// Replaces all connections: those that are not in use at once, the others if they stay silent. If callers got responses during
/// the check, perhaps only its connection was lost: then all are replaced if they stay silent.
pub(super) fn suspect(pool: &Arc<Pool>, others_have_responses: bool) {
    let pool = Arc::clone(pool);
    let suspected = if others_have_responses { pool.generation() } else { pool.suspect() };
    let responses = suspected.responses();
    #[allow(clippy::disallowed_methods, reason = "it ends soon")]
    tokio::spawn(async move {
        sleep(SUSPECTED_SILENCE).await;
        if suspected.responses() != responses {
            return;
        }
        if pool.is_current(&suspected) {
            pool.suspect();
        }
        suspected.hung.cancel();
    });
}

/// Checks the connection that has not been used for the longest time, and throws it away if it does not respond.
pub(super) async fn check_idle(pool: &Pool) {
    let Some((mut idle, _permit)) = pool.oldest_idle() else { return };
    if idle.is_old() {
        return;
    }
    match timeout(CHECK_TIMEOUT, idle.settle()).await {
        Ok(Ok(())) => {
            idle.worked = Instant::now();
            pool.take_back(idle);
        }
        Ok(Err(error)) => tracing::debug!("an idle connection to the database was lost: {error}"),
        Err(_) => tracing::warn!("an idle connection to the database hangs and is closed"),
    }
}
