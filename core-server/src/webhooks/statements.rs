//! The statements of webhooks.

use std::sync::LazyLock;

use storage::template::fill;

const COLUMNS: &str = "w.id, w.url, w.types, w.description, w.secret, w.previous_secrets, w.previous_secret_until, w.position,
    w.message_after, w.message_id, w.message_to, w.attempts, w.failing_since, w.next_attempt_at, w.disabled_reason, w.created_at,
    w.leased_until, w.deliveries, w.body_limit, now() as read_at";

pub(super) static CREATE: Returning = LazyLock::new(|| with_columns(include_str!("sql/create.sql")));
pub(super) static READ: Returning = LazyLock::new(|| with_columns(include_str!("sql/read.sql")));
pub(super) static UPDATE: Returning = LazyLock::new(|| with_columns(include_str!("sql/update.sql")));
pub(super) static TEST: Returning = LazyLock::new(|| with_columns(include_str!("sql/test.sql")));
pub(super) static ROTATE: Returning = LazyLock::new(|| with_columns(include_str!("sql/rotate.sql")));
pub(super) static CLAIM: Returning = LazyLock::new(|| with_columns(include_str!("sql/claim.sql")));

pub(super) const NEXT: &str = include_str!("sql/next.sql");
pub(super) const DELETE: &str = include_str!("sql/delete.sql");
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

/// The statements about one company outside of transactions, with the types of their parameters.
pub(crate) fn statements() -> [(&'static str, &'static str); 11] {
    [
        (*READ, "bigint, bigint"),
        (*UPDATE, "bigint, bigint, text, text[], text, text, bigint, text, text"),
        (DELETE, "bigint, bigint, text"),
        (*TEST, "bigint, bigint, text"),
        (*ROTATE, "bigint, bigint, text, double precision, integer, text"),
        (DELIVERIES, "bigint, bigint, bigint"),
        (*CLAIM, "bigint, bigint, double precision, text, double precision, double precision"),
        (FIX, "bigint, bigint, timestamptz, text, bigint"),
        (RESTORED, "bigint, bigint, bigint"),
        (PASS, "bigint, bigint, timestamptz, text, bigint, boolean"),
        (
            FINISH,
            "bigint, bigint, timestamptz, text, bigint, boolean, double precision, text, bigint, bigint, bigint, timestamptz, bigint, \
         bigint, text, bigint, boolean, boolean, bigint",
        ),
    ]
}
