//! A webhook's row and the webhook statements.

use std::{iter, sync::LazyLock, time::Duration};

use compliance_api::v1::{Webhook, WebhookDelivery};
use sqlx::{FromRow, Row as _, postgres::PgRow};
use storage::{
    table::{ValidTimestamp, timestamp},
    template::fill,
};
use time::OffsetDateTime;

/// How long a previous secret remains valid.
pub(super) const PREVIOUS_SECRET_TIME: Duration = Duration::from_hours(24);
/// Maximum clock error during a rotation. With a larger error, messages lack the signature with the previous secret.
const WEBHOOK_CLOCK_ERROR: Duration = Duration::from_hours(1);

/// A webhook's row. Does not implement `Debug`, because it contains secrets.
#[derive(FromRow)]
pub(super) struct Endpoint {
    pub(super) id: i64,
    pub(super) url: String,
    pub(super) types: Vec<String>,
    description: Option<String>,
    secret: String,
    /// Previous secrets, most recent first.
    previous_secrets: Vec<String>,
    previous_secret_until: Vec<Option<ValidTimestamp>>,
    pub(super) position: i64,
    pub(super) message_after: i64,
    pub(super) message_id: Option<String>,
    pub(super) message_to: Option<i64>,
    pub(super) attempts: i64,
    failing_since: Option<ValidTimestamp>,
    next_attempt_at: ValidTimestamp,
    disabled_reason: Option<String>,
    created_at: ValidTimestamp,
    leased_until: ValidTimestamp,
    /// Maximum message size, in bytes, after the endpoint has rejected a larger message.
    pub(super) body_limit: Option<i64>,
    /// The database time of the read.
    pub(super) read_at: OffsetDateTime,
}

/// A webhook that a request has created or found.
#[derive(FromRow)]
pub(super) struct Created {
    #[sqlx(flatten)]
    pub(super) endpoint: Endpoint,
    /// Whether the same request created the webhook. If so, the repeated request receives the same response.
    pub(super) is_of_request: bool,
}

impl Endpoint {
    /// Returns the secrets that currently sign messages.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        let previous = self.previous_secrets.iter().zip(&self.previous_secret_until);
        let valid = previous.filter(|(_, until)| self.valid(**until).is_some()).map(|(secret, _)| &**secret);
        iter::once(&*self.secret).chain(valid)
    }

    /// Returns the end of a previous secret's validity, if the secret is still valid.
    ///
    /// An end later than a rotation can set comes from a clock that was ahead.
    fn valid(&self, until: Option<ValidTimestamp>) -> Option<OffsetDateTime> {
        let last = self.read_at + PREVIOUS_SECRET_TIME + WEBHOOK_CLOCK_ERROR;
        until?.0.filter(|until| self.read_at < *until && *until <= last)
    }

    /// Returns when the failures began, if the last attempt failed.
    pub(super) fn failing_since(&self) -> Option<OffsetDateTime> {
        self.failing_since?.0
    }

    /// Returns the end of the lease, which identifies the core that holds it.
    pub(super) fn leased_until(&self) -> Option<OffsetDateTime> {
        self.leased_until.0
    }

    /// Returns the webhook and its secret, for responses that include the secret.
    pub(super) fn with_secret(self) -> (Webhook, String) {
        let secret = self.secret.clone();
        (self.into(), secret)
    }
}

impl From<Endpoint> for Webhook {
    fn from(endpoint: Endpoint) -> Self {
        let previous_secret_until = endpoint.previous_secret_until.first().and_then(|until| endpoint.valid(*until));
        let failing_since = endpoint.failing_since();
        let retries = failing_since.is_some() && endpoint.disabled_reason.is_none();
        let next_attempt_at = endpoint.next_attempt_at.0.filter(|_| retries);
        Self {
            id: endpoint.id,
            url: endpoint.url,
            types: endpoint.types,
            description: endpoint.description,
            status: if endpoint.disabled_reason.is_some() { "disabled" } else { "enabled" }.to_owned(),
            disabled_reason: endpoint.disabled_reason,
            position: endpoint.position,
            attempts: endpoint.attempts,
            next_attempt_at: next_attempt_at.map(timestamp),
            failing_since: failing_since.map(timestamp),
            previous_secret_until: previous_secret_until.map(timestamp),
            created_at: endpoint.created_at.0.map(timestamp),
        }
    }
}

