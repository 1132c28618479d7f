//! Statements that are retried where that is safe.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::time::timeout;

use super::connections::Connections;
use crate::{
    error::{Unavailable, is_disconnected, is_lock_timeout, is_moved, is_stale, is_unique_violation},
    limits::{LOCK_WAIT, MAX_TRIES},
    metrics::{RETRY_CONFLICT, RETRY_CONNECTION, RETRY_LOCK, RETRY_REPLICA, RETRY_SILENCE, count_read, count_retry},
    statement::{StatementContext, Watch},
    table::Layouts,
};

/// Timeout of the first attempt of a read by key, which takes milliseconds.
const SHORT_READ_TIMEOUT: Duration = Duration::from_secs(3);

/// Runs a read like [`retried`], and logs it if it is slow.
pub async fn read<T, F: Future<Output = Result<T, sqlx::Error>>>(
    from: &Connections,
    run: impl Fn(Connections) -> F,
) -> Result<T, sqlx::Error> {
    let _watch = Watch::start();
    retried(from, run).await
}

/// Runs a read on a replica or Citus node, or the primary.
///
/// The primary serves it if no replica or node can.
///
/// A read that fails on another server runs again on the primary. There it is retried once if its connection is dead. If it waits too long
/// for a lock, such as that of a schema change, it returns its connection and is retried.
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

/// Runs a short read by key, and retries it once.
///
/// It is retried if its connection is dead or hangs.
pub async fn short_read<T, F: Future<Output = Result<T, sqlx::Error>>>(
    from: &Connections,
    run: impl Fn(Connections) -> F,
) -> Result<T, sqlx::Error> {
    if let Ok(result) = timeout(SHORT_READ_TIMEOUT, retried(from, &run)).await {
        return result;
    }
    count_retry(RETRY_SILENCE);
    tracing::warn!("a read by key got no response within {} s and is retried", SHORT_READ_TIMEOUT.as_secs());
    run(from.clone()).await
}

impl Connections {
    /// Runs a write that may send batches. Retries it after errors that `can_retry` accepts, a bounded number of times.
    pub async fn try_write<T, F: Future<Output = Result<T, sqlx::Error>>>(
        &self,
        can_retry: fn(&sqlx::Error) -> bool,
        run: impl Fn(Self, Arc<Layouts>) -> F,
    ) -> Result<T, sqlx::Error> {
        let mut tries = 1;
        loop {
            match run(self.clone(), self.layouts()).await {
                Err(error) if self.may_retry(&error, can_retry, &mut tries).await => {}
                result => return result,
            }
        }
    }

    /// Returns whether a write that failed after this many tries is retried.
    pub async fn may_retry(&self, error: &sqlx::Error, can_retry: fn(&sqlx::Error) -> bool, tries: &mut u32) -> bool {
        let may_retry = *tries < MAX_TRIES
            && Unavailable::of(error).is_none()
            && (can_retry(error) || self.pool.inputs.changed(error).await);
        if may_retry {
            self.advance_ids(error).await;
            count_retry(if is_disconnected(error) { RETRY_CONNECTION } else { RETRY_CONFLICT });
            tracing::debug!("a write is retried: {error}");
            *tries += 1;
        }
        may_retry
    }

    /// Advances the sequence of a table's IDs beyond the greatest ID, if a new record got an ID that is taken.
    ///
    /// The sequence is behind the table after a copy of the records alone.
    async fn advance_ids(&self, error: &sqlx::Error) {
        let Some(database) = error.as_database_error().filter(|_| is_unique_violation(error)) else { return };
        let Some(table) = database.table().filter(|table| database.constraint() == Some(&format!("{table}_pkey")))
        else {
            return;
        };
        let advance = sqlx::query_scalar("select advance_ids($1)").bind(table).fetch_one(self);
        match StatementContext::of("IDs").run(advance).await {
            Ok(true) => {
                tracing::warn!(table, "the ID sequence was behind the table; it now continues after the highest ID");
            }
            Ok(false) => {}
            Err(error) => tracing::error!(
                table,
                "a new ID already exists, and the service cannot advance its sequence: run `compliance doctor --counts --repair`: {error}"
            ),
        }
    }
}
