//! Brings the server up: from whatever an earlier run left, to the first answered query.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::{
    context::Context,
    endpoint::Answer,
    error::Error,
    log_file, orphan,
    server::{Condition, Slot},
};

/// What a server says when something of the one before it is still there, which passes.
const CONFLICTS: [&str; 3] = ["pre-existing shared memory block", "lock file", "could not bind"];
/// How long such a conflict is tried against.
const CONFLICT_LIMIT: Duration = Duration::from_secs(30);

/// Puts a server that answers into the slot: one that still runs, or a new one.
pub(crate) async fn launch(context: &Context, slot: &Slot) -> Result<(), Error> {
    let start = Instant::now();
    loop {
        if let Some(pid) = orphan::clear_the_way(context).await? {
            slot.adopt(pid)?;
            context.endpoint.ensure_role().await?;
            tracing::info!(pid, "took over the database an earlier run left running");
            return Ok(());
        }
        let log_length = log_file::length(&context.layout.log);
        slot.spawn(context)?;
        match wait_until_it_answers(context, slot, log_length).await {
            Ok(()) => break,
            Err(Error::StartFailed { tail, .. })
                if start.elapsed() < CONFLICT_LIMIT && CONFLICTS.iter().any(|words| tail.contains(words)) =>
            {
                tracing::info!("something of the former database is still there; trying again");
                sleep(Duration::from_millis(250)).await;
            }
            Err(error) => return Err(error),
        }
    }
    context.endpoint.ensure_role().await?;
    let took = start.elapsed();
    tracing::info!(
        pid = slot.pid(), version = context.installation.version(), milliseconds = took.as_millis() as u64,
        path = %context.layout.cluster.display(), "the database answers"
    );
    Ok(())
}

async fn wait_until_it_answers(context: &Context, slot: &Slot, log_length: u64) -> Result<(), Error> {
    let start = Instant::now();
    let mut told = start;
    loop {
        let answer = context.endpoint.ask().await;
        if let Condition::Ended(status) = slot.condition() {
            let tail = log_file::tail(&context.layout.log, log_length);
            return Err(Error::StartFailed { status, tail, log: context.layout.log.clone() });
        }
        let (limit, last) = match answer {
            Answer::Ready => return Ok(()),
            // It works on its recovery: to give up would only make the next start begin it again.
            Answer::NotYet(words) => (context.timeouts.recovery, words),
            Answer::Silent(words) => (context.timeouts.start, words),
        };
        let waited = start.elapsed();
        if waited >= limit {
            slot.end(context, Duration::ZERO).await?;
            return Err(Error::NoAnswer { waited, last, log: context.layout.log.clone() });
        }
        if told.elapsed() >= Duration::from_secs(5) {
            told = Instant::now();
            tracing::info!(seconds = waited.as_secs(), state = last, "waiting for the database");
        }
        // A usual start takes a tenth of a second, a recovery much longer.
        sleep(Duration::from_millis(if waited < Duration::from_secs(1) { 10 } else { 100 })).await;
    }
}
