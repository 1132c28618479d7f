//! Converts database errors. Logs contain the error text, and callers receive its meaning.

use std::io;

use batcher::BatchError;
use compliance_api::error::{Error, Reason};
use telemetry::{error_limited, warn_limited};

use crate::metrics::{
    EXHAUSTED_CONNECTIONS, EXHAUSTED_DISK, EXHAUSTED_MEMORY, EXHAUSTED_OTHER, EXHAUSTED_READ_ONLY, count_exhausted,
};

/// `read_only_sql_transaction`: the server is now a standby, or an operator has made it read-only.
const READ_ONLY: &str = "25006";

/// Message for a record with an infinite date, or another value that requests cannot set.
const OUT_OF_RANGE: &str = "The record contains an out-of-range value. Ask the service operator to correct it.";

/// Why a statement was not sent, or its result was not awaited. Source of a [`sqlx::Error::Io`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unavailable {
    /// Nothing was sent, because the database did not respond to a check.
    #[error("the database does not respond")]
    Down,
    #[error("the database connection hangs")]
    Hung,
    #[error(
        "the database does not accept writes: it is a standby, or `default_transaction_read_only` is on for the role or database"
    )]
    ReadOnly,
    #[error("the database was restored and is not ready")]
    Restored,
}

impl Unavailable {
    /// Returns the reason in an error, if any.
    pub(crate) fn of(error: &sqlx::Error) -> Option<Self> {
        let sqlx::Error::Io(error) = error else { return None };
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<Unavailable> for sqlx::Error {
    fn from(reason: Unavailable) -> Self {
        Self::Io(io::Error::new(io::ErrorKind::NotConnected, reason))
    }
}

/// Returns an error's text for operators: the server's message and code, without the PostgreSQL source line that sqlx adds.
pub fn text(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(database) => match database.code() {
            Some(code) => format!("{} (SQLSTATE {code})", database.message()),
            None => database.message().to_owned(),
        },
        sqlx::Error::Io(error) => tls::plain(&error.to_string()),
        other => tls::plain(&other.to_string()),
    }
}

/// Converts a database error to the caller's error.
pub fn from_database(error: sqlx::Error) -> Error {
    match &error {
        // The probe has already logged the outage.
        error if Unavailable::of(error) == Some(Unavailable::Down) => Error::database_unavailable(),
        sqlx::Error::PoolTimedOut => {
            warn_limited!("timed out waiting for a database connection");
            Error::database_unavailable()
        }
        sqlx::Error::Database(database) => match database.code().as_deref() {
            // query_canceled: the statement reached its timeout. lock_not_available: it waited too long for another writer.
            Some("57014" | "55P03") => Error::deadline_exceeded(),
            Some(code) if let Some((reason, resource)) = exhausted(code) => {
                count_exhausted(reason);
                error_limited!(code, reason, "the database has run out of {resource}: {}", text(&error));
                Error::database_unavailable()
            }
            // check_violation: requests are validated first, so the record already contained a forbidden value.
            Some("23514") if database.constraint().is_some_and(is_of_values) => {
                error_limited!(
                    constraint = database.constraint(),
                    "a stored record contains an out-of-range value (run `compliance doctor --counts` to find it): {}",
                    text(&error)
                );
                Error::new(Reason::FailedPrecondition, OUT_OF_RANGE)
            }
            Some(code) if is_unavailable(code) => {
                if code == READ_ONLY {
                    count_exhausted(EXHAUSTED_READ_ONLY);
                }
                warn_limited!(code, "the database is unavailable: {}", text(&error));
                Error::database_unavailable()
            }
            code => {
                error_limited!(
                    code,
                    constraint = database.constraint(),
                    "the database rejected a statement: {}",
                    text(&error)
                );
                Error::internal()
            }
        },
        error if is_disconnected(error) => {
            warn_limited!("cannot reach the database: {}", text(error));
            Error::database_unavailable()
        }
        error => {
            error_limited!("cannot read the database's response: {}", text(error));
            Error::internal()
        }
    }
}

/// Converts a batcher error to the caller's error.
pub fn from_batcher(error: BatchError) -> Error {
    match error {
        BatchError::QueueFull => Error::overloaded(),
        BatchError::Closed => Error::internal(),
    }
}

/// Returns whether the connection was lost before or during the statement. If so, a read can be retried.
pub fn is_disconnected(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(database) => database.code().as_deref().is_some_and(is_unavailable),
        _ => false,
    }
}

