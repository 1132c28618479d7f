//! Start of the server, from what an earlier run left behind to the first answered query.

use std::time::Duration;

use tokio::time::{Instant, sleep};

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
                Err(Error::StartFailed { status, tail: log_file::tail(log, log_length, context.account.uid), log: log.clone() })
            }
        };
        match started {
            Ok(()) => break,
            Err(Error::StartFailed { tail, .. })
                if start.elapsed() < CONFLICT_TIMEOUT && CONFLICTS.iter().any(|text| tail.contains(text)) =>
            {
                tracing::info!("the previous database has not ended completely; trying again");
                sleep(Duration::from_millis(250)).await;
            }
            Err(error) => {
                server.end(context, Duration::ZERO).await?;
                return Err(error);
            }
        }
    }
    tracing::info!(
        pid = server.status.pid(), version = context.installation.version,
        milliseconds = start.elapsed().as_millis() as u64, path = %context.layout.cluster.display(),
        "the database responds"
    );
    Ok(())
}
