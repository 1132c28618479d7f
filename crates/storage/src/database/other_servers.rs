//! Servers that serve reads beside the primary, or in its place: replicas, and the nodes of Citus.

use std::sync::Arc;

use batcher::Batcher;
use telemetry::background::Task;
use tokio::time::{sleep, timeout};

use super::{
    pool::Pool,
    probe::{check_idle, suspect},
    replicas::AskPrimary,
};
use crate::{
    error::{Unavailable, is_disconnected},
    limits::{CHECK_INTERVAL, SHORTEST_CHECK_INTERVAL},
};

/// Reports that a statement failed on a replica or node. It is not used until it is found to serve again, unless the error
/// concerns that statement alone, as when it conflicts with what is replayed.
pub(super) fn report_failure(server: &Pool, error: &sqlx::Error) {
    let is_lost = is_disconnected(error) && Unavailable::of(error) != Some(Unavailable::Down);
    if is_lost && server.responds.send_replace(false) {
        log_unused(server, &error.to_string());
        server.check_soon.notify_one();
    }
}

fn log_unused(server: &Pool, reason: &str) {
    tracing::warn!(server = server.current.host(), reason, "{} is not used until it serves again", kind(server));
}

fn kind(server: &Pool) -> &'static str {
    if server.current.is_replica() { "a replica" } else { "a node of Citus" }
}

/// Keeps it known whether a replica can be read from, or a node of Citus can be used, until the task is dropped.
pub(super) async fn probe_other(server: Arc<Pool>, primary: Option<Batcher<AskPrimary>>, task: Arc<Task>) {
    let mut logged = None;
    loop {
        let generation = server.generation();
        let (responses, was_used) = (generation.responses(), server.responds());
        let checked = server.reserve.check().await;
        if matches!(checked, Ok(true) | Err(None)) {
            suspect(&server, generation.responses() != responses);
        }
        // Each read checks whether a replica that is used has what it needs.
        let result = match checked {
            Ok(_) if !was_used => has_caught_up(&server, primary.as_ref()).await,
            checked => checked.map(drop),
        };
        let reason = result.err().map(|error| error.map_or_else(|| "silence".to_owned(), |error| error.to_string()));
        let has_changed = server.responds.send_if_modified(|is_used| {
            // A read can have found a reason during the check.
            let usable = reason.is_none() && (!was_used || *is_used);
            std::mem::replace(is_used, usable) != usable
        });
        match &reason {
            None if has_changed => tracing::info!(server = server.current.host(), "{} is used", kind(&server)),
            Some(reason) if has_changed || logged.as_ref() != Some(reason) => log_unused(&server, reason),
            _ => {}
        }
        logged = reason;
        if server.responds() {
            check_idle(&server).await;
        } else {
            server.drop_idle();
            // Its URL may name other hosts by now, or another password.
            server.current.reread();
        }
        if !server.current.is_named()
            && let Some(found) = server.current.find_another().await
        {
            suspect(&server, false);
            server.reserve.keep(found).await;
        }
        // Whether it is used has a metric of its own.
        task.succeeded();
        sleep(SHORTEST_CHECK_INTERVAL).await;
        let _ = timeout(CHECK_INTERVAL, server.check_soon.notified()).await;
    }
}

/// Whether a replica has replayed in time what the primary has written. `None` is silence.
async fn has_caught_up(server: &Pool, primary: Option<&Batcher<AskPrimary>>) -> Result<(), Option<sqlx::Error>> {
    let (Some(primary), Some(max_lag)) = (primary, server.current.max_lag) else { return Ok(()) };
    let written = primary.call(()).await.map_err(|_| sqlx::Error::PoolClosed)?;
    let required = written.map_err(|reason| sqlx::Error::Protocol(reason.to_string()))?;
    Ok(server.reserve.wait_for_replay(required, max_lag).await?)
}
