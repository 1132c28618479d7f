//! The probe: checks the database at short intervals, so that no caller has to find out that it does not answer.

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::{
    availability::{Availability, Generation},
    connections::Connections,
    reserve::Answer,
};

/// How often the database is checked while it answers.
const INTERVAL: Duration = Duration::from_millis(250);
/// How often it is checked while it does not.
const INTERVAL_WHEN_DOWN: Duration = Duration::from_millis(100);
/// The shortest time between two checks, however many connections were lost.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);
/// How long suspected connections may stay silent before they are given up.
const PATIENCE: Duration = Duration::from_secs(1);
/// A connection that has not been used for longer is checked before anybody needs it.
const UNCHECKED: Duration = Duration::from_secs(2);
/// How long the check of a connection may take.
const IDLE_CHECK_TIMEOUT: Duration = Duration::from_millis(500);

/// Keeps the [`Availability`] of the database up to date until the task is dropped.
pub(crate) async fn probe(connections: Connections) {
    let availability = connections.availability();
    let mut lost = Instant::now();
    loop {
        let generation = availability.generation();
        let answers = generation.answers();
        let answer = connections.reserve().check().await;
        // Callers got answers meanwhile: the database is slow, or only that connection was lost.
        let others_answered = generation.answers() != answers;
        let serves = match &answer {
            Answer::Serves | Answer::ServesAnew => true,
            Answer::Silent | Answer::Refuses(_) => others_answered && *availability.subscribe().borrow(),
        };
        if matches!(answer, Answer::Silent | Answer::ServesAnew) {
            suspect(&connections, others_answered);
        }
        if availability.set(serves) {
            if serves {
                tracing::info!(milliseconds = lost.elapsed().as_millis() as u64, "the database responds again");
            } else {
                lost = Instant::now();
                let reason =
                    if let Answer::Refuses(error) = &answer { error.to_string() } else { "silence".to_owned() };
                tracing::warn!(reason, "the database does not respond: calls are rejected until it does");
                connections.drop_idle();
            }
        }
        if serves {
            check_idle(&connections).await;
        }
        wait(availability, serves).await;
    }
}

async fn wait(availability: &Availability, serves: bool) {
    sleep(SHORTEST_INTERVAL).await;
    if serves {
        let _ = timeout(INTERVAL, availability.check_requested()).await;
    } else {
        sleep(INTERVAL_WHEN_DOWN).await;
    }
}

/// Replaces all connections: those that are not in use at once, the others if they stay silent. If callers got answers during
/// the check, perhaps only its connection was lost, or the others have gone silent since: then all are replaced if they stay
/// silent.
fn suspect(connections: &Connections, others_answered: bool) {
    let connections = connections.clone();
    let suspected: Generation = if others_answered {
        connections.availability().generation()
    } else {
        let suspected = connections.availability().suspect();
        connections.drop_idle();
        suspected
    };
    let answers = suspected.answers();
    tokio::spawn(async move {
        sleep(PATIENCE).await;
        if suspected.answers() != answers {
            return;
        }
        if suspected.is_current(connections.availability()) {
            connections.availability().suspect();
            connections.drop_idle();
        }
        suspected.give_up();
    });
}

/// Checks the connection that has not been used for the longest time, and throws it away if it does not answer.
async fn check_idle(connections: &Connections) {
    let Some((mut idle, _permit)) = connections.oldest_idle(UNCHECKED) else { return };
    if idle.is_old() {
        return;
    }
    match timeout(IDLE_CHECK_TIMEOUT, idle.settle()).await {
        Ok(Ok(())) => {
            idle.worked = Instant::now();
            connections.take_back(idle);
        }
        Ok(Err(error)) => tracing::debug!("an idle connection to the database was lost: {error}"),
        Err(_) => tracing::warn!("an idle connection to the database hangs and is closed"),
    }
}
