//! Opens a command's database: a given database, or the service's own database in the data folder.

use std::path::Path;

use anyhow::{Context as _, bail};
use clap::Args;
use core_server::database::{self, Database, DatabaseError, Target, check_migrated, grant, migrate};
use embedded_postgres::{Access, Cluster, ClusterOptions, OWNER_ROLE, SERVICE_ROLE};
use sqlx::{PgConnection, PgPool, postgres::PgPoolOptions};

use crate::{
    data_dir::DataDirArgs,
    program::{DatabaseUrlArgs, block_on, close_pool},
};

/// SQLSTATE `insufficient_privilege`.
const INSUFFICIENT_PRIVILEGE: &str = "42501";
/// Name of the database on the service's own server.
pub(crate) const NAME: &str = "compliance";
/// Additional connections that the service's own server accepts, for commands and administrators.
const OTHER_CONNECTIONS: u32 = 50;

/// Resets timeouts and planner settings that the role may override. Bulk commands run few, large statements.
const BULK_SETTINGS: &str =
    "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set lock_timeout = 0;
    set plan_cache_mode = auto; set max_parallel_workers_per_gather = 2";

/// A database given by its URL, or the service's own database.
#[derive(Args, Debug)]
pub(crate) struct DatabaseArgs {
    #[command(flatten)]
    pub(crate) url: DatabaseUrlArgs,
    #[command(flatten)]
    pub(crate) data_dir: DataDirArgs,
}

/// A running server with the service's database.
#[derive(Debug)]
pub(crate) struct DatabaseServer {
    /// Connects as the service role.
    target: Target,
    /// Connects as the schema owner. A given server uses one role for both.
    owner: Target,
    /// The service's own server, or `None` for a given server.
    own: Option<Access>,
    /// Location of the data, for messages.
    pub(crate) description: String,
}

impl DatabaseServer {
    /// Uses the given server, or starts the server in `data_dir`. The new server accepts at least `connections` connections from the service. Fails
    /// if another process is running that server.
    pub(crate) async fn start(given: Option<Target>, data_dir: &Path, connections: u32) -> anyhow::Result<Self> {
        if let Some(target) = given {
            return Ok(Self::given(target));
        }
        let max_connections = connections.saturating_add(OTHER_CONNECTIONS).max(100);
        let cluster = Cluster::start(ClusterOptions { max_connections, ..ClusterOptions::new(data_dir) }).await;
        let cluster = cluster.context("cannot start the service's own database")?;
        Self::own(Access::Started(cluster), data_dir).await
    }

    /// Uses the given server, or the server in the data folder. Starts a stopped server, and creates a missing server if `init` is set.
    pub(crate) async fn find(args: &DatabaseArgs, init: bool) -> anyhow::Result<Self> {
        if let Some(target) = args.url.target()? {
            return Ok(Self::given(target));
        }
        let folder = args.data_dir.choose()?;
        if !init && !embedded_postgres::has_cluster(&folder) {
            bail!(
                "the data folder {} contains no database: choose another folder with --data-dir, set \
                 --database-url, or start `compliance serve` first; --init creates a database",
                folder.display()
            );
        }
        let access = Cluster::connect_or_start(ClusterOptions::new(&folder)).await;
        let access = access.with_context(|| format!("cannot use the database in {}", folder.display()))?;
        Self::own(access, &folder).await
    }

    fn given(target: Target) -> Self {
        let description = target.description();
        Self { owner: target.clone(), target, own: None, description }
    }

    async fn own(access: Access, data_dir: &Path) -> anyhow::Result<Self> {
        let endpoint = access.endpoint();
        // An earlier version may have created the server with other roles.
        endpoint.ensure_roles().await?;
        endpoint.create_database(NAME).await?;
        let [target, owner] = [SERVICE_ROLE, OWNER_ROLE].map(|role| endpoint.options(role, NAME).into());
        Ok(Self { target, owner, own: Some(access), description: data_dir.display().to_string() })
    }

    /// Connects as the service role and migrates the schema. `change_retention` sets how many days the service's own database keeps changes.
    pub(crate) async fn connect(&self, connections: u32, change_retention: Option<i32>) -> anyhow::Result<Database> {
        if self.own.is_some() {
            let owner = database::open(self.owner.clone(), 1).await?.pool;
            migrate(&owner).await?;
            grant(&owner, SERVICE_ROLE).await?;
            if let Some(days) = change_retention {
                database::keep_changes(&owner, days).await?;
            }
            owner.close().await;
        }
        let database = database::open(self.target.clone(), connections).await?;
        migrate(&database.pool).await?;
        Ok(database)
    }

    /// Connects as the service role, without migrating the schema.
    pub(crate) async fn open(&self) -> Result<Database, DatabaseError> {
        database::open(self.target.clone(), 1).await
    }

    /// Returns whether this is the service's own server.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Connects as the schema owner, for bulk statements without a timeout.
    pub(crate) async fn connect_as_owner(&self, connections: u32) -> anyhow::Result<PgPool> {
        let database = database::open(self.owner.clone(), 1).await?;
        database.require_session("this command")?;
        let options = (*database.pool.connect_options()).clone().application_name("compliance");
        database.pool.close().await;
        let pool = PgPoolOptions::new().max_connections(connections).after_connect(|connection, _| {
            Box::pin(async { sqlx::raw_sql(BULK_SETTINGS).execute(connection).await.map(drop) })
        });
        let pool = pool.connect_with(options).await;
        pool.with_context(|| format!("cannot connect to {}", self.description))
    }

    /// Logs which database a command uses or is about to change.
    pub(crate) fn name(&self, has_changes: bool) {
        let use_of = if has_changes { "changing" } else { "using" };
        tracing::info!(database = self.description, "{use_of} the database");
    }

    pub(crate) async fn close(self, pool: &PgPool) -> anyhow::Result<()> {
        close_pool(pool).await;
        self.stop().await
    }

    /// Stops the server if this process started it.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        match self.own {
            Some(access) => access.release().await.context("cannot stop the service's own database"),
            None => Ok(()),
        }
    }
}

/// Runs a command as the schema owner, on one connection. Fails if the schema is not up to date.
pub(crate) fn run_as_owner<T>(
    args: &DatabaseArgs,
    has_changes: bool,
    command: impl AsyncFnOnce(&mut PgConnection) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    block_on(async {
        let server = DatabaseServer::find(args, false).await?;
        let pool = server.connect_as_owner(1).await?;
        let result = async {
            check_migrated(&pool).await?;
            server.name(has_changes);
            command(&mut *pool.acquire().await?).await
        };
        let result = result.await.map_err(name_owner);
        server.close(&pool).await?;
        result
    })
}

/// Adds the required role to an error if the database denied permission.
fn name_owner(error: anyhow::Error) -> anyhow::Error {
    let code = error.chain().find_map(|cause| cause.downcast_ref::<sqlx::Error>()?.as_database_error()?.code());
    if code.is_some_and(|code| code == INSUFFICIENT_PRIVILEGE) {
        error.context("this command must connect as the role that owns the tables")
    } else {
        error
    }
}
