//! A webhook as the database has it.

use std::iter;

use compliance_api::v1::{Webhook, WebhookDelivery};
use sqlx::{FromRow, Row as _, postgres::PgRow};
use storage::table::{Shown, timestamp};
use time::OffsetDateTime;

use std::time::Duration;

/// How long a secret is used next to the one that replaced it.
pub(super) const PREVIOUS_SECRET_TIME: Duration = Duration::from_hours(24);
/// How far the clock may have been ahead when a secret was replaced, so that the one before is still used.
const WEBHOOK_CLOCK_ERROR: Duration = Duration::from_hours(1);

/// The row. It has no `Debug`, since secrets are in it.
#[derive(FromRow)]
pub(super) struct Endpoint {
    pub(super) id: i64,
    pub(super) url: String,
    pub(super) types: Vec<String>,
    description: Option<String>,
    secret: String,
    /// The last one first.
    previous_secrets: Vec<String>,
    previous_secret_until: Vec<Option<Shown>>,
    pub(super) position: i64,
    pub(super) message_after: i64,
    pub(super) message_id: Option<String>,
    pub(super) message_to: Option<i64>,
    pub(super) attempts: i64,
    failing_since: Option<Shown>,
    next_attempt_at: Shown,
    disabled_reason: Option<String>,
    created_at: Shown,
    leased_until: Shown,
    pub(super) deliveries: i64,
    /// Bytes of a message, since the endpoint has refused a larger one.
    pub(super) body_limit: Option<i64>,
    /// The database's clock.
    pub(super) read_at: OffsetDateTime,
}

/// A webhook that a request created, or has found.
#[derive(FromRow)]
pub(super) struct Created {
    #[sqlx(flatten)]
    pub(super) endpoint: Endpoint,
    /// Whether the same request created it: then a repeated one gets the same response.
    pub(super) is_of_request: bool,
}

impl Endpoint {
    /// The secrets that messages are signed with now.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        let previous = self.previous_secrets.iter().zip(&self.previous_secret_until);
        let valid = previous.filter(|(_, until)| self.valid(**until).is_some()).map(|(secret, _)| &**secret);
        iter::once(&*self.secret).chain(valid)
    }

    /// Until when a previous secret is valid, if it is. A later time than a rotation can say now is that of a clock that was ahead.
    fn valid(&self, until: Option<Shown>) -> Option<OffsetDateTime> {
        let last = self.read_at + PREVIOUS_SECRET_TIME + WEBHOOK_CLOCK_ERROR;
        until?.0.filter(|until| self.read_at < *until && *until <= last)
    }

    /// Since when its attempts have failed, if they do.
    pub(super) fn failing_since(&self) -> Option<OffsetDateTime> {
        self.failing_since?.0
    }

    /// The end of the lease, by which the core that has it is known.
    pub(super) fn leased_until(&self) -> Option<OffsetDateTime> {
        self.leased_until.0
    }

    /// The webhook and its secret, for the only response that has it.
    pub(super) fn with_secret(self) -> (Webhook, String) {
        let secret = self.secret.clone();
        (self.into(), secret)
    }
}

impl From<Endpoint> for Webhook {
    fn from(endpoint: Endpoint) -> Self {
        let previous_secret_until = endpoint.previous_secret_until.first().and_then(|until| endpoint.valid(*until));
        let failing_since = endpoint.failing_since();
        Self {
            id: endpoint.id,
            url: endpoint.url,
            types: endpoint.types,
            description: endpoint.description,
            status: if endpoint.disabled_reason.is_some() { "disabled" } else { "enabled" }.to_owned(),
            disabled_reason: endpoint.disabled_reason,
            position: endpoint.position,
            attempts: endpoint.attempts,
            next_attempt_at: failing_since.and(endpoint.next_attempt_at.0).map(timestamp),
            failing_since: failing_since.map(timestamp),
            previous_secret_until: previous_secret_until.map(timestamp),
            created_at: endpoint.created_at.0.map(timestamp),
        }
    }
}

/// An entry of the log; `None` for a row without one.
pub(super) fn delivery(row: &PgRow) -> Result<Option<WebhookDelivery>, sqlx::Error> {
    let Some(number) = row.try_get("number")? else { return Ok(None) };
    Ok(Some(WebhookDelivery {
        number,
        message_id: row.try_get("message_id")?,
        after: row.try_get("after")?,
        position: row.try_get("position")?,
        attempt: row.try_get("attempt")?,
        time: row.try_get::<Shown, _>("started_at")?.0.map(timestamp),
        duration_ms: row.try_get("duration_ms")?,
        http_status: row.try_get("http_status")?,
        error: row.try_get("error")?,
    }))
}
