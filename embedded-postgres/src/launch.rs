//! Start of the server, from what an earlier run left behind to the first answered query.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::{
    context::Context,
    endpoint::Probe,
    error::Error,
    log_file, orphan,
    server::{ServerSlot, ServerState},
};

/// What a server logs while remains of its predecessor still exist. This is temporary.
const CONFLICTS: [&str; 3] = ["pre-existing shared memory block", "lock file", "could not bind"];
/// How long a start is retried on such a conflict.
const CONFLICT_TIMEOUT: Duration = Duration::from_secs(30);

/// Takes over the running server or starts one, and returns once it answers.
pub(crate) async fn launch(context: &Context, server: &ServerSlot) -> Result<(), Error> {
    let start = Instant::now();
    loop {
        if let Some(pid) = orphan::reclaim(context).await? {
            server.adopt(pid)?;
            context.endpoint.ensure_role().await?;
            tracing::info!(pid, "took over the running database of an earlier run");
            return Ok(());
        }
        let log_length = log_file::length(&context.layout.log);
        server.spawn(context)?;
        match wait_until_ready(context, server, log_length).await {
            Ok(()) => break,
            Err(Error::StartFailed { tail, .. })
                if start.elapsed() < CONFLICT_TIMEOUT && CONFLICTS.iter().any(|text| tail.contains(text)) =>
            {
                tracing::info!("the previous database has not ended completely; trying again");
                sleep(Duration::from_millis(250)).await;
            }
            Err(error) => return Err(error),
        }
    }
    context.endpoint.ensure_role().await?;
    let took = start.elapsed();
    tracing::info!(
        pid = server.pid(), version = context.installation.version(), milliseconds = took.as_millis() as u64,
        path = %context.layout.cluster.display(), "the database answers"
    );
    Ok(())
}

async fn wait_until_ready(context: &Context, server: &ServerSlot, log_length: u64) -> Result<(), Error> {
    let start = Instant::now();
    let mut reported = start;
    loop {
        let answer = context.endpoint.probe().await;
        if let ServerState::Ended(status) = server.state() {
            let tail = log_file::tail(&context.layout.log, log_length);
            return Err(Error::StartFailed { status, tail, log: context.layout.log.clone() });
        }
        let (limit, last) = match answer {
            Probe::Ready => return Ok(()),
            // A recovery must not be interrupted: the next start would begin it again.
            Probe::NotReady(message) => (context.timeouts.recovery, message),
            Probe::NoAnswer(reason) => (context.timeouts.start, reason),
        };
        let waited = start.elapsed();
        if waited >= limit {
            server.end(context, Duration::ZERO).await?;
            return Err(Error::NoAnswer { waited, last, log: context.layout.log.clone() });
        }
        if reported.elapsed() >= Duration::from_secs(5) {
            reported = Instant::now();
            tracing::info!(seconds = waited.as_secs(), state = last, "waiting for the database");
        }
        // A normal start takes a tenth of a second, a recovery much longer.
        sleep(Duration::from_millis(if waited < Duration::from_secs(1) { 10 } else { 100 })).await;
    }
}
