//! A webhook as the database has it.

use std::iter;

use compliance_api::v1::{Webhook, WebhookDelivery};
use sqlx::{FromRow, Row as _, postgres::PgRow};
use time::OffsetDateTime;

use crate::table::timestamp;

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
    previous_secret_until: Vec<OffsetDateTime>,
    pub(super) position: i64,
    pub(super) message_after: i64,
    pub(super) message_id: Option<String>,
    pub(super) message_to: Option<i64>,
    pub(super) attempts: i64,
    pub(super) failing_since: Option<OffsetDateTime>,
    next_attempt_at: OffsetDateTime,
    disabled_reason: Option<String>,
    created_at: OffsetDateTime,
    pub(super) leased_until: OffsetDateTime,
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
        let valid = previous.filter(|(_, until)| self.read_at < **until).map(|(secret, _)| &**secret);
        iter::once(&*self.secret).chain(valid)
    }

    /// The webhook and its secret, for the only response that has it.
    pub(super) fn with_secret(self) -> (Webhook, String) {
        let secret = self.secret.clone();
        (self.into(), secret)
    }
}

impl From<Endpoint> for Webhook {
    fn from(endpoint: Endpoint) -> Self {
        let previous_secret_until = endpoint.previous_secret_until.first().filter(|until| endpoint.read_at < **until);
        Self {
            id: endpoint.id,
            url: endpoint.url,
            types: endpoint.types,
            description: endpoint.description,
            status: if endpoint.disabled_reason.is_some() { "disabled" } else { "enabled" }.to_owned(),
            disabled_reason: endpoint.disabled_reason,
            position: endpoint.position,
            attempts: endpoint.attempts,
            next_attempt_at: endpoint.failing_since.map(|_| timestamp(endpoint.next_attempt_at)),
            failing_since: endpoint.failing_since.map(timestamp),
            previous_secret_until: previous_secret_until.copied().map(timestamp),
            created_at: Some(timestamp(endpoint.created_at)),
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
        time: Some(timestamp(row.try_get("started_at")?)),
        duration_ms: row.try_get("duration_ms")?,
        http_status: row.try_get("http_status")?,
        error: row.try_get("error")?,
    }))
}
