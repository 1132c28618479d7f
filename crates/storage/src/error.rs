//! Errors of the database: the text goes to the log, the meaning to the caller.

use std::io;

use batcher::BatchError;
use compliance_api::error::{Error, Reason};

use crate::metrics::{
    EXHAUSTED_CONNECTIONS, EXHAUSTED_DISK, EXHAUSTED_MEMORY, EXHAUSTED_OTHER, EXHAUSTED_READ_ONLY, count_exhausted,
};

/// `read_only_sql_transaction`: the server has become a standby, or an operator has set it so.
const READ_ONLY: &str = "25006";

/// The sentence for a record that has an infinite date, or another value that requests cannot have.
const OUT_OF_RANGE: &str =
    "The record has a value that is out of range. Ask the operator of the service to correct it.";

/// Why a statement was not sent, or not waited for. It is the source of a [`sqlx::Error::Io`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unavailable {
    /// The database was known not to respond, so nothing was sent.
    #[error("the database does not respond")]
    Down,
    #[error("the connection to the database hangs")]
    Hung,
    #[error("the database takes no writes")]
    ReadOnly,
    #[error("the database was restored, and is not ready")]
    Restored,
    #[error("the server is not a standby")]
    NoStandby,
    #[error("the replica belongs to another cluster, or follows another timeline than the primary")]
    OtherHistory,
    #[error("the replica has not replayed in time what was written")]
    Behind,
}

