//! Opens databases, and detects poolers and Citus.

use sqlx::{
    Connection as _, PgConnection, PgExecutor, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::time::timeout;

use super::{
    citus,
    error::{DatabaseError, name},
    session::{self, Sessions},
    target::Target,
};
use crate::limits::{ACQUIRE_TIMEOUT, POOLER_CHECK_TIMEOUT, START_TIMEOUT};

/// Lock timeout of connections for one-off work: unlimited.
const NO_LOCK_TIMEOUT: &str = "0";

/// Connection limits of the role and the database, lowest first.
const CONNECTION_LIMITS: &str = "
    select 'the role ' || rolname, rolconnlimit from pg_roles where rolname = current_user and rolconnlimit >= 0
    union all
    select 'the database ' || datname, datconnlimit from pg_database where datname = current_database() and datconnlimit >= 0
    order by 2";

/// A database and a connection pool.
#[derive(Clone, Debug)]
pub struct Database {
    /// Pool for one-off work, such as a migration.
    pub pool: PgPool,
    /// The database URL.
    pub target: Target,
    /// Whether connections have their own sessions.
    pub sessions: Sessions,
    /// Whether the tables are distributed over Citus nodes.
    pub on_citus: bool,
}

impl Database {
    /// Returns the maximum number of connections to the database.
    pub fn max_connections(&self) -> usize {
        self.pool.options().get_max_connections() as usize
    }

    /// Fails if a pooler shares sessions.
    ///
    /// Commands that need their own session call this method.
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

/// Creates a database without a pooler, Citus or password changes.
impl From<&PgPool> for Database {
    fn from(pool: &PgPool) -> Self {
        let target = Target::from((*pool.connect_options()).clone());
        Self { pool: pool.clone(), target, sessions: Sessions::Own, on_citus: false }
    }
}

/// Opens a connection pool and checks that the database responds.
pub async fn connect(options: PgConnectOptions, connections: u32) -> Result<PgPool, DatabaseError> {
    Ok(open(options.into(), connections).await?.pool)
}

/// Opens and checks connections to a database.
///
/// If the URL is in a file, rereads the file first.
pub async fn open(target: Target, connections: u32) -> Result<Database, DatabaseError> {
    let target = target.latest();
    // The pool would retry until its timeout and hide the cause.
    let mut first = target.first().await?;
    let host = target.options();
    let on_citus = citus::is_installed(&mut first).await?;
    let sessions = session::check(&mut first, host, on_citus).await?;
    // The service uses its own `Connections`. The pool is for one-off work, such as a migration.
    let pool = PgPoolOptions::new().max_connections(connections);
    let pool = pool.acquire_timeout(ACQUIRE_TIMEOUT).idle_timeout(START_TIMEOUT);
    let pool = match sessions {
        Sessions::Own => {
            warn_of_limit(&mut first, connections).await.map_err(DatabaseError::History)?;
            pool.after_connect(move |connection, _| Box::pin(session::set(connection, on_citus, NO_LOCK_TIMEOUT)))
        }
        Sessions::Shared => {
            tracing::info!(host = name(host), "a pooler shares sessions: the database role's settings apply");
            pool
        }
    };
    let _ = timeout(POOLER_CHECK_TIMEOUT, first.close()).await;
    let pool = pool.connect_lazy_with(host.clone());
    Ok(Database { pool, target, sessions, on_citus })
}

/// Warns if the service may open more connections than the role or the database allows.
async fn warn_of_limit(connection: &mut PgConnection, connections: u32) -> Result<(), sqlx::Error> {
    if let Some((owner, limit)) = connection_limit(connection).await?
        && i64::from(limit) < i64::from(connections)
    {
        tracing::warn!(
            limit,
            connections,
            "{owner} allows fewer connections than this process opens: raise its limit, or calls can fail"
        );
    }
    Ok(())
}

/// Returns the lowest connection limit of the role or the database, with its owner.
pub async fn connection_limit(executor: impl PgExecutor<'_>) -> Result<Option<(String, i32)>, sqlx::Error> {
    sqlx::query_as(CONNECTION_LIMITS).fetch_optional(executor).await
}
