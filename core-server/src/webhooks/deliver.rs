//! Delivers changes. A core leases a webhook, sends the changes after its position in one message, and advances the position once the
//! endpoint has accepted the message. A retried message contains the same changes, except for erased data, because the row stores the
//! message's end. Only a message that is too large for the endpoint is replaced with a smaller one.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use admission::WorkPermit;
use compliance_api::{
    error::Error,
    v1::{Change, ListChangesRequest},
};
use sqlx::{Postgres, postgres::PgArguments, query::Query, query_as};
use storage::error::from_database;
use telemetry::metrics::count;
use time::OffsetDateTime;

use super::{
    endpoint::{CLAIM, Endpoint, FINISH, FIX, PASS, RESTORED},
    message::{Message, fitting, new_id},
    send::{Attempt, Sender, WEBHOOK_TIMEOUT},
};
use crate::{backend::Backend, changes, lists::Source};

/// Maximum number of messages to a webhook before other webhooks are served.
const WEBHOOK_MESSAGES: usize = 16;
/// Time after which a webhook with more messages yields to other webhooks.
const WEBHOOK_TURN: Duration = Duration::from_millis(500);
/// Maximum number of changes in a message.
const WEBHOOK_CHANGES: i64 = 100;
/// Maximum size of a message's change rows, in bytes. The first change is always sent.
const WEBHOOK_BYTES: usize = 1 << 20;
/// How long a core leases a webhook: longer than an attempt and its statements take. If a core crashes, the next attempt waits this long.
const WEBHOOK_LEASE: Duration = Duration::from_mins(1);
/// Maximum wait after the first failure. Doubles with each subsequent failure.
const WEBHOOK_BACKOFF: Duration = Duration::from_secs(10);
/// Maximum wait after any failure.
const WEBHOOK_LONGEST_BACKOFF: Duration = Duration::from_hours(4);
/// Maximum time until a scheduled attempt. A later time was stored while the clock was ahead, so the attempt is due.
pub(super) const WEBHOOK_LONGEST_WAIT: Duration = Duration::from_hours(8);
/// Maximum time until a lease ends. A later time was stored while the clock was ahead, so the lease has ended.
pub(super) const WEBHOOK_LONGEST_LEASE: Duration = Duration::from_mins(2);
/// How long a webhook can fail before the service disables it.
const WEBHOOK_GIVE_UP: Duration = Duration::from_hours(72);
/// Maximum number of entries in a webhook's log.
const WEBHOOK_LOG: i64 = 1000;

pub(super) const DELIVERIES: &str = "compliance_webhook_deliveries_total";

type Statement = Query<'static, Postgres, PgArguments>;

/// A delivery to one webhook.
pub(super) struct Delivery {
    pub(super) backend: Arc<Backend>,
    pub(super) sender: Sender,
    pub(super) company_id: i64,
    pub(super) id: i64,
    /// Counts the delivery as in progress.
    pub(super) _permit: WorkPermit,
}

impl Delivery {
    /// Delivers some messages. After a database error, the lease expires.
    pub(super) async fn run(self) {
        let start = Instant::now();
        for _ in 0..WEBHOOK_MESSAGES {
            match self.deliver_one().await {
                Ok(true) if start.elapsed() < WEBHOOK_TURN => {}
                _ => break,
            }
        }
    }

    /// Delivers one message. Returns whether the position has advanced.
    async fn deliver_one(&self) -> Result<bool, Error> {
        let start = Instant::now();
        let Some(endpoint) = self.claim().await? else { return Ok(false) };
        let endpoint = &endpoint;
        let request = ListChangesRequest {
            after: Some(endpoint.position),
            types: endpoint.types.clone(),
            limit: Some(WEBHOOK_CHANGES),
        };
        // A message that was already sent is not shortened.
        let most = if endpoint.message_to.is_some() { WEBHOOK_BYTES * 2 } else { WEBHOOK_BYTES };
        let source = Source { most, ..self.backend.source(self.company_id) };
        let ((mut page, _), _memory) = changes::read(source, &request).await?;
        // Only audits show writers, regardless of the scopes of the endpoint's creator.
        page.changes.iter_mut().for_each(changes::hide_writer);
        let pass = |position, is_dropped: bool| self.store(self.leased(PASS, endpoint, position).bind(is_dropped));
        if page.dropped_position > endpoint.position {
            // The next message begins there, as its `after` shows.
            return pass(page.dropped_position, true).await;
        }
        if let Some(end) = endpoint.message_to {
            if page.position < end {
                // Not enough memory is available for the message.
                return Ok(false);
            }
            page.changes.retain(|change| change.position <= end);
        } else if let Some(limit) = endpoint.body_limit {
            let fitting = fitting(&page.changes, limit as usize);
            page.changes.truncate(fitting);
        }
        let Some(last) = page.changes.last() else {
            return pass(endpoint.message_to.unwrap_or(page.position), false).await;
        };
        let position = endpoint.message_to.unwrap_or(last.position);
        if endpoint.message_to.is_none() && !self.store(self.leased(FIX, endpoint, position)).await? {
            return Ok(false);
        }
        if start.elapsed() + WEBHOOK_TIMEOUT > WEBHOOK_LEASE {
            // Another core could lease the webhook before the attempt ends.
            return Ok(false);
        }
        self.send(endpoint, position, &page.changes).await
    }

    async fn claim(&self) -> Result<Option<Endpoint>, Error> {
        let claim = query_as(*CLAIM).bind(self.company_id).bind(self.id).bind(WEBHOOK_LEASE.as_secs_f64());
        let claim =
            claim.bind(new_id()).bind(WEBHOOK_LONGEST_WAIT.as_secs_f64()).bind(WEBHOOK_LONGEST_LEASE.as_secs_f64());
        claim.fetch_optional(&self.backend.pool).await.map_err(from_database)
    }