impl Unavailable {
    /// The reason in `error`, if it is one of these.
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

/// The error that a caller sees for an error of the database.
pub fn from_database(error: sqlx::Error) -> Error {
    match &error {
        // The probe has logged it once.
        error if Unavailable::of(error) == Some(Unavailable::Down) => Error::database_unavailable(),
        sqlx::Error::PoolTimedOut => {
            tracing::warn!("no database connection became free in time");
            Error::database_unavailable()
        }
        sqlx::Error::Database(database) => match database.code().as_deref() {
            // query_canceled: the statement's time was up. lock_not_available: another writer was in the way for too long.
            Some("57014" | "55P03") => Error::deadline_exceeded(),
            Some(code) if let Some(reason) = exhausted(code) => {
                count_exhausted(reason);
                tracing::error!(code, reason, "the database has run out of {}: {error}", what(reason));
                Error::database_unavailable()
            }
            // check_violation: what requests have is checked before, so the record had such a value already.
            Some("23514") if database.constraint().is_some_and(is_of_values) => {
                tracing::error!(
                    constraint = database.constraint(),
                    "a record has a value that no write may have (`compliance doctor --counts` names it): {error}"
                );
                Error::new(Reason::FailedPrecondition, OUT_OF_RANGE)
            }
            Some(code) if is_unavailable(code) => {
                if code == READ_ONLY {
                    count_exhausted(EXHAUSTED_READ_ONLY);
                }
                tracing::warn!(code, "the database cannot serve: {error}");
                Error::database_unavailable()
            }
            code => {
                tracing::error!(code, constraint = database.constraint(), "the database rejected a statement: {error}");
                Error::internal()
            }
        },
        error if is_disconnected(error) => {
            tracing::warn!("the database cannot be reached: {error}");
            Error::database_unavailable()
        }
        error => {
            tracing::error!("the database's response cannot be read: {error}");
            Error::internal()
        }
    }
}

/// The error that a caller sees whose request was not part of a batch.
pub fn from_batcher(error: BatchError) -> Error {
    match error {
        BatchError::QueueFull => Error::overloaded(),
        BatchError::Closed => Error::internal(),
    }
}

/// Whether the connection was lost before or while the statement ran. A read may then be retried.
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

/// Whether the statement lost against a concurrent one: a deadlock, a serialization failure, a unique key that was taken, or a record that
/// was erased.
pub fn is_contention(error: &sqlx::Error) -> bool {
    has_code(error, &["40P01", "40001", "23505", "23503"])
}

/// Whether the statement would have written a unique key a second time, `unique_violation`. It changed nothing.
pub fn is_unique_violation(error: &sqlx::Error) -> bool {
    has_code(error, &["23505"])
}

/// Whether a change of the schema had to give way: to a lock that others hold, or in a deadlock with them. It changed nothing.
pub fn is_in_the_way(error: &sqlx::Error) -> bool {
    has_code(error, &["55P03", "40P01"])
}

/// Whether the statement waited for a lock longer than it may, `lock_not_available`. It changed nothing.
pub fn is_lock_timeout(error: &sqlx::Error) -> bool {
    has_code(error, &["55P03"])
}

/// The same of a write, which may wait for several locks. If the time is up just when one is granted, and the statement waits for
/// the next one, PostgreSQL reports `query_canceled`.
pub fn is_lock_timeout_of_write(error: &sqlx::Error) -> bool {
    has_code(error, &["55P03", "57014"])
}

/// Whether another node of Citus could not be reached, which says nothing about the connection to this one: the
/// `connection_exception`s that a server reports itself.
pub fn is_of_other_node(error: &sqlx::Error) -> bool {
    has_code(error, &["08000", "08001", "08003", "08006"])
}

/// Whether the statement names what the database does not have: `undefined_table`, `undefined_function`, `undefined_object`,
/// `invalid_schema_name`. It changed nothing.
pub fn is_missing_object(error: &sqlx::Error) -> bool {
    has_code(error, &["42P01", "42883", "42704", "3F000"])
}

/// Whether a connection knows types, tables or statements that the database no longer has, as after a restore while it was open. The
/// statement changed nothing, unless it was a part of a transaction. PostgreSQL has no code of its own for a type that is gone
/// (`internal_error`, which also has other causes), nor for a plan whose columns are others (`feature_not_supported`).
pub fn is_stale(error: &sqlx::Error) -> bool {
    let is_lookup =
        || error.as_database_error().is_some_and(|error| error.message().starts_with("cache lookup failed"));
    is_missing_object(error) || has_code(error, &["0A000", "26000"]) || has_code(error, &["XX000"]) && is_lookup()
}

/// Whether the records of the company have moved to another node of Citus, which knows where the next statement goes. It changed
/// nothing.
pub fn is_moved(error: &sqlx::Error) -> bool {
    has_code(error, &["40001"])
}

/// Whether the server had no more of something that a statement needs, such as room on its disk. The statement changed nothing.
pub fn is_exhausted(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(database) = error else { return false };
    database.code().is_some_and(|code| exhausted(&code).is_some())
}

/// What a server has no more of, by the SQLSTATE of the class "insufficient resources".
fn exhausted(code: &str) -> Option<&'static str> {
    match code {
        "53100" => Some(EXHAUSTED_DISK),
        "53200" => Some(EXHAUSTED_MEMORY),
        "53300" => Some(EXHAUSTED_CONNECTIONS),
        code => code.starts_with("53").then_some(EXHAUSTED_OTHER),
    }
}

fn what(reason: &str) -> &'static str {
    match reason {
        EXHAUSTED_DISK => "disk space",
        EXHAUSTED_MEMORY => "memory",
        EXHAUSTED_CONNECTIONS => "connections",
        _ => "a resource that its settings limit",
    }
}

fn has_code(error: &sqlx::Error, codes: &[&str]) -> bool {
    let sqlx::Error::Database(database) = error else { return false };
    database.code().is_some_and(|code| codes.contains(&&*code))
}

/// Whether a constraint bounds dates or IDs that only somebody with `psql` can write.
fn is_of_values(constraint: &str) -> bool {
    ["_dates_check", "_id_check"].iter().any(|end| constraint.ends_with(end))
}

/// SQLSTATEs of a server that is away, going away or full, or that has become a standby, which takes no writes; or whose database is being
/// replaced, and so has another name (`invalid_catalog_name`) or takes no connections (`object_not_in_prerequisite_state`).
fn is_unavailable(code: &str) -> bool {
    code.starts_with("08") || code.starts_with("57P0") || matches!(code, "53300" | READ_ONLY | "3D000" | "55000")
}
