//! Connections to PostgreSQL, and the schema.

mod citus;
mod connection;
mod connections;
mod current;
mod executor;
mod lease;
mod pooler;
mod probe;
mod replicas;
mod reserve;
pub mod restores;
mod session;
mod steps;
mod target;
mod url;

pub use citus::{Nodes, Session, check_nodes, statements_on_shards, watch_nodes};
pub use connection::Unavailable;
pub use connections::{Connections, End, Fetched, SharedConnections, copy_within, size};
pub use lease::Lease;
pub use probe::probe;

pub use replicas::{ReadTarget, probe_replica, replica_states};
pub use restores::{Jump, jump_ahead};
pub use target::{HostState, Target};
pub use url::target;

use std::time::Instant;

use self::pooler::Sessions;
use sqlx::{
    Connection as _, PgPool,
    migrate::{MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::time::timeout;

use crate::{
    Schema,
    error::{is_disconnected, is_in_the_way, is_lock_timeout, is_moved, is_stale},
    limits::{
        ACQUIRE_TIMEOUT, LOCK_WAIT, MIGRATION_LOCK_WAIT, MIGRATION_PAUSE, POOLER_CHECK_TIMEOUT, SHORT_READ_TIMEOUT,
        START_TIMEOUT,
    },
    metrics::{RETRY_CONNECTION, RETRY_LOCK, RETRY_REPLICA, RETRY_SILENCE, count_read, count_retry},
    statement::Watch,
};

/// Of connections that no caller borrows.
const NO_LOCK_TIMEOUT: &str = "0";

/// Why the database cannot be used. The messages are for operators and hold no password.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum DatabaseError {
    #[error("the database URL is not one: {0}")]
    Url(String),
    #[error("cannot connect to the database {database} at {host}: {source}")]
    Connect { host: String, database: String, source: sqlx::Error },
    #[error("no host of the database {database} takes writes: {reasons}")]
    NoHost { database: String, reasons: String },
    #[error(
        "{host} refuses a parameter of the database URL ({source}): a pooler such as PgBouncer is in between. Take `options` \
         out of the URL, and make what it sets a setting of the role (`alter role … set …`)"
    )]
    Parameter { host: String, source: sqlx::Error },
    #[error(
        "at {host}, a pooler such as PgBouncer allows no transactions (`pool_mode = statement`), which the service needs: use \
         `pool_mode = transaction` or `session`, or connect to PostgreSQL itself"
    )]
    StatementPooler { host: String },
    #[error(
        "at {host}, a pooler such as PgBouncer changes the server's process between transactions (`pool_mode = transaction`) \
         and does not keep prepared statements there, which the service needs: use PgBouncer 1.21 or newer with \
         `max_prepared_statements` above 0 (0 is its default before 1.24) and more than one server connection, \
         `pool_mode = session`, or connect to PostgreSQL itself"
    )]
    NotPrepared { host: String },
    #[error(
        "at {host}, a pooler such as PgBouncer changes the server's process between transactions (`pool_mode = transaction`), \
         so the role of the service must have its settings. Run these statements as that role, and let the pooler open new \
         connections to the server (`reconnect` in its console): {statements}"
    )]
    SharedSettings { host: String, statements: String },
    #[error(
        "at {host}, a pooler such as PgBouncer changes the server's process between transactions (`pool_mode = transaction`), \
         so it is not known what the replica has replayed: use `pool_mode = session`, or connect to PostgreSQL itself"
    )]
    SharedReplica { host: String },
    #[error(
        "{command} needs a session of its own, and a pooler such as PgBouncer changes it between transactions \
         (`pool_mode = transaction`): run it with the URL of PostgreSQL itself"
    )]
    SharedSession { command: &'static str },
    #[error(
        "the database was made by another version of step {step}, so this program can neither use nor upgrade it. Export its \
         records with the program that made it (`compliance export`), and import them into a new database with this one"
    )]
    Modified { step: String },
    #[error("cannot bring the database's schema up to date: {0}")]
    Migrate(#[from] MigrateError),
    #[error(
        "cannot grant the role {role} what the service needs (it must exist: `create role {role} login`): {source}"
    )]
    Grant { role: String, source: sqlx::Error },
    #[error("cannot set for how long changes are kept: {0}")]
    Retention(sqlx::Error),
    #[error("cannot read the database's schema history: {0}")]
    History(sqlx::Error),
    #[error(
        "the database's schema is not up to date ({missing} of {total} steps are missing): run `compliance migrate --database-url …`"
    )]
    NotMigrated { missing: usize, total: usize },
    #[error("the database has Citus {version}, and the service needs 12.1 or newer")]
    OldCitus { version: String },
    #[error("the database has Citus, whose reads cannot run on replicas: take --read-database-url out")]
    CitusReplica,
    #[error(
        "this is not the coordinator of Citus: give its URL, once it has its nodes \
         (`citus_set_coordinator_host`, `citus_add_node`)"
    )]
    NotCoordinator,
    #[error(
        "Citus was installed after the schema, so its nodes lack types and functions: install it in an empty database, migrate \
         that, and copy the records"
    )]
    LateCitus,
    #[error("cannot distribute the tables over the nodes of Citus: {0}")]
    Distribute(sqlx::Error),
    #[error(
        "the schema is not up to date on Citus (not distributed: {tables}; missing functions: {functions}): run \
         `compliance migrate --database-url …`"
    )]
    NotDistributed { tables: String, functions: usize },
}