    /// Binds a statement about the leased webhook's message. `position` is the message's end.
    fn leased(&self, statement: &'static str, endpoint: &Endpoint, position: i64) -> Statement {
        let query = sqlx::query(statement).bind(self.company_id).bind(self.id).bind(endpoint.leased_until());
        query.bind(endpoint.message_id.clone()).bind(position)
    }

    /// Runs a statement for a lease. Returns `false` if the webhook has since changed.
    async fn store(&self, statement: Statement) -> Result<bool, Error> {
        Ok(statement.fetch_optional(&self.backend.pool).await.map_err(from_database)?.is_some())
    }

    /// Returns the first position between these two that a restore skipped, if any.
    async fn restored(&self, after: i64, position: i64) -> Result<Option<i64>, Error> {
        let find = sqlx::query_scalar(RESTORED).bind(self.company_id).bind(after).bind(position);
        find.fetch_one(&self.backend.pool).await.map_err(from_database)
    }

    async fn send(&self, endpoint: &Endpoint, position: i64, changes: &[Change]) -> Result<bool, Error> {
        let message_id = endpoint.message_id.clone().unwrap_or_default();
        let restored = self.restored(endpoint.message_after, position).await?;
        let message = Message::of_changes(message_id, endpoint.message_after, position, restored, changes);
        let message = message.map_err(|_| Error::internal())?;
        let bytes = message.body.len();
        let mut attempt = self.sender.send(&endpoint.url, message, endpoint.secrets()).await;
        let is_delivered = attempt.error.is_none();
        // A message with fewer changes follows.
        let is_cut = attempt.is_too_large() && changes.len() > 1;
        if attempt.is_too_large() {
            attempt.error = Some(too_large(changes, bytes));
        }
        let disabled_reason = disabled_reason(&attempt, endpoint.failing_since(), endpoint.read_at);
        let outcome = match (is_delivered, &disabled_reason) {
            (true, _) => "delivered",
            (false, None) => "failed",
            (false, Some(_)) => "disabled",
        };
        count(DELIVERIES, "outcome", outcome);
        let wait = match attempt.retry_after {
            _ if is_delivered => Duration::ZERO,
            retry_after if is_cut => retry_after.unwrap_or_default().min(WEBHOOK_LONGEST_BACKOFF),
            retry_after => wait(endpoint.attempts, retry_after),
        };
        let finish = self
            .leased(FINISH, endpoint, position)
            .bind(is_delivered)
            .bind(wait.as_secs_f64())
            .bind(disabled_reason)
            .bind(endpoint.message_after)
            .bind(endpoint.attempts + 1)
            .bind(endpoint.read_at)
            .bind(attempt.duration.as_millis() as i64)
            .bind(attempt.status.map(|status| i64::from(status.as_u16())))
            .bind(attempt.error)
            .bind(WEBHOOK_LOG)
            .bind(is_cut)
            .bind(bytes as i64);
        Ok(self.store(finish).await? && is_delivered)
    }
}

/// Returns the logged reason for a body that is too large for its endpoint.
fn too_large(changes: &[Change], bytes: usize) -> String {
    match changes {
        [Change { position, resource, id, .. }] => {
            format!(
                "the endpoint responded 413 to a message that contains only change {position} ({resource} {id}): {bytes} bytes"
            )
        }
        changes => {
            format!(
                "the endpoint responded 413 to {} changes ({bytes} bytes): the next message contains fewer",
                changes.len()
            )
        }
    }
}

/// Returns why an attempt disables its webhook, if it does.
fn disabled_reason(attempt: &Attempt, failing_since: Option<OffsetDateTime>, now: OffsetDateTime) -> Option<String> {
    let error = attempt.error.as_ref()?;
    if attempt.status == Some(reqwest::StatusCode::GONE) {
        return Some("The endpoint responded 410 Gone.".to_owned());
    }
    let is_given_up = failing_since.is_some_and(|since| now - since >= WEBHOOK_GIVE_UP);
    is_given_up.then(|| format!("No attempt succeeded for three days. Last error: {error}."))
}

/// Returns the wait after a failed attempt. `attempts` is the number of earlier failed attempts.
///
/// The wait is random, up to a limit that doubles each time. This spreads the attempts after a common outage. If the endpoint requests a
/// longer wait, that wait applies, up to the maximum.
fn wait(attempts: i64, retry_after: Option<Duration>) -> Duration {
    let doublings = u32::try_from(attempts).unwrap_or(u32::MAX);
    let limit =
        2_u32.checked_pow(doublings).map_or(WEBHOOK_LONGEST_BACKOFF, |factor| WEBHOOK_BACKOFF.saturating_mul(factor));
    let wait = limit.min(WEBHOOK_LONGEST_BACKOFF).mul_f64(rand::random());
    wait.max(retry_after.unwrap_or_default().min(WEBHOOK_LONGEST_BACKOFF))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::wait;

    #[test]
    fn retry_waits_double_and_respect_retry_after() {
        let longest = |attempts| (0..200).map(|_| wait(attempts, None)).max().unwrap();
        // The waits that the webhooks page documents.
        for (attempts, seconds) in [(0, 10), (1, 20), (2, 40), (10, 10_240), (11, 14_400), (12, 14_400), (60, 14_400)] {
            let limit = Duration::from_secs(seconds);
            let longest = longest(attempts);
            assert!(longest <= limit && longest > limit / 2, "{attempts}: {longest:?}");
        }
        let said = Duration::from_mins(10);
        assert_eq!(wait(0, Some(said)), said);
        assert_eq!(wait(0, Some(Duration::MAX)), Duration::from_hours(4));
    }
}
