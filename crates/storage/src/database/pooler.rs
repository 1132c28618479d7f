//! Poolers between the service and PostgreSQL, and whether the service can use them.

use sqlx::{Connection as _, PgConnection, Row as _, postgres::PgConnectOptions};
use tokio::time::timeout;

use super::{
    error::{DatabaseError, name},
    session,
};
use crate::limits::POOLER_CHECK_TIMEOUT;

/// How often a statement checks whether a pooler gives it another server process. Each check is one round trip.
const POOLER_CHECKS: usize = 5;

/// `protocol_violation`, the only code of `PgBouncer`.
///
/// It refuses a startup parameter, a password, or a transaction in the mode `statement`, or cannot reach its server.
pub(super) const PROTOCOL_VIOLATION: &str = "08P01";
/// `invalid_sql_statement_name` and `duplicate_prepared_statement`: a statement was prepared in another session.
const NOT_PREPARED: [&str; 2] = ["26000", "42P05"];
/// Beginnings of its messages about a parameter.
const PARAMETER: [&str; 2] = ["unsupported startup parameter", "unsupported options startup parameter"];

/// Whether connections have their own sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// Each connection has its own.
    Own,
    /// A pooler gives each transaction any session, as with `pool_mode = transaction`.
    ///
    /// It keeps prepared statements only. Settings of one caller would apply to others, and a cancelled process may serve another caller.
    Shared,
}

/// Returns whether a pooler refused a startup parameter.
pub(super) fn refuses_parameter(error: &sqlx::Error) -> bool {
    let begins = |message: &str| PARAMETER.iter().any(|parameter| message.starts_with(parameter));
    code(error).as_deref() == Some(PROTOCOL_VIOLATION)
        && error.as_database_error().is_some_and(|error| begins(error.message()))
}

fn code(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

/// Finds out whether a pooler shares sessions. Fails if the service cannot use its sessions.
pub(super) async fn check(
    first: &mut PgConnection,
    host: &PgConnectOptions,
    on_citus: bool,
) -> Result<Sessions, DatabaseError> {
    let mut is_shared = false;
    let compared = timeout(POOLER_CHECK_TIMEOUT, compare(first, host, &mut is_shared)).await;
    let host = name(host);
    match compared {
        Ok(Err(error)) if code(&error).is_some_and(|code| NOT_PREPARED.contains(&&*code)) => {
            Err(DatabaseError::NotPrepared { host })
        }
        Ok(Err(error)) if code(&error).as_deref() == Some(PROTOCOL_VIOLATION) => {
            Err(DatabaseError::StatementPooler { host })
        }
        // The transaction keeps the only session of the pooler.
        Err(_) if is_shared => Err(DatabaseError::NotPrepared { host }),
        Ok(Ok(())) if is_shared => match session::missing_in_role(first, on_citus).await {
            Ok(None) => Ok(Sessions::Shared),
            Ok(Some(statements)) => Err(DatabaseError::SharedSettings { host, statements }),
            Err(source) => Err(DatabaseError::History(source)),
        },
        _ => Ok(Sessions::Own),
    }
}

/// Runs a prepared statement before and during a transaction of another connection.
///
/// During the transaction, a pooler gives it another process, where it may not be prepared. Other clients can hide that once, so it runs a
/// few times.
async fn compare(first: &mut PgConnection, host: &PgConnectOptions, is_shared: &mut bool) -> Result<(), sqlx::Error> {
    let before = prepared_backend(first).await?;
    // A second connection may not be free now.
    let Ok(mut other) = PgConnection::connect_with(host).await else { return Ok(()) };
    sqlx::raw_sql("begin").execute(&mut other).await?;
    let of_other: i32 = sqlx::raw_sql("select pg_backend_pid()").fetch_one(&mut other).await?.try_get(0)?;
    *is_shared = of_other == before;
    for _ in 0..POOLER_CHECKS {
        *is_shared |= prepared_backend(first).await? != before;
    }
    sqlx::raw_sql("rollback").execute(&mut other).await?;
    other.close().await
}

/// Returns the server's process ID with a statement that stays prepared.
async fn prepared_backend(connection: &mut PgConnection) -> Result<i32, sqlx::Error> {
    sqlx::query_scalar("select pg_backend_pid() where $1").bind(true).fetch_one(connection).await
}
