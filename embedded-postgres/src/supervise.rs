//! Watches the server of a live service, and starts it again when it has ended.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};

use crate::{cluster::Shared, error::Error, launch::launch, log_file, server::Condition};

/// How often the server is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How often the size of its log is looked at.
const LOOK_AT_LOG: Duration = Duration::from_mins(1);
/// The wait before a restart: doubled each time, up to the longest, until the server has kept running for a while.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const HEALTHY_AFTER: Duration = Duration::from_mins(1);

/// Runs until the cluster is stopped.
pub(crate) async fn watch(shared: Arc<Shared>, restart: bool) {
    let mut stop = shared.stop.subscribe();
    // An error would mean that the sender is gone, and with it the cluster.
    tokio::select! {
        _ = stop.wait_for(|stopped| *stopped) => {}
        () = look_after(&shared, restart) => {}
    }
}

async fn look_after(shared: &Shared, restart: bool) {
    let context = &shared.context;
    let mut wait = FIRST_WAIT;
    let mut up_since = Instant::now();
    let mut log_seen = Instant::now();
    loop {
        sleep(LOOK).await;
        if log_seen.elapsed() >= LOOK_AT_LOG {
            log_seen = Instant::now();
            let path = context.layout.log.clone();
            // Nothing depends on it, and the next look comes.
            let _ = tokio::task::spawn_blocking(move || log_file::bound(&path)).await;
        }
        let Condition::Ended(status) = shared.slot.condition() else { continue };
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
                "the database has ended unexpectedly and is started again"
            );
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
            match launch(context, &shared.slot).await {
                Ok(()) => break,
                Err(Error::Stopping) => return,
                Err(error) => tracing::error!(%error, "the database could not be started again"),
            }
        }
        up_since = Instant::now();
        shared.restarts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}
