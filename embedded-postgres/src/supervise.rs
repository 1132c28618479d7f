//! Supervision of the server: it is restarted when it has ended.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};

use crate::{context::Context, launch::launch, log_file, server::Server};

/// How often the size of the server's log is checked.
const LOG_INTERVAL: Duration = Duration::from_mins(1);
/// The delay before a restart: doubled each time up to the longest, and reset once the server has been healthy.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const HEALTHY_AFTER: Duration = Duration::from_mins(1);

/// Runs the server, and restarts it if `restart` is set, until `stop` is dropped. Returns the server.
pub(crate) async fn supervise(
    mut server: Server,
    context: Arc<Context>,
    restart: bool,
    stop: oneshot::Receiver<()>,
) -> Server {
    tokio::select! {
        _ = stop => {}
        () = restart_when_ended(&mut server, &context, restart) => {}
        () = bound_log(&context) => {}
    }
    server
}

async fn restart_when_ended(server: &mut Server, context: &Context, restart: bool) {
    let log = context.layout.log.display();
    let mut wait = FIRST_WAIT;
    loop {
        let up_since = Instant::now();
        let status = server.ended().await;
        if !restart {
            tracing::error!(status, %log, "the database has ended");
            return;
        }
        if up_since.elapsed() >= HEALTHY_AFTER {
            wait = FIRST_WAIT;
        }
        let wait_milliseconds = wait.as_millis() as u64;
        tracing::warn!(status, wait_milliseconds, %log, "the database has ended unexpectedly and is restarted");
        sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
        match launch(context, server).await {
            Ok(()) => _ = server.status.restarts.fetch_add(1, Ordering::Relaxed),
            Err(error) => tracing::error!(%error, "the database could not be restarted"),
        }
    }
}

/// Bounds the size of the log while the server runs.
async fn bound_log(context: &Context) {
    loop {
        sleep(LOG_INTERVAL).await;
        let (path, owner) = (context.layout.log.clone(), context.account.uid);
        // On failure the next check tries again.
        let _ = tokio::task::spawn_blocking(move || log_file::bound(&path, owner)).await;
    }
}
