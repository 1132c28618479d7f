//! The settings of each session.

use std::time::Duration;

use log::LevelFilter;
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection, postgres::PgConnectOptions};

use crate::limits::{LOCK_TIMEOUT, STATEMENT_CACHE};

/// None of them decides which index a statement uses.
const SETTINGS: [(&str, &str); 10] = [
    ("timezone", "UTC"),
    // As long as the reader of a large page may take for what is not in memory yet.
    ("statement_timeout", "120s"),
    ("idle_in_transaction_session_timeout", "60s"),
    // The statements are made for one plan each; planning them anew would cost more than running them.
    ("plan_cache_mode", "force_generic_plan"),
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    // The server stops the statements of a service that was killed, and closes connections to one that is unreachable.
    ("client_connection_check_interval", "1s"),
    ("tcp_keepalives_idle", "10"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "4"),
];

/// Adds the settings to what a connection begins with.
pub(super) fn with_settings(options: PgConnectOptions, is_named: bool) -> PgConnectOptions {
    let options = if is_named { options } else { options.application_name("affiliate-compliance") };
    options.statement_cache_capacity(STATEMENT_CACHE).options(SETTINGS)
}

/// The same with the lock timeout of connections that callers borrow. What is slow on them is an attempt, and the service logs the
/// whole.
pub(super) fn with_lock_timeout(options: PgConnectOptions) -> PgConnectOptions {
    options.options([("lock_timeout", LOCK_TIMEOUT)]).log_slow_statements(LevelFilter::Off, Duration::ZERO)
}

/// Makes the settings by statements, in a session that a pooler began without them.
pub(super) async fn set(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let settings = SETTINGS.iter().chain(&[("lock_timeout", LOCK_TIMEOUT)]);
    let statements: Vec<String> = settings.map(|(name, value)| format!("set {name} = '{value}'")).collect();
    sqlx::raw_sql(AssertSqlSafe(statements.join(";"))).execute(connection).await.map(drop)
}
