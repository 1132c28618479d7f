//! The delivery of changes. A core leases a webhook, sends the changes after its position in one message, and moves it there once the
//! endpoint has accepted them. A message that fails is sent again with the same content: the row has where it ends.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use admission::{Count, Counts, Full};
use compliance_api::{
    error::Error,
    v1::{Change, ListChangesRequest},
};
use metrics::{describe_gauge, gauge};
use sqlx::{Postgres, postgres::PgArguments, query::Query, query_as};
use telemetry::metrics::{count, describe};
use time::OffsetDateTime;
use tokio::{task::JoinSet, time::timeout};

use super::{
    endpoint::Endpoint,
    message::{Message, new_id},
    send::{Attempt, Sender},
    statements::{CLAIM, COMPANIES, DUE, FINISH, FIX, PASS, RESTORED},
};
use crate::{
    backend::Backend,
    changes,
    error::from_database,
    limits::{
        RESTORE_DISTANCE, WEBHOOK_BACKOFF, WEBHOOK_BYTES, WEBHOOK_CANDIDATES, WEBHOOK_CHANGES, WEBHOOK_COMPANY_SLOTS,
        WEBHOOK_GIVE_UP, WEBHOOK_INTERVAL, WEBHOOK_LEASE, WEBHOOK_LOG, WEBHOOK_LONGEST_BACKOFF, WEBHOOK_MESSAGES,
        WEBHOOK_SLOTS, WEBHOOK_SLOW, WEBHOOK_TIMEOUT,
    },
    lists::Source,
    statement::Purpose,
};

const DELIVERIES: &str = "compliance_webhook_deliveries_total";
const FAILING_WEBHOOKS: &str = "compliance_webhooks_failing";

/// Starts to deliver. Webhooks whose last attempt failed or took long have slots of their own, so that they delay no other one.
pub(crate) fn start(tasks: &mut JoinSet<()>, backend: &Arc<Backend>, sender: &Sender) {
    describe(DELIVERIES, "Attempts to deliver changes to webhooks.", "outcome", &["delivered", "failed", "disabled"]);
    describe_gauge!(FAILING_WEBHOOKS, "Webhooks of all companies whose last attempt failed.");
    for are_slow in [false, true] {
        tasks.spawn(deliver(Arc::clone(backend), sender.clone(), are_slow));
    }
}

async fn deliver(backend: Arc<Backend>, sender: Sender, are_slow: bool) {
    let slots = Counts::new(WEBHOOK_SLOTS, WEBHOOK_COMPANY_SLOTS);
    let (mut running, mut companies) = (JoinSet::new(), Vec::new());
    loop {
        tokio::time::sleep(WEBHOOK_INTERVAL).await;
        while running.try_join_next().is_some() {}
        for (company_id, id) in Purpose::of("due webhooks").run(due(&backend, &mut companies, are_slow)).await {
            match slot(&slots, &mut running, company_id).await {
                Ok(slot) => {
                    let delivery = Delivery { backend: Arc::clone(&backend), sender: sender.clone(), company_id, id };
                    running.spawn(Purpose::of("webhook").run(delivery.run(slot)));
                }
                Err(Full::Company) => {}
                Err(Full::Process) => break,
            }
        }
    }
}

/// A slot for a delivery, when one of those that run has ended if all are taken.
async fn slot(slots: &Counts, running: &mut JoinSet<()>, company_id: i64) -> Result<Count, Full> {
    let full = match slots.add(company_id) {
        Err(Full::Process) => Full::Process,
        slot => return slot,
    };
    // Those that are due are looked for again before long.
    timeout(WEBHOOK_SLOW, running.join_next()).await.map_err(|_| full)?;
    slots.add(company_id)
}

