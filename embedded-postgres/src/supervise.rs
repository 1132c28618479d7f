//! Supervision of the server: it is restarted when it has ended.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    context::Context,
    error::Error,
    launch::launch,
    log_file,
    server::{ServerSlot, ServerState},
};

/// How often the server is checked.
const INTERVAL: Duration = Duration::from_millis(100);
/// How often the size of its log is checked.
const LOG_INTERVAL: Duration = Duration::from_mins(1);
/// The delay before a restart: doubled each time up to the longest, and reset once the server has been healthy.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const HEALTHY_AFTER: Duration = Duration::from_mins(1);

/// What a cluster shares with the task that watches its server.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) context: Context,
    pub(crate) server: ServerSlot,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) restarts: AtomicU64,
}

/// Runs until the cluster is stopped.
pub(crate) async fn watch(shared: Arc<Shared>, restart: bool) {
    let mut stop = shared.stop.subscribe();
    // An error means that the cluster has been dropped.
    tokio::select! {
        _ = stop.wait_for(|stopped| *stopped) => {}
        () = supervise(&shared, restart) => {}
    }
}

async fn supervise(shared: &Shared, restart: bool) {
    let context = &shared.context;
    let mut wait = FIRST_WAIT;
    let mut up_since = Instant::now();
    let mut log_seen = Instant::now();
    loop {
        sleep(INTERVAL).await;
        if log_seen.elapsed() >= LOG_INTERVAL {
            log_seen = Instant::now();
            let path = context.layout.log.clone();
            // On failure the next check tries again.
            let _ = tokio::task::spawn_blocking(move || log_file::bound(&path)).await;
        }
        let ServerState::Ended(status) = shared.server.state() else { continue };
        if !restart {
            tracing::error!(status, log = %context.layout.log.display(), "the database has ended");
            return;
        }
        if up_since.elapsed() >= HEALTHY_AFTER {
            wait = FIRST_WAIT;
        }
        loop {
            tracing::warn!(
                status, wait_milliseconds = wait.as_millis() as u64, log = %context.layout.log.display(),
                "the database has ended unexpectedly and is restarted"
            );
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
            match launch(context, &shared.server).await {
                Ok(()) => break,
                Err(Error::Stopping) => return,
                Err(error) => tracing::error!(%error, "the database could not be restarted"),
            }
        }
        up_since = Instant::now();
        shared.restarts.fetch_add(1, Ordering::Relaxed);
    }
}