impl DatabaseError {
    /// Whether the same attempt may succeed later: the database may start, a password may be rotated, another program may
    /// migrate the schema.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Connect { source, .. } => !matches!(source, sqlx::Error::Configuration(_)),
            Self::NoHost { .. }
            | Self::History(_)
            | Self::NotMigrated { .. }
            | Self::NotDistributed { .. }
            | Self::SharedSession { .. } => true,
            Self::Url(_)
            | Self::Parameter { .. }
            | Self::StatementPooler { .. }
            | Self::NotPrepared { .. }
            | Self::SharedSettings { .. }
            | Self::SharedReplica { .. }
            | Self::Modified { .. }
            | Self::Migrate(_)
            | Self::Grant { .. }
            | Self::Retention(_)
            | Self::OldCitus { .. }
            | Self::CitusReplica
            | Self::NotCoordinator
            | Self::LateCitus
            | Self::Distribute(_) => false,
        }
    }
}

impl DatabaseError {
    /// Whether somebody must change a setting: the URL, a pooler in between, or which database it is.
    pub fn is_wrong_setting(&self) -> bool {
        matches!(
            self,
            Self::Url(_)
                | Self::Parameter { .. }
                | Self::StatementPooler { .. }
                | Self::NotPrepared { .. }
                | Self::SharedSettings { .. }
                | Self::SharedReplica { .. }
                | Self::SharedSession { .. }
                | Self::Modified { .. }
                | Self::OldCitus { .. }
                | Self::CitusReplica
                | Self::NotCoordinator
                | Self::LateCitus
        )
    }
}

/// A database with a pool of connections to the host that serves.
#[derive(Clone, Debug)]
pub struct Database {
    /// The connections.
    pub pool: PgPool,
    pub target: Target,
    pub sessions: Sessions,
    pub on_citus: bool,
    /// Where reads may run instead.
    pub replicas: Option<ReadTarget>,
}

impl Database {
    /// The same database, whose reads may run on replicas. Refused on Citus, of which a replica has one node.
    pub fn with_replicas(self, replicas: Option<ReadTarget>) -> Result<Self, DatabaseError> {
        if self.on_citus && replicas.is_some() {
            Err(DatabaseError::CitusReplica)
        } else {
            Ok(Self { replicas, ..self })
        }
    }

    /// Connections that a service may have to it and to its replicas, each as many as to the database.
    pub fn max_connections(&self) -> usize {
        let servers = 1 + self.replicas.as_ref().map_or(0, |replicas| replicas.target.hosts().count());
        servers * self.pool.options().get_max_connections() as usize
    }

    /// Refuses a command that sets something for its session, or keeps a lock there, if connections share sessions.
    pub fn require_session(&self, command: &'static str) -> Result<(), DatabaseError> {
        match self.sessions {
            Sessions::Own => Ok(()),
            Sessions::Shared => Err(DatabaseError::SharedSession { command }),
        }
    }
}