/// Webhooks that are due. A node of Citus that is away holds up its companies only: `companies` has those that were read before.
async fn due(backend: &Backend, companies: &mut Vec<i64>, are_slow: bool) -> Vec<(i64, i64)> {
    let known = query_as::<_, (i64, i64)>(COMPANIES).fetch_all(&backend.pool);
    if let Ok(Ok(known)) = timeout(WEBHOOK_SLOW, known).await {
        if are_slow {
            gauge!(FAILING_WEBHOOKS).set(known.iter().map(|(_, failing)| *failing as f64).sum::<f64>());
        }
        *companies = known.into_iter().map(|(company_id, _)| company_id).collect();
    }
    let mut due = Vec::new();
    for part in backend.pool.divided(companies.clone(), |id| *id).await {
        let found =
            query_as::<_, (i64, i64)>(DUE).bind(part).bind(are_slow).bind(WEBHOOK_CANDIDATES).fetch_all(&backend.pool);
        if let Ok(Ok(found)) = timeout(WEBHOOK_SLOW, found).await {
            due.extend(found);
        }
    }
    due
}

type Statement = Query<'static, Postgres, PgArguments>;

/// The delivery to one webhook.
struct Delivery {
    backend: Arc<Backend>,
    sender: Sender,
    company_id: i64,
    id: i64,
}

impl Delivery {
    /// Delivers some messages. After an error of the database, the lease ends by its time.
    async fn run(self, _slot: Count) {
        let start = Instant::now();
        for _ in 0..WEBHOOK_MESSAGES {
            match self.deliver_one().await {
                Ok(true) if start.elapsed() < WEBHOOK_SLOW => {}
                _ => break,
            }
        }
    }

    /// Whether the webhook's position has moved.
    async fn deliver_one(&self) -> Result<bool, Error> {
        let start = Instant::now();
        let Some(endpoint) = self.claim().await? else { return Ok(false) };
        let endpoint = &endpoint;
        let request = ListChangesRequest {
            after: Some(endpoint.position),
            types: endpoint.types.clone(),
            limit: Some(WEBHOOK_CHANGES),
        };
        // What was sent is not cut again.
        let most = if endpoint.message_to.is_some() { WEBHOOK_BYTES * 2 } else { WEBHOOK_BYTES };
        let source = Source { most, ..self.backend.source(self.company_id) };
        let (mut page, _memory) = changes::read(source, &request).await?;
        // Endpoints belong to nobody who may audit, whatever scopes their creator had.
        page.changes.iter_mut().for_each(changes::hide_writer);
        let pass = |position, is_dropped: bool| self.store(self.leased(PASS, endpoint, position).bind(is_dropped));
        if page.dropped_position > endpoint.position {
            // The next message begins there, which its `after` says.
            return pass(page.dropped_position, true).await;
        }
        if let Some(end) = endpoint.message_to {
            if page.position < end {
                // There is no memory for all of it now.
                return Ok(false);
            }
            page.changes.retain(|change| change.position <= end);
        }
        let Some(last) = page.changes.last() else {
            return pass(endpoint.message_to.unwrap_or(page.position), false).await;
        };
        let position = endpoint.message_to.unwrap_or(last.position);
        if endpoint.message_to.is_none() && !self.store(self.leased(FIX, endpoint, position)).await? {
            return Ok(false);
        }
        if start.elapsed() + WEBHOOK_TIMEOUT > WEBHOOK_LEASE {
            // Another core may have it before the attempt ends.
            return Ok(false);
        }
        self.send(endpoint, position, &page.changes).await
    }

    async fn claim(&self) -> Result<Option<Endpoint>, Error> {
        let message_id = new_id().map_err(|_| Error::internal())?;
        let claim = query_as(CLAIM).bind(self.company_id).bind(self.id).bind(WEBHOOK_LEASE.as_secs_f64());
        claim.bind(message_id).fetch_optional(&self.backend.pool).await.map_err(from_database)
    }

    /// A statement about the message up to a position of a webhook that this core has leased.
    fn leased(&self, statement: &'static str, endpoint: &Endpoint, position: i64) -> Statement {
        let query = sqlx::query(statement).bind(self.company_id).bind(self.id).bind(endpoint.leased_until);
        query.bind(endpoint.message_id.clone()).bind(position)
    }

    /// Runs such a statement. False if the webhook was changed meanwhile.
    async fn store(&self, statement: Statement) -> Result<bool, Error> {
        Ok(statement.fetch_optional(&self.backend.pool).await.map_err(from_database)?.is_some())
    }

    /// The first position that is lost between two, if there is one.
    async fn restored(&self, after: i64, position: i64) -> Result<Option<i64>, Error> {
        if position - after < RESTORE_DISTANCE {
            return Ok(None);
        }
        let find = sqlx::query_scalar(RESTORED).bind(self.company_id).bind(after).bind(position);
        find.fetch_one(&self.backend.pool).await.map_err(from_database)
    }

