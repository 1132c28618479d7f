//! Probes check each server at short intervals, so that callers need not find out which servers do not respond.

use std::{
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use telemetry::background::Task;
use tokio::time::{sleep, timeout};

use super::{pool::Pool, reserve::settle};
use crate::{
    error::{Unavailable, is_disconnected},
    limits::{CHECK_INTERVAL, CHECK_TIMEOUT, SHORTEST_CHECK_INTERVAL},
};

/// Interval of checks while the database does not respond.
const CHECK_INTERVAL_WHEN_DOWN: Duration = Duration::from_millis(100);
/// How often the log repeats why the database does not respond.
const REASON_LOG_INTERVAL: Duration = Duration::from_secs(30);
/// How long suspected connections may stay silent before they are abandoned.
const SUSPECTED_SILENCE: Duration = Duration::from_secs(1);

/// Keeps `responds` of the primary up to date, until the task is dropped.
pub(super) async fn probe(pool: Arc<Pool>, task: Arc<Task>) {
    let mut lost = Instant::now();
    let mut logged = (String::new(), lost);
    loop {
        let epoch = pool.epoch();
        let responses = epoch.responses();
        let mut result = pool.reserve.check().await;
        // If callers got responses during the check, the database is slow, or only the reserved connection was lost.
        let others_have_responses = epoch.responses() != responses;
        // These may be reads, which a server without writes serves for a while.
        let is_read_only = matches!(&result, Err(Some(error)) if Unavailable::of(error) == Some(Unavailable::ReadOnly));
        let mut serves = result.is_ok() || others_have_responses && pool.responds() && !is_read_only;
        // The URL may have another host or password by now.
        if !serves && pool.current.reread() {
            suspect(&pool, false);
            result = pool.reserve.check_changed().await;
            serves = result.is_ok();
        }
        if matches!(result, Ok(true) | Err(None)) {
            suspect(&pool, others_have_responses);
        }
        if serves && pool.current.notices_restores() && pool.reserve.is_restored().await {
            // Open connections know types and tables that may be gone. New ones wait until the positions have jumped.
            pool.responds.send_replace(false);
            suspect(&pool, false);
            serves = pool.reserve.notice_restore().await && pool.inputs.reread().await;
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
        // The task succeeds in any case. Another metric shows whether the database responds.
        task.succeeded();
        sleep(SHORTEST_CHECK_INTERVAL).await;
        if serves {
            let _ = timeout(CHECK_INTERVAL, pool.check_soon.notified()).await;
        } else {
            sleep(CHECK_INTERVAL_WHEN_DOWN).await;
        }
    }
}

/// Replaces all connections: idle ones immediately, and the others if they stay silent.
///
/// If callers got responses during the check, perhaps only the reserved connection was lost. Then all are replaced only if they
/// stay silent.
fn suspect(pool: &Arc<Pool>, others_have_responses: bool) {
    let pool = Arc::clone(pool);
    let suspected = if others_have_responses { pool.epoch() } else { pool.suspect() };
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

/// Checks the connection that was idle for the longest time, and closes it if it does not respond.
async fn check_idle(pool: &Pool) {
    let Some((mut idle, _permit)) = pool.oldest_idle() else { return };
    if idle.is_old() {
        return;
    }
    match timeout(CHECK_TIMEOUT, settle(&mut idle.raw)).await {
        Ok(Ok(())) => {
            idle.worked = Instant::now();
            pool.take_back(idle);
        }
        Ok(Err(error)) => tracing::debug!("an idle connection to the database was lost: {error}"),
        Err(_) => tracing::warn!("an idle connection to the database hangs and is closed"),
    }
}

/// Reports a failed statement of a Citus node, which is then not used until it serves again.
///
/// An error of that statement alone changes nothing.
pub(super) fn report_failure(server: &Pool, error: &sqlx::Error) {
    let is_lost = is_disconnected(error) && Unavailable::of(error) != Some(Unavailable::Down);
    if is_lost && server.responds.send_replace(false) {
        log_unused(server, &error.to_string());
        server.check_soon.notify_one();
    }
}

fn log_unused(server: &Pool, reason: &str) {
    tracing::warn!(server = server.current.host(), reason, "a Citus node is not used until it serves again");
}

/// Keeps `responds` of a Citus node up to date, until the task is dropped.
pub(super) async fn probe_node(server: Arc<Pool>, task: Arc<Task>) {
    let mut logged = None;
    loop {
        let epoch = server.epoch();
        let (responses, was_used) = (epoch.responses(), server.responds());
        let checked = server.reserve.check().await;
        if matches!(checked, Ok(true) | Err(None)) {
            suspect(&server, epoch.responses() != responses);
        }
        let reason = checked.err().map(|error| error.map_or_else(|| "silence".to_owned(), |error| error.to_string()));
        let has_changed = server.responds.send_if_modified(|is_used| {
            // A read may have failed during the check.
            let usable = reason.is_none() && (!was_used || *is_used);
            mem::replace(is_used, usable) != usable
        });
        match &reason {
            None if has_changed => tracing::info!(server = server.current.host(), "a Citus node is used"),
            Some(reason) if has_changed || logged.as_ref() != Some(reason) => log_unused(&server, reason),
            _ => {}
        }
        logged = reason;
        if server.responds() {
            check_idle(&server).await;
        } else {
            server.drop_idle();
            server.current.reread();
        }
        // The task succeeds in any case. Another metric shows whether the server is used.
        task.succeeded();
        sleep(SHORTEST_CHECK_INTERVAL).await;
        let _ = timeout(CHECK_INTERVAL, server.check_soon.notified()).await;
    }
}