impl From<&Database> for Database {
    fn from(database: &Database) -> Self {
        database.clone()
    }
}

/// A database of one host without a pooler in between and without Citus, whose password does not change.
impl From<&PgPool> for Database {
    fn from(pool: &PgPool) -> Self {
        let target = Target::from((*pool.connect_options()).clone());
        Self { pool: pool.clone(), target, sessions: Sessions::Own, on_citus: false, replicas: None }
    }
}

/// Opens a pool of connections and makes sure that the database responds.
pub async fn connect(options: PgConnectOptions, connections: u32) -> Result<PgPool, DatabaseError> {
    Ok(open(options.into(), connections).await?.pool)
}

/// Opens a pool of connections to the first host that serves, and makes sure that the service can use its sessions. A URL in a file
/// is read again before.
pub async fn open(target: Target, connections: u32) -> Result<Database, DatabaseError> {
    let target = target.latest();
    // Not through the pool, which tries until its time is up and then knows no more than that.
    let (host, mut first) = target.first().await?;
    let on_citus = citus::is_installed(&mut first).await?;
    let sessions = pooler::check(&mut first, host, on_citus).await?;
    // The service uses its own `Connections`; the pool is for what happens once, such as a migration.
    let pool = PgPoolOptions::new().max_connections(connections);
    let pool = pool.acquire_timeout(ACQUIRE_TIMEOUT).idle_timeout(START_TIMEOUT);
    let pool = match sessions {
        Sessions::Own => {
            pool.after_connect(move |connection, _| Box::pin(session::set(connection, on_citus, NO_LOCK_TIMEOUT)))
        }
        Sessions::Shared => {
            tracing::info!(
                host = target::name(host),
                "a pooler shares sessions: those of the role's settings are used"
            );
            pool
        }
    };
    let _ = timeout(POOLER_CHECK_TIMEOUT, first.close()).await;
    let pool = pool.connect_lazy_with(host.clone());
    Ok(Database { pool, target, sessions, on_citus, replicas: None })
}

/// Brings the schema up to date. It may take any time, but waits for each lock only briefly, and again later: the statements of a
/// running service would wait behind it. A role that does not own the schema can do this only if there is nothing to do.
pub async fn migrate(database: impl Into<Database>, schema: &Schema) -> Result<(), DatabaseError> {
    let database = database.into();
    match check_migrated(&database.pool, schema).await {
        Err(DatabaseError::NotMigrated { .. } | DatabaseError::NotDistributed { .. }) => {}
        other => return other,
    }
    // Of several processes, one migrates: its session has an advisory lock meanwhile.
    database.require_session("`compliance migrate`")?;
    let mut connection = database.pool.acquire().await.map_err(DatabaseError::History)?.detach();
    // Workers that help to make an index take the processors of the service.
    let settings = "set statement_timeout = 0; set max_parallel_maintenance_workers = 0";
    sqlx::raw_sql(settings).execute(&mut connection).await.map_err(DatabaseError::History)?;
    let on_citus = citus::is_installed(&mut connection).await?;
    let mut steps = Migrator::with_migrations(schema.migrations.iter().cloned().collect());
    if on_citus {
        citus::prepare(&mut connection).await?;
        steps = Migrator::with_migrations(schema.migrations.iter().cloned().map(citus::one_by_one).collect());
    }
    // Those of a newer version may be there already. This version works with its schema.
    steps.set_ignore_missing(true);
    let start = Instant::now();
    while let Err(error) = steps::run(&steps, &mut connection, start.elapsed()).await {
        let (MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _)) = &error else {
            return Err(error.into());
        };
        if !is_in_the_way(cause) || start.elapsed() >= MIGRATION_LOCK_WAIT {
            return Err(error.into());
        }
        tracing::warn!(reason = %cause, "a migration waits for a lock, and is tried again");
        tokio::time::sleep(MIGRATION_PAUSE).await;
    }
    if on_citus {
        citus::distribute(&mut connection, schema).await?;
    }
    let _ = connection.close().await;
    Ok(())
}

/// Refuses a database whose schema is not up to date, or not distributed on Citus.
pub async fn check_migrated(pool: &PgPool, schema: &Schema) -> Result<(), DatabaseError> {
    let silence = |_| Err(DatabaseError::History(sqlx::Error::PoolTimedOut));
    timeout(START_TIMEOUT, compare_history(pool, schema)).await.unwrap_or_else(silence)
}

