//! The settings of each session. They are made by a statement, since poolers refuse parameters with which a connection begins.

use std::time::Duration;

use log::LevelFilter;
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection, Row as _, postgres::PgConnectOptions};
use tokio::time::timeout;

use crate::limits::{POOLER_CHECK_TIMEOUT, SHARED_LOCK_TIMEOUT, STATEMENT_CACHE};

/// None of them decides which index a statement uses. The values are written as PostgreSQL shows them.
const SETTINGS: [(&str, &str); 6] = [
    // As long as the reader of a large page may take for what is not in memory yet.
    ("statement_timeout", "2min"),
    ("idle_in_transaction_session_timeout", "1min"),
    // The statements are made for one plan each; planning them anew would cost more than running them.
    ("plan_cache_mode", "force_generic_plan"),
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    // The server stops the statements of a service that was killed.
    ("client_connection_check_interval", "1s"),
];
/// Citus makes a plan for each value of the company.
const ON_CITUS: (&str, &str) = ("plan_cache_mode", "auto");
/// The server closes connections to a service that is unreachable. Those of a pooler are its own matter.
const KEEPALIVES: [(&str, &str); 3] =
    [("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "4")];

/// What a connection begins with. `extra_float_digits` matters to servers before PostgreSQL 12 only.
pub(super) fn with_settings(options: PgConnectOptions, is_named: bool) -> PgConnectOptions {
    let options = if is_named { options } else { options.application_name("affiliate-compliance") };
    options.statement_cache_capacity(STATEMENT_CACHE).extra_float_digits(None)
}

/// Connections that callers borrow. What is slow on them is an attempt, and the service logs the whole.
pub(super) fn without_log(options: PgConnectOptions) -> PgConnectOptions {
    options.log_slow_statements(LevelFilter::Off, Duration::ZERO)
}

fn settings(on_citus: bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    SETTINGS.into_iter().map(move |setting| if on_citus && setting.0 == ON_CITUS.0 { ON_CITUS } else { setting })
}

/// Makes the settings of a session, and how long its statements wait for a lock.
pub(super) async fn set(
    connection: &mut PgConnection,
    on_citus: bool,
    lock_timeout: &'static str,
) -> Result<(), sqlx::Error> {
    let settings = settings(on_citus).chain(KEEPALIVES).chain([("lock_timeout", lock_timeout)]);
    let statements: Vec<String> = settings.map(|(name, value)| format!("set {name} = '{value}'")).collect();
    sqlx::raw_sql(AssertSqlSafe(statements.join(";"))).execute(connection).await.map(drop)
}

/// The statements that make the settings those of the role, as sessions need that connections share. `None` if they are. All of
/// their statements wait for locks as long as one that writes for several companies.
pub(super) async fn missing_in_role(
    connection: &mut PgConnection,
    on_citus: bool,
) -> Result<Option<String>, sqlx::Error> {
    let settings = settings(on_citus).chain([("lock_timeout", SHARED_LOCK_TIMEOUT)]);
    let settings: Vec<String> = settings.map(|(name, value)| format!("('{name}', '{value}')")).collect();
    let question = format!(
        "select string_agg(format('alter role %I in database %I set %s = %L', current_user, current_database(), name, value), '; ')
        from (values {}) as s (name, value) where current_setting(name) <> value",
        settings.join(",")
    );
    let asked = sqlx::raw_sql(AssertSqlSafe(question)).fetch_one(connection);
    timeout(POOLER_CHECK_TIMEOUT, asked).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))?.try_get(0)
}