/// Returns a log entry, or `None` if the row contains no entry.
pub(super) fn delivery(row: &PgRow) -> Result<Option<WebhookDelivery>, sqlx::Error> {
    let Some(number) = row.try_get("number")? else { return Ok(None) };
    Ok(Some(WebhookDelivery {
        number,
        message_id: row.try_get("message_id")?,
        after: row.try_get("after")?,
        position: row.try_get("position")?,
        attempt: row.try_get("attempt")?,
        time: row.try_get::<ValidTimestamp, _>("started_at")?.0.map(timestamp),
        duration_ms: row.try_get("duration_ms")?,
        http_status: row.try_get("http_status")?,
        error: row.try_get("error")?,
    }))
}

const COLUMNS: &str = "w.id, w.url, w.types, w.description, w.secret, w.previous_secrets, w.previous_secret_until, w.position,
    w.message_after, w.message_id, w.message_to, w.attempts, w.failing_since, w.next_attempt_at, w.disabled_reason, w.created_at,
    w.leased_until, w.body_limit, now() as read_at";

pub(super) static CREATE: Returning = LazyLock::new(|| with_columns(include_str!("sql/create.sql")));
pub(super) static READ: Returning = LazyLock::new(|| with_columns(include_str!("sql/read.sql")));
pub(super) static UPDATE: Returning = LazyLock::new(|| with_columns(include_str!("sql/update.sql")));
pub(super) static DELETE: Returning = LazyLock::new(|| with_columns(include_str!("sql/delete.sql")));
pub(super) static TEST: Returning = LazyLock::new(|| with_columns(include_str!("sql/test.sql")));
pub(super) static ROTATE: Returning = LazyLock::new(|| with_columns(include_str!("sql/rotate.sql")));
pub(super) static CLAIM: Returning = LazyLock::new(|| with_columns(include_str!("sql/claim.sql")));

pub(super) const LAST_POSITION: &str = include_str!("sql/last_position.sql");
pub(super) const NEXT: &str = include_str!("sql/next.sql");
pub(super) const DELIVERIES: &str = include_str!("sql/deliveries.sql");
pub(super) const COMPANIES: &str = include_str!("sql/companies.sql");
pub(super) const DUE: &str = include_str!("sql/due.sql");
pub(super) const FIX: &str = include_str!("sql/fix.sql");
pub(super) const PASS: &str = include_str!("sql/pass.sql");
pub(super) const FINISH: &str = include_str!("sql/finish.sql");
pub(super) const RESTORED: &str = include_str!("sql/restored.sql");

/// A statement that returns webhooks.
type Returning = LazyLock<&'static str>;

fn with_columns(statement: &str) -> &'static str {
    fill(statement, &[("columns", COLUMNS)]).leak()
}

/// Returns the statements about one company that run outside transactions, with their parameter types.
pub(crate) fn statements() -> [(&'static str, &'static str); 12] {
    [
        (*READ, "bigint, bigint"),
        (LAST_POSITION, "bigint"),
        (*UPDATE, "bigint, bigint, text, text[], text, text, bigint, text, text"),
        (*DELETE, "bigint, bigint, text"),
        (*TEST, "bigint, bigint, text"),
        (*ROTATE, "bigint, bigint, text, double precision, integer, text"),
        (DELIVERIES, "bigint, bigint, bigint"),
        (*CLAIM, "bigint, bigint, double precision, text, double precision, double precision"),
        (FIX, "bigint, bigint, timestamptz, text, bigint"),
        (RESTORED, "bigint, bigint, bigint"),
        (PASS, "bigint, bigint, timestamptz, text, bigint, boolean"),
        (
            FINISH,
            "bigint, bigint, timestamptz, text, bigint, boolean, double precision, text, bigint, bigint, timestamptz, bigint, bigint, \
             text, bigint, boolean, bigint",
        ),
    ]
}
