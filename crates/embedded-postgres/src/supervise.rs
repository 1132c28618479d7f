//! Start of the server, from what an earlier run left behind to the first answered query, and its restart when it has ended.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};

use crate::{
    context::{Context, RECOVERY_TIMEOUT, START_TIMEOUT},
    error::Error,
    log_file, orphan,
    server::Server,
};

/// What a server logs while remains of its predecessor still exist. This is temporary.
const CONFLICTS: [&str; 3] = ["pre-existing shared memory block", "lock file", "could not bind"];
/// How long a start is retried on such a conflict.
const CONFLICT_TIMEOUT: Duration = Duration::from_secs(30);

/// How often the size of the server's log is checked.
const LOG_INTERVAL: Duration = Duration::from_mins(1);
/// The delay before a restart: doubled each time up to the longest, and reset once the server has been healthy.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const HEALTHY_AFTER: Duration = Duration::from_mins(1);

/// Takes over the running server or starts one, and returns once it answers. A server that does not answer is stopped.
pub(crate) async fn launch(context: &Context, server: &mut Server) -> Result<(), Error> {
    let start = Instant::now();
    loop {
        if let Some(pid) = orphan::reclaim(context).await? {
            server.adopt(pid);
            context.endpoint.ensure_roles().await?;
            tracing::info!(pid, "took over the running database of an earlier run");
            return Ok(());
        }
        let log = &context.layout.log;
        let log_length = log_file::length(log);
        server.spawn(context)?;
        let ready = async {
            let ready = context.endpoint.until_ready(RECOVERY_TIMEOUT, START_TIMEOUT).await;
            ready.map_err(|reason| Error::Other(format!("{reason}; see {}", log.display())))?;
            context.endpoint.ensure_roles().await
        };
        let started = tokio::select! {
            ready = ready => ready,
            status = server.ended() => {
                let tail = log_file::tail(log, log_length, context.account.uid);
                if start.elapsed() < CONFLICT_TIMEOUT && CONFLICTS.iter().any(|text| tail.contains(text)) {
                    tracing::info!("the previous database has not ended completely; trying again");
                    sleep(Duration::from_millis(250)).await;
                    continue;
                }
                let log = log.display();
                Err(Error::Other(format!("PostgreSQL ended while starting ({status}); the end of {log}:\n{tail}")))
            }
        };
        if started.is_err() {
            server.end(context, Duration::ZERO).await?;
            return started;
        }
        tracing::info!(
            pid = server.status.pid(), version = context.installation.version,
            milliseconds = start.elapsed().as_millis() as u64, path = %context.layout.cluster.display(),
            "the database responds"
        );
        return Ok(());
    }
}

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
