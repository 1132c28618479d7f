//! Connections to PostgreSQL, and the schema.

mod connections;
mod url;

use connections::ACQUIRE_TIMEOUT;
pub(crate) use connections::{Connections, MAX_TRIES};
pub use url::options;

use std::{collections::HashSet, time::Duration};

use sqlx::{
    Connection as _, PgConnection, PgPool,
    migrate::Migrator,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::error::is_disconnected;

/// The schema's history.
static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// How long the first connection may take at start.
const START_TIMEOUT: Duration = Duration::from_secs(10);

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
        .min_connections(1)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        // `Connections` keeps what it acquires for many statements, so the ping costs one round trip for all of them.
        // Without it, the retry of a read could acquire another dead connection.
        .test_before_acquire(true)
        .idle_timeout(Duration::from_mins(10))
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

/// The session parameters of every connection.
fn session(options: PgConnectOptions) -> PgConnectOptions {
    options
        .application_name("affiliate-compliance")
        // More than the service has statements, so that each is prepared once a connection.
        .statement_cache_capacity(512)
        .options([
            ("timezone", "UTC"),
            ("statement_timeout", "60s"),
            ("idle_in_transaction_session_timeout", "60s"),
            // The statements are made for one plan each; planning them anew would cost more than running them.
            ("plan_cache_mode", "force_generic_plan"),
            ("jit", "off"),
            ("max_parallel_workers_per_gather", "0"),
        ])
}

/// Brings the schema up to date. A step, and the wait for another service that is at it, may take as long as it takes.
pub async fn migrate(pool: &PgPool) -> Result<(), DatabaseError> {
    let mut connection = pool.acquire().await.map_err(DatabaseError::History)?.detach();
    sqlx::query("set statement_timeout = 0").execute(&mut connection).await.map_err(DatabaseError::History)?;
    MIGRATIONS.run(&mut connection).await?;
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

/// Runs a read, and once more when its connection turns out to be dead. A read has no effect that could happen twice.
pub(crate) async fn read<T, F: Future<Output = Result<T, sqlx::Error>>>(run: impl Fn() -> F) -> Result<T, sqlx::Error> {
    match run().await {
        Err(error) if is_disconnected(&error) => run().await,
        result => result,
    }
}
