//! Reads, which run again where that is safe.

use std::time::Instant;

use tokio::time::timeout;

use super::connections::Connections;
use crate::{
    error::{is_disconnected, is_lock_timeout, is_moved, is_stale},
    limits::{LOCK_WAIT, SHORT_READ_TIMEOUT},
    metrics::{RETRY_CONNECTION, RETRY_LOCK, RETRY_REPLICA, RETRY_SILENCE, count_read, count_retry},
    statement::Watch,
};

/// Runs a read like [`retried`], and logs it if it takes long.
pub async fn read<T, F: Future<Output = Result<T, sqlx::Error>>>(
    from: &Connections,
    run: impl Fn(Connections) -> F,
) -> Result<T, sqlx::Error> {
    let _watch = Watch::start();
    retried(from, run).await
}

/// Runs a read: on a replica or node if there is one that may serve it, and otherwise, or if it fails there, on the primary. There it
/// runs once more when its connection turns out to be dead. One that waited too long for a lock, as for a change of the schema,
/// returns its connection and runs again.
pub async fn retried<T, F: Future<Output = Result<T, sqlx::Error>>>(
    from: &Connections,
    run: impl Fn(Connections) -> F,
) -> Result<T, sqlx::Error> {
    let has_others = from.has_other_servers();
    let mut other = if has_others { Box::pin(from.server_for_read()).await } else { None };
    let (mut disconnected, mut stale, start) = (false, false, Instant::now());
    loop {
        let result = run(other.as_ref().unwrap_or(from).clone()).await;
        let Err(error) = result else {
            if has_others {
                count_read(from.is_divided(), other.is_some());
            }
            return result;
        };
        if let Some(failed) = other.take() {
            from.report_failure(&failed, &error);
            count_retry(RETRY_REPLICA);
        } else if is_disconnected(&error) && !disconnected {
            count_retry(RETRY_CONNECTION);
            disconnected = true;
        } else if is_stale(&error) && !stale {
            count_retry(RETRY_CONNECTION);
            stale = true;
        } else if (is_lock_timeout(&error) || is_moved(&error)) && start.elapsed() < LOCK_WAIT {
            count_retry(RETRY_LOCK);
        } else {
            return Err(error);
        }
    }
}

/// Runs a read of a few rows by key, and once more when its connection turns out to be dead, or to hang: such a read takes
/// milliseconds.
pub async fn short_read<T, F: Future<Output = Result<T, sqlx::Error>>>(
    from: &Connections,
    run: impl Fn(Connections) -> F,
) -> Result<T, sqlx::Error> {
    if let Ok(result) = timeout(SHORT_READ_TIMEOUT, retried(from, &run)).await {
        return result;
    }
    count_retry(RETRY_SILENCE);
    tracing::warn!("a read by key got no response within {} s and is sent again", SHORT_READ_TIMEOUT.as_secs());
    run(from.clone()).await
}
