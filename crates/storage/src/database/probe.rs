//! Checks the database every second. If it does not respond, calls fail fast.

use std::{
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use telemetry::background::Task;
use tokio::time::{sleep, timeout};

use super::{
    manager::{Connection, Manager},
    pool::Pool,
};
use crate::error::{Unavailable, is_disconnected, text};

/// Interval between checks.
const INTERVAL: Duration = Duration::from_secs(1);
/// Interval between checks while the database does not respond.
const INTERVAL_WHEN_DOWN: Duration = Duration::from_millis(100);
/// Minimum delay between two checks, even if many connections are lost.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);
/// Time without a response after which the database is considered down.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout for a check on a new connection. It is longer, because a busy server must first start a process for the connection.
const OPEN_TIMEOUT: Duration = Duration::from_secs(4);
/// Number of lost connections after which a check fails. A restarting proxy also closes connections.
const LOST_CONNECTIONS: u32 = 3;
/// How often the log repeats why the database does not respond.
const REASON_LOG_INTERVAL: Duration = Duration::from_secs(30);

/// Keeps `responds` up to date until the task is dropped.
pub(super) async fn probe(pool: Arc<Pool>, task: Arc<Task>) {
    let (mut connection, mut lost) = (None, Instant::now());
    let mut logged = (String::new(), lost);
    loop {
        let failure = check(pool.manager(), &mut connection).await.err();
        let is_restored = failure.as_ref().and_then(Unavailable::of) == Some(Unavailable::Restored);
        let serves = failure.is_none();
        if pool.responds.send_if_modified(|before| mem::replace(before, serves) != serves) {
            if serves {
                tracing::info!(milliseconds = lost.elapsed().as_millis() as u64, "the database has recovered");
            } else {
                (lost, logged.0) = (Instant::now(), String::new());
                pool.replace_all();
            }
        }
        if let Some(failure) = failure {
            let reason = match failure {
                sqlx::Error::PoolTimedOut => "no response".to_owned(),
                other => text(&other),
            };
            if reason != logged.0 || logged.1.elapsed() >= REASON_LOG_INTERVAL {
                let seconds = lost.elapsed().as_secs();
                tracing::warn!(reason, seconds, "the database is not responding; rejecting calls until it recovers");
                logged = (reason, Instant::now());
            }
        }
        // The task always succeeds. A different metric shows whether the database responds.
        task.succeeded();
        sleep(SHORTEST_INTERVAL).await;
        if is_restored {
            while !notice_restore(&pool).await {
                sleep(INTERVAL_WHEN_DOWN).await;
            }
        } else if serves {
            let _ = timeout(INTERVAL, pool.check_now.notified()).await;
        } else {
            sleep(INTERVAL_WHEN_DOWN).await;
        }
    }
}

/// Checks the database on the open connection or a new one. A failed or abandoned check closes its connection.
async fn check(manager: &Manager, open: &mut Option<Connection>) -> Result<(), sqlx::Error> {
    let mut tries = 1;
    loop {
        let checked = match open.take().filter(|connection| manager.is_current(connection)) {
            Some(mut connection) => timeout(CHECK_TIMEOUT, manager.check(&mut connection.raw))
                .await
                .map(|checked| checked.map(|()| connection)),
            None => timeout(OPEN_TIMEOUT, manager.open()).await,
        };
        match checked.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
            Ok(connection) => {
                *open = Some(connection);
                return Ok(());
            }
            Err(error) if is_disconnected(&error) && Unavailable::of(&error).is_none() && tries < LOST_CONNECTIONS => {
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Moves positions and IDs ahead after a restore. Returns whether the service can use the database now.
async fn notice_restore(pool: &Pool) -> bool {
    pool.manager().notice_restore().await.is_ok() && pool.inputs.reread().await
}