    async fn send(&self, endpoint: &Endpoint, position: i64, changes: &[Change]) -> Result<bool, Error> {
        let message_id = endpoint.message_id.clone().unwrap_or_default();
        let restored = self.restored(endpoint.message_after, position).await?;
        let message = Message::of_changes(message_id, endpoint.message_after, position, restored, changes);
        let message = message.map_err(|_| Error::internal())?;
        let attempt = self.sender.send(&endpoint.url, message, endpoint.secrets()).await;
        let is_delivered = attempt.error.is_none();
        let disabled_reason = disabled_reason(&attempt, endpoint.failing_since, endpoint.read_at);
        let outcome = match (is_delivered, &disabled_reason) {
            (true, _) => "delivered",
            (false, None) => "failed",
            (false, Some(_)) => "disabled",
        };
        count(DELIVERIES, "outcome", outcome);
        let wait = if is_delivered { Duration::ZERO } else { wait(endpoint.attempts, attempt.retry_after)? };
        let finish = self
            .leased(FINISH, endpoint, position)
            .bind(is_delivered)
            .bind(wait.as_secs_f64())
            .bind(disabled_reason)
            .bind(endpoint.deliveries)
            .bind(endpoint.message_after)
            .bind(endpoint.attempts + 1)
            .bind(endpoint.read_at)
            .bind(attempt.duration.as_millis() as i64)
            .bind(attempt.status.map(|status| i64::from(status.as_u16())))
            .bind(attempt.error)
            .bind(WEBHOOK_LOG)
            .bind(!is_delivered || attempt.duration > WEBHOOK_SLOW);
        Ok(self.store(finish).await? && is_delivered)
    }
}

/// Why a webhook is disabled after an attempt, if it is.
fn disabled_reason(attempt: &Attempt, failing_since: Option<OffsetDateTime>, now: OffsetDateTime) -> Option<String> {
    let error = attempt.error.as_ref()?;
    if attempt.status == Some(reqwest::StatusCode::GONE) {
        return Some("The endpoint responded 410 Gone.".to_owned());
    }
    let is_given_up = failing_since.is_some_and(|since| now - since >= WEBHOOK_GIVE_UP);
    is_given_up.then(|| format!("No attempt succeeded for three days. The last one: {error}."))
}

/// How long to wait after so many failed attempts and this one: at random up to a limit that doubles each time, so that endpoints that
/// were down together are not all tried at once, and no shorter than the endpoint says.
fn wait(attempts: i64, retry_after: Option<Duration>) -> Result<Duration, Error> {
    let mut bytes = [0; 4];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| Error::internal())?;
    let part = f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX);
    let doublings = u32::try_from(attempts).unwrap_or(u32::MAX);
    let limit =
        2_u32.checked_pow(doublings).map_or(WEBHOOK_LONGEST_BACKOFF, |factor| WEBHOOK_BACKOFF.saturating_mul(factor));
    let wait = limit.min(WEBHOOK_LONGEST_BACKOFF).mul_f64(part);
    Ok(wait.max(retry_after.unwrap_or_default().min(WEBHOOK_LONGEST_BACKOFF)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::wait;
    use crate::limits::{WEBHOOK_BACKOFF, WEBHOOK_LONGEST_BACKOFF};

    #[test]
    fn waits_double_up_to_a_limit_and_are_as_long_as_the_endpoint_says() {
        let longest = |attempts| (0..200).map(|_| wait(attempts, None).unwrap()).max().unwrap();
        for (attempts, limit) in [(0, WEBHOOK_BACKOFF), (3, WEBHOOK_BACKOFF * 8), (60, WEBHOOK_LONGEST_BACKOFF)] {
            let longest = longest(attempts);
            assert!(longest <= limit && longest > limit / 2, "{attempts}: {longest:?}");
        }
        let said = Duration::from_mins(10);
        assert_eq!(wait(0, Some(said)).unwrap(), said);
        assert_eq!(wait(0, Some(Duration::MAX)).unwrap(), WEBHOOK_LONGEST_BACKOFF);
    }
}
