//! Connections to PostgreSQL, and the schema.

mod availability;
mod connection;
mod connections;
mod copy;
mod lease;
mod probe;
mod reserve;
mod roles;
mod url;

pub(crate) use availability::Unavailable;
use connections::ACQUIRE_TIMEOUT;
pub(crate) use connections::{
    COPIES, Connections, End, FIRST_LOCK_TIMEOUT, Fetched, MAX_TRIES, SHARED_LOCK_TIMEOUT, SMALL, size,
};
pub(crate) use probe::probe;
pub use roles::{grant, warn_if_owner};
pub use url::options;

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use sqlx::{
    Connection as _, PgConnection, PgPool,
    migrate::Migrator,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::error::{is_disconnected, is_lock_timeout};

/// The schema's history.
static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// How long the first connection may take at start.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a read is run again while it finds a lock in its way.
const LOCK_WAIT: Duration = Duration::from_mins(1);
/// How long the first attempt of a read by key may take.
const SHORT_READ_TIMEOUT: Duration = Duration::from_secs(3);
/// How long connections of the pool are kept after the start.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the database cannot be used. The messages are for operators and hold no password.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum DatabaseError {
    #[error("the database URL is not one: {0}")]
    Url(String),
    #[error("cannot connect to the database {database} at {host}: {source}")]
    Connect { host: String, database: String, source: sqlx::Error },
    #[error("cannot bring the database's schema up to date: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    #[error(
        "cannot grant the role {role} what the service needs (it must exist: `create role {role} login`): {source}"
    )]
    Grant { role: String, source: sqlx::Error },
    #[error("cannot read the database's schema history: {0}")]
    History(sqlx::Error),
    #[error(
        "the database's schema is not up to date ({missing} of {total} steps are missing): run `compliance migrate --database-url …`"
    )]
    NotMigrated { missing: usize, total: usize },
}

/// Opens a pool of connections and makes sure that the database answers.
pub async fn connect(options: PgConnectOptions, connections: u32) -> Result<PgPool, DatabaseError> {
    let (host, database) = (options.get_host().to_owned(), options.get_database().unwrap_or("").to_owned());
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(true)
        // The service uses its own `Connections`; the pool is for what happens once, such as a migration.
        .idle_timeout(POOL_IDLE_TIMEOUT)
        .max_lifetime(Duration::from_hours(1))
        .connect_lazy_with(session(options));
    // Not through the pool: that tries until its time is up, and then knows no more than that.
    let options = pool.connect_options();
    let first = tokio::time::timeout(START_TIMEOUT, PgConnection::connect_with(&options));
    match first.await.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
        Ok(connection) => {
            // It has done what it was for; how it ends does not matter.
            let _ = connection.close().await;
            Ok(pool)
        }
        Err(source) => Err(DatabaseError::Connect { host, database, source }),
    }
}

/// Statements that a connection keeps prepared: more than the service has, so that it prepares each once.
pub(crate) const STATEMENT_CACHE: usize = 256;

/// The session parameters of every connection.
fn session(options: PgConnectOptions) -> PgConnectOptions {
    options.application_name("affiliate-compliance").statement_cache_capacity(STATEMENT_CACHE).options([
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
    ])
}

/// Brings the schema up to date. A step, and the wait for another service that is at it, may take as long as it takes.
///
/// A role that does not own the schema can do this only if there is nothing to do.
pub async fn migrate(pool: &PgPool) -> Result<(), DatabaseError> {
    match check_migrated(pool).await {
        Err(DatabaseError::NotMigrated { .. }) => {}
        other => return other,
    }
    let mut connection = pool.acquire().await.map_err(DatabaseError::History)?.detach();
    sqlx::query("set statement_timeout = 0").execute(&mut connection).await.map_err(DatabaseError::History)?;
    let mut steps = Migrator::with_migrations(MIGRATIONS.iter().cloned().collect());
    // Those of a newer version may be there already. This version works with its schema.
    steps.set_ignore_missing(true);
    steps.run(&mut connection).await?;
    let _ = connection.close().await;
    Ok(())
}

/// Refuses a database whose schema is not up to date.
pub async fn check_migrated(pool: &PgPool) -> Result<(), DatabaseError> {
    let table: Option<String> = sqlx::query_scalar("select to_regclass('_sqlx_migrations')::text")
        .fetch_one(pool)
        .await
        .map_err(DatabaseError::History)?;
    let done: HashSet<i64> = match table {
        Some(_) => sqlx::query_scalar("select version from _sqlx_migrations where success")
            .fetch_all(pool)
            .await
            .map_err(DatabaseError::History)?
            .into_iter()
            .collect(),
        None => HashSet::new(),
    };
    let (total, missing) =
        (MIGRATIONS.iter().count(), MIGRATIONS.iter().filter(|step| !done.contains(&step.version)).count());
    if missing > 0 { Err(DatabaseError::NotMigrated { missing, total }) } else { Ok(()) }
}

/// Runs a read, and once more when its connection turns out to be dead. A read has no effect that could happen twice. One
/// that waited too long for a lock, as for a change of the schema, gives up its connection and runs again.
pub(crate) async fn read<T, F: Future<Output = Result<T, sqlx::Error>>>(run: impl Fn() -> F) -> Result<T, sqlx::Error> {
    let (mut disconnected, start) = (false, Instant::now());
    loop {
        match run().await {
            Err(error) if is_disconnected(&error) && !disconnected => disconnected = true,
            Err(error) if is_lock_timeout(&error) && start.elapsed() < LOCK_WAIT => {}
            result => return result,
        }
    }
}

/// Runs a read of a few rows by key, and once more when its connection turns out to be dead, or to hang: such a read takes
/// milliseconds.
pub(crate) async fn short_read<T, F: Future<Output = Result<T, sqlx::Error>>>(
    run: impl Fn() -> F,
) -> Result<T, sqlx::Error> {
    if let Ok(result) = tokio::time::timeout(SHORT_READ_TIMEOUT, read(&run)).await {
        return result;
    }
    tracing::warn!("a read by key got no response within {} s and is sent again", SHORT_READ_TIMEOUT.as_secs());
    run().await
}
