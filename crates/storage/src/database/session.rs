//! Applies session settings, and detects poolers that share sessions.
//!
//! The service applies the settings with a statement, because poolers reject startup parameters.

use std::time::Duration;

use log::LevelFilter;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, Row as _, postgres::PgConnectOptions};
use tokio::time::timeout;

use super::error::{DatabaseError, name};
use crate::limits::{LOCK_TIMEOUT, POOLER_CHECK_TIMEOUT, STATEMENT_CACHE};

/// Session settings, with values as PostgreSQL shows them. None affects which index a statement uses.
const SETTINGS: [(&str, &str); 6] = [
    // Maximum time for a client to read a large page.
    ("statement_timeout", "2min"),
    ("idle_in_transaction_session_timeout", "1min"),
    // Each statement is written for one plan. Replanning it would cost more than running it.
    ("plan_cache_mode", "force_generic_plan"),
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    // Makes the server end a killed service's statements.
    ("client_connection_check_interval", "1s"),
];
/// Citus needs a separate plan per company.
const ON_CITUS: (&str, &str) = ("plan_cache_mode", "auto");
/// Settings that make the server close connections to an unreachable service. A pooler has its own settings.
const KEEPALIVES: [(&str, &str); 3] =
    [("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "4")];

/// Number of checks for a pooler that switches server processes. Each check is one round trip.
const POOLER_CHECKS: usize = 5;

/// `protocol_violation`, the only code that `PgBouncer` reports.
///
/// The pooler rejects a startup parameter, a password, or a transaction in `statement` mode, or cannot reach its server.
pub(super) const PROTOCOL_VIOLATION: &str = "08P01";
/// `invalid_sql_statement_name` and `duplicate_prepared_statement`: a statement was prepared in a different session.
const NOT_PREPARED: [&str; 2] = ["26000", "42P05"];
/// Prefixes of `PgBouncer`'s messages about parameters.
const PARAMETER: [&str; 2] = ["unsupported startup parameter", "unsupported options startup parameter"];

/// Sets the options of a new connection. `extra_float_digits` matters only before PostgreSQL 12.
pub(super) fn with_settings(options: PgConnectOptions, is_named: bool) -> PgConnectOptions {
    let options = if is_named { options } else { options.application_name("affiliate-compliance") };
    options.statement_cache_capacity(STATEMENT_CACHE).extra_float_digits(None)
}

/// Disables sqlx's slow statement log. It would log each attempt, but the service logs whole statements.
pub(super) fn without_log(options: PgConnectOptions) -> PgConnectOptions {
    options.log_slow_statements(LevelFilter::Off, Duration::ZERO)
}

fn settings(on_citus: bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    SETTINGS.into_iter().map(move |setting| if on_citus && setting.0 == ON_CITUS.0 { ON_CITUS } else { setting })
}

/// Applies the settings and the lock timeout to a session.
pub(super) async fn set(
    connection: &mut PgConnection,
    on_citus: bool,
    lock_timeout: &'static str,
) -> Result<(), sqlx::Error> {
    let settings = settings(on_citus).chain(KEEPALIVES).chain([("lock_timeout", lock_timeout)]);
    let statements: Vec<String> = settings.map(|(name, value)| format!("set {name} = '{value}'")).collect();
    sqlx::raw_sql(AssertSqlSafe(statements.join(";"))).execute(connection).await.map(drop)
}

/// Returns statements that set the role's missing settings, which shared sessions need.
///
/// Accepts any lock timeout up to the service's own.
async fn missing_in_role(connection: &mut PgConnection, on_citus: bool) -> Result<Option<String>, sqlx::Error> {
    let settings = settings(on_citus).chain([("lock_timeout", LOCK_TIMEOUT)]);
    let settings: Vec<String> = settings.map(|(name, value)| format!("('{name}', '{value}')")).collect();
    let question = format!(
        "select string_agg(format('alter role %I in database %I set %s = %L', current_user, current_database(), name, value), '; ')
        from (values {}) as s (name, value) where case name
            when 'lock_timeout' then current_setting(name)::interval not between '1ms' and value::interval
            else current_setting(name) <> value end",
        settings.join(",")
    );
    let asked = sqlx::raw_sql(AssertSqlSafe(question)).fetch_one(connection);
    timeout(POOLER_CHECK_TIMEOUT, asked).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))?.try_get(0)
}

/// Whether connections have their own sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// Each connection has its own session.
    Own,
    /// A pooler assigns any session to each transaction, as with `pool_mode = transaction`.
    ///
    /// The pooler preserves only prepared statements. One caller's settings would affect other callers.
    Shared,
}

/// Returns whether a pooler rejected a startup parameter.
pub(super) fn refuses_parameter(error: &sqlx::Error) -> bool {
    let begins = |message: &str| PARAMETER.iter().any(|parameter| message.starts_with(parameter));
    code(error).as_deref() == Some(PROTOCOL_VIOLATION)
        && error.as_database_error().is_some_and(|error| begins(error.message()))
}

fn code(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

/// Detects whether a pooler shares sessions. Fails if the service cannot use them.
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
        // The transaction occupies the pooler's only session.
        Err(_) if is_shared => Err(DatabaseError::NotPrepared { host }),
        Ok(Ok(())) if is_shared => match missing_in_role(first, on_citus).await {
            Ok(None) => Ok(Sessions::Shared),
            Ok(Some(statements)) => Err(DatabaseError::SharedSettings { host, statements }),
            Err(source) => Err(DatabaseError::History(source)),
        },
        _ => Ok(Sessions::Own),
    }
}

/// Runs a prepared statement before and during another connection's transaction.
///
/// During the transaction, a pooler assigns a different server process, where the statement may not be prepared. Other clients can hide this once, so
/// the statement runs several times.
async fn compare(first: &mut PgConnection, host: &PgConnectOptions, is_shared: &mut bool) -> Result<(), sqlx::Error> {
    let before = prepared_backend(first).await?;
    // A second connection may be unavailable.
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

/// Returns the server's process ID, using a statement that stays prepared.
async fn prepared_backend(connection: &mut PgConnection) -> Result<i32, sqlx::Error> {
    sqlx::query_scalar("select pg_backend_pid() where $1").bind(true).fetch_one(connection).await
}
