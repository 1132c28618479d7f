//! Finds due webhooks and starts their deliveries.

use std::{collections::HashMap, sync::Arc, time::Duration};

use admission::{LimitReached, WorkQueue};
use metrics::{describe_gauge, gauge};
use sqlx::query_as;
use storage::{error::text, statement_context::StatementContext};
use telemetry::{
    background::{Task, supervise},
    metrics::describe,
};
use tokio::{task::JoinSet, time::timeout};

use super::{
    deliver::{DELIVERIES, Delivery},
    endpoint::{COMPANIES, DUE},
    send::Sender,
};
use crate::{
    backend::Backend,
    webhooks::deliver::{WEBHOOK_LONGEST_LEASE, WEBHOOK_LONGEST_WAIT},
};

/// Interval between searches for due webhooks. The statement reads all webhooks.
const WEBHOOK_INTERVAL: Duration = Duration::from_millis(500);
/// Timeout of a search.
const WEBHOOK_DUE: Duration = Duration::from_secs(2);
/// Maximum number of due webhooks that a search returns. Not all of them receive a permit.
const WEBHOOK_CANDIDATES: i64 = 1000;

/// Maximum number of concurrent deliveries per core.
const DELIVERIES_IN_FLIGHT: usize = 512;
/// Maximum number of concurrent deliveries per company. Equals the maximum number of webhooks, so no webhook waits for another.
const DELIVERIES_OF_A_COMPANY: usize = 20;

const FAILING_WEBHOOKS: &str = "compliance_webhooks_failing";

/// Starts the delivery task.
pub(crate) fn start(tasks: &mut JoinSet<()>, backend: &Arc<Backend>, sender: &Sender) {
    describe(DELIVERIES, "Webhook delivery attempts, by outcome.", "outcome", &["delivered", "failed", "disabled"]);
    describe_gauge!(FAILING_WEBHOOKS, "Webhooks whose last delivery attempt failed, across all companies.");
    let (backend, sender) = (Arc::clone(backend), sender.clone());
    let deliver = move |task| deliver(Arc::clone(&backend), sender.clone(), task);
    tasks.spawn(supervise("webhook delivery", deliver));
}

async fn deliver(backend: Arc<Backend>, sender: Sender, task: Arc<Task>) {
    let in_flight = WorkQueue::new(DELIVERIES_IN_FLIGHT, DELIVERIES_OF_A_COMPANY);
    let (mut running, mut companies) = (JoinSet::new(), Vec::new());
    loop {
        tokio::time::sleep(WEBHOOK_INTERVAL).await;
        while running.try_join_next().is_some() {}
        let due = StatementContext::of("due webhooks").run(due(&backend, &mut companies, &task)).await;
        for (company_id, id) in round_robin(due) {
            match in_flight.try_enter(company_id) {
                Ok(permit) => {
                    let (backend, sender) = (Arc::clone(&backend), sender.clone());
                    let delivery = Delivery { backend, sender, company_id, id, _permit: permit };
                    running.spawn(StatementContext::of("webhook").run(delivery.run()));
                }
                Err(LimitReached::Company) => {}
                Err(LimitReached::Process) => break,
            }
        }
    }
}

/// Orders webhooks fairly: the first webhook of each company, then the second webhook of each, and so on.
fn round_robin(due: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    let mut rounds: HashMap<i64, usize> = HashMap::new();
    let mut due: Vec<_> = due
        .into_iter()
        .map(|(company_id, id)| {
            let round = rounds.entry(company_id).or_default();
            *round += 1;
            (*round, (company_id, id))
        })
        .collect();
    due.sort_by_key(|(round, _)| *round);
    due.into_iter().map(|(_, webhook)| webhook).collect()
}

/// Returns the due webhooks. A Citus node that is down delays only its companies.
///
/// `companies` contains the companies from the last successful read.
async fn due(backend: &Backend, companies: &mut Vec<i64>, task: &Task) -> Vec<(i64, i64)> {
    let known = query_as::<_, (i64, i64)>(COMPANIES).fetch_all(&backend.pool);
    let known = timeout(WEBHOOK_DUE, known).await;
    match &known {
        Ok(Ok(_)) => task.succeeded(),
        Ok(Err(error)) => task.failed(format_args!("cannot list companies with webhooks: {}", text(error))),
        Err(_) => task.failed("timed out listing companies with webhooks"),
    }
    if let Ok(Ok(known)) = known {
        gauge!(FAILING_WEBHOOKS).set(known.iter().map(|(_, failing)| *failing as f64).sum::<f64>());
        *companies = known.into_iter().map(|(company_id, _)| company_id).collect();
    }
    let mut due = Vec::new();
    for part in backend.pool.divided(companies.clone(), |id| *id) {
        let found = query_as::<_, (i64, i64)>(DUE).bind(part).bind(WEBHOOK_CANDIDATES);
        let found = found.bind(WEBHOOK_LONGEST_WAIT.as_secs_f64()).bind(WEBHOOK_LONGEST_LEASE.as_secs_f64());
        if let Ok(Ok(found)) = timeout(WEBHOOK_DUE, found.fetch_all(&backend.pool)).await {
            due.extend(found);
        }
    }
    due
}

#[cfg(test)]
mod tests {
    use super::round_robin;

    #[test]
    fn round_robin_alternates_companies() {
        let due = [(7, 1), (7, 2), (7, 3), (8, 4), (9, 5), (8, 6)];
        assert_eq!(round_robin(due.to_vec()), [(7, 1), (8, 4), (9, 5), (7, 2), (8, 6), (7, 3)]);
    }
}