async fn compare_history(pool: &PgPool, schema: &Schema) -> Result<(), DatabaseError> {
    let question = "select to_regclass('_sqlx_migrations')::text, to_regclass('pg_dist_partition') is not null";
    let (table, on_citus): (Option<String>, bool) =
        sqlx::query_as(question).fetch_one(pool).await.map_err(DatabaseError::History)?;
    let done: Vec<(i64, Vec<u8>)> = match table {
        Some(_) => sqlx::query_as("select version, checksum from _sqlx_migrations where success")
            .fetch_all(pool)
            .await
            .map_err(DatabaseError::History)?,
        None => Vec::new(),
    };
    let (mut total, mut missing) = (0, 0);
    for step in schema.migrations.iter() {
        total += 1;
        match done.iter().find(|(version, _)| *version == step.version) {
            Some((_, digest)) if *digest != *step.checksum => {
                return Err(DatabaseError::Modified { step: format!("{} ({})", step.version, step.description) });
            }
            Some(_) => {}
            None => missing += 1,
        }
    }
    if missing > 0 {
        return Err(DatabaseError::NotMigrated { missing, total });
    }
    if on_citus {
        let tables = citus::undistributed(pool, schema).await.map_err(DatabaseError::History)?;
        let functions = if tables.is_empty() { citus::missing_functions(pool, schema).await } else { Ok(Vec::new()) };
        let functions = functions.map_err(DatabaseError::History)?.len();
        if !tables.is_empty() || functions > 0 {
            return Err(DatabaseError::NotDistributed { tables: tables.join(", "), functions });
        }
    }
    Ok(())
}

/// Runs a read like [`retried`], and logs it if it takes long.
pub async fn read<T, F: Future<Output = Result<T, sqlx::Error>>>(
    from: &Connections,
    run: impl Fn(Connections) -> F,
) -> Result<T, sqlx::Error> {
    let _watch = Watch::start();
    retried(from, run).await
}

/// Runs a read: on a replica or node if there is one that may serve it, and otherwise, or if it fails there, on the primary. There it
/// runs once more when its connection turns out to be dead. One that waited too long for a lock, as for a change of the schema,
/// returns its connection and runs again.
pub async fn retried<T, F: Future<Output = Result<T, sqlx::Error>>>(
    from: &Connections,
    run: impl Fn(Connections) -> F,
) -> Result<T, sqlx::Error> {
    let has_others = from.has_other_servers();
    let mut other = if has_others { Box::pin(from.server_for_read()).await } else { None };
    let (mut disconnected, mut stale, start) = (false, false, Instant::now());
    loop {
        let result = run(other.as_ref().unwrap_or(from).clone()).await;
        let Err(error) = result else {
            if has_others {
                count_read(from.is_divided(), other.is_some());
            }
            return result;
        };
        if let Some(failed) = other.take() {
            failed.report_failure(&error);
            from.forget_locations([from.company_id]);
            count_retry(RETRY_REPLICA);
        } else if is_disconnected(&error) && !disconnected {
            count_retry(RETRY_CONNECTION);
            disconnected = true;
        } else if is_stale(&error) && !stale {
            count_retry(RETRY_CONNECTION);
            stale = true;
        } else if (is_lock_timeout(&error) || is_moved(&error)) && start.elapsed() < LOCK_WAIT {
            count_retry(RETRY_LOCK);
        } else {
            return Err(error);
        }
    }
}

/// Runs a read of a few rows by key, and once more when its connection turns out to be dead, or to hang: such a read takes
/// milliseconds.
pub async fn short_read<T, F: Future<Output = Result<T, sqlx::Error>>>(
    from: &Connections,
    run: impl Fn(Connections) -> F,
) -> Result<T, sqlx::Error> {
    if let Ok(result) = timeout(SHORT_READ_TIMEOUT, retried(from, &run)).await {
        return result;
    }
    count_retry(RETRY_SILENCE);
    tracing::warn!("a read by key got no response within {} s and is sent again", SHORT_READ_TIMEOUT.as_secs());
    run(from.clone()).await
}
