//! Settings of each session. A statement sets them, because poolers refuse startup parameters.

use std::time::Duration;

use log::LevelFilter;
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection, Row as _, postgres::PgConnectOptions};
use tokio::time::timeout;

use crate::limits::{POOLER_CHECK_TIMEOUT, SHARED_LOCK_TIMEOUT, STATEMENT_CACHE};

/// No setting decides which index a statement uses. The values are written as PostgreSQL shows them.
const SETTINGS: [(&str, &str); 6] = [
    // As long as a client may take to read a large page.
    ("statement_timeout", "2min"),
    ("idle_in_transaction_session_timeout", "1min"),
    // Each statement is written for one plan. Planning it again would cost more than running it.
    ("plan_cache_mode", "force_generic_plan"),
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    // The server ends the statements of a killed service.
    ("client_connection_check_interval", "1s"),
];
/// Citus needs a plan for each company.
const ON_CITUS: (&str, &str) = ("plan_cache_mode", "auto");
/// The server closes connections to an unreachable service. A pooler has settings of its own.
const KEEPALIVES: [(&str, &str); 3] =
    [("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "4")];

/// Sets the options of a new connection. `extra_float_digits` matters only before PostgreSQL 12.
pub(super) fn with_settings(options: PgConnectOptions, is_named: bool) -> PgConnectOptions {
    let options = if is_named { options } else { options.application_name("affiliate-compliance") };
    options.statement_cache_capacity(STATEMENT_CACHE).extra_float_digits(None)
}

/// Disables sqlx's log of slow statements: it would log attempts, and the service logs whole statements.
pub(super) fn without_log(options: PgConnectOptions) -> PgConnectOptions {
    options.log_slow_statements(LevelFilter::Off, Duration::ZERO)
}

fn settings(on_citus: bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    SETTINGS.into_iter().map(move |setting| if on_citus && setting.0 == ON_CITUS.0 { ON_CITUS } else { setting })
}

/// Sets the settings and the lock timeout of a session.
pub(super) async fn set(
    connection: &mut PgConnection,
    on_citus: bool,
    lock_timeout: &'static str,
) -> Result<(), sqlx::Error> {
    let settings = settings(on_citus).chain(KEEPALIVES).chain([("lock_timeout", lock_timeout)]);
    let statements: Vec<String> = settings.map(|(name, value)| format!("set {name} = '{value}'")).collect();
    sqlx::raw_sql(AssertSqlSafe(statements.join(";"))).execute(connection).await.map(drop)
}

/// Returns the statements that set missing settings for the role, which shared sessions need.
///
/// All statements of shared sessions have the lock timeout of a statement that writes for several companies.
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