/// Returns whether the statement conflicted with a concurrent one.
///
/// The cause is a deadlock, a serialization failure, a taken unique key, or an erased record.
pub fn is_contention(error: &sqlx::Error) -> bool {
    has_code(error, &["40P01", "40001", "23505", "23503"])
}

/// Returns whether a unique key was taken (`unique_violation`). The statement changed nothing.
pub fn is_unique_violation(error: &sqlx::Error) -> bool {
    has_code(error, &["23505"])
}

/// Returns whether a lock or a deadlock stopped a schema change. The statement changed nothing.
pub fn is_in_the_way(error: &sqlx::Error) -> bool {
    has_code(error, &["55P03", "40P01"])
}

/// Returns whether a lock wait timed out (`lock_not_available`). The statement changed nothing.
pub fn is_lock_timeout(error: &sqlx::Error) -> bool {
    has_code(error, &["55P03"])
}

/// Returns whether a write timed out waiting for locks.
///
/// If the time runs out between two locks, PostgreSQL reports `query_canceled`.
pub fn is_lock_timeout_of_write(error: &sqlx::Error) -> bool {
    has_code(error, &["55P03", "57014"])
}

/// Returns whether another Citus node was unreachable.
///
/// Such an error says nothing about this connection. These codes are the `connection_exception`s that a server itself reports.
pub fn is_of_other_node(error: &sqlx::Error) -> bool {
    has_code(error, &["08000", "08001", "08003", "08006"])
}

/// Returns whether the statement refers to a missing object. The statement changed nothing.
///
/// `undefined_table`, `undefined_function`, `undefined_object`, `invalid_schema_name`.
pub fn is_missing_object(error: &sqlx::Error) -> bool {
    has_code(error, &["42P01", "42883", "42704", "3F000"])
}

/// Returns whether a connection refers to objects that no longer exist, as after a restore.
///
/// Outside a transaction, the statement changed nothing.
///
/// PostgreSQL has no code for a missing type (it reports `internal_error`, which also has other causes) or for a plan with
/// different columns (`feature_not_supported`).
pub fn is_stale(error: &sqlx::Error) -> bool {
    let is_lookup =
        || error.as_database_error().is_some_and(|error| error.message().starts_with("cache lookup failed"));
    is_missing_object(error) || has_code(error, &["0A000", "26000"]) || has_code(error, &["XX000"]) && is_lookup()
}

/// Returns whether the company's records have moved to a different Citus node. The statement changed nothing.
pub fn is_moved(error: &sqlx::Error) -> bool {
    has_code(error, &["40001"])
}

/// Returns whether the server ran out of a resource, such as disk space. The statement changed nothing.
pub fn is_exhausted(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(database) = error else { return false };
    database.code().is_some_and(|code| exhausted(&code).is_some())
}

/// Returns the exhausted resource for a SQLSTATE: its metric label, and its name in the log.
fn exhausted(code: &str) -> Option<(&'static str, &'static str)> {
    match code {
        "53100" => Some((EXHAUSTED_DISK, "disk space")),
        "53200" => Some((EXHAUSTED_MEMORY, "memory")),
        "53300" => Some((EXHAUSTED_CONNECTIONS, "connections")),
        code => code.starts_with("53").then_some((EXHAUSTED_OTHER, "a resource limited by its settings")),
    }
}

fn has_code(error: &sqlx::Error, codes: &[&str]) -> bool {
    let sqlx::Error::Database(database) = error else { return false };
    database.code().is_some_and(|code| codes.contains(&&*code))
}

/// Returns whether a constraint limits dates or IDs. Only manual SQL can violate such a limit.
fn is_of_values(constraint: &str) -> bool {
    ["_dates_check", "_id_check"].iter().any(|end| constraint.ends_with(end))
}

/// Returns whether a SQLSTATE means that the server is unavailable.
///
/// The server is down, shutting down, full, or now a standby. Or it rejects the password of a new connection, because the password is being
/// replaced (`invalid_password`, `invalid_authorization_specification`). Or its database is being replaced, and has a different name
/// (`invalid_catalog_name`) or rejects connections (`object_not_in_prerequisite_state`).
fn is_unavailable(code: &str) -> bool {
    code.starts_with("08")
        || code.starts_with("57P0")
        || matches!(code, "28000" | "28P01" | "3D000" | "53300" | "55000" | READ_ONLY)
}
