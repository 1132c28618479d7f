//! The database of a command: a given one, or the service's own in the data folder.

use std::path::Path;

use anyhow::Context as _;
use clap::Args;
use core_server::database::{self, migrate};
use embedded_postgres::{Access, Cluster, ClusterOptions, ServerSettings};
use runtime::Hidden;
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::data_dir::DataDirArgs;

/// The name of the database in the service's own server.
const NAME: &str = "compliance";
/// Connections of the own server beside the service's: for commands and for administrators.
const OTHER_CONNECTIONS: u32 = 50;

/// Which database is used.
#[derive(Args, Clone, Debug)]
pub(crate) struct DatabaseArgs {
    /// Database to use: `postgres://user:password@host/database`. Without one, the service's own PostgreSQL in the data
    /// folder.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: Option<Hidden>,
}

impl DatabaseArgs {
    fn given(&self) -> anyhow::Result<Option<DatabaseServer>> {
        let Some(url) = self.database_url.as_ref().and_then(Hidden::filled) else { return Ok(None) };
        let options = database::options(url)?;
        let database = options.get_database().unwrap_or_else(|| options.get_username());
        let description = format!("the database {database} at {}", options.get_host());
        Ok(Some(DatabaseServer { options, own: None, description }))
    }
}

/// A running server with the service's database.
#[derive(Debug)]
pub(crate) struct DatabaseServer {
    options: PgConnectOptions,
    /// The service's own server; `None` if the server is given.
    own: Option<Access>,
    description: String,
}

impl DatabaseServer {
    /// Uses the given server, or starts the one in `data_dir`, for a service with so many connections. Fails if another
    /// process runs the one in `data_dir`.
    pub(crate) async fn start(args: &DatabaseArgs, data_dir: &Path, connections: u32) -> anyhow::Result<Self> {
        if let Some(server) = args.given()? {
            return Ok(server);
        }
        let max_connections = connections.saturating_add(OTHER_CONNECTIONS).max(100);
        let settings = ServerSettings { max_connections, ..ServerSettings::default() };
        let options = ClusterOptions { settings, ..ClusterOptions::new(data_dir) };
        let cluster = Cluster::start(options).await.context("the service's own database cannot be started")?;
        let description = cluster.data_dir().display().to_string();
        Self::own(Access::Started(cluster), description).await
    }

    /// Uses the given server or the running one of the data folder; starts the latter if it does not run.
    async fn find(args: &DatabaseArgs, data_dir: &DataDirArgs) -> anyhow::Result<Self> {
        if let Some(server) = args.given()? {
            return Ok(server);
        }
        let folder = data_dir.choose()?;
        let access = Cluster::connect_or_start(ClusterOptions::new(&folder)).await;
        let access = access.with_context(|| format!("the database in {} cannot be used", folder.display()))?;
        Self::own(access, folder.display().to_string()).await
    }

    async fn own(access: Access, description: String) -> anyhow::Result<Self> {
        access.endpoint().create_database(NAME).await?;
        Ok(Self { options: access.endpoint().connect_options(NAME), own: Some(access), description })
    }

    /// Connects as the service does, and brings the schema up to date.
    pub(crate) async fn connect(&self, connections: u32) -> anyhow::Result<PgPool> {
        let pool = database::connect(self.options.clone(), connections).await?;
        migrate(&pool).await?;
        Ok(pool)
    }

    /// Where the data is, for people.
    pub(crate) fn description(&self) -> String {
        self.description.clone()
    }

    /// Stops the server if this process started it.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        match self.own {
            Some(access) => access.release().await.context("the service's own database cannot be stopped"),
            None => Ok(()),
        }
    }
}

/// A database with an up-to-date schema, for a command that uses it directly.
#[derive(Debug)]
pub(crate) struct Database {
    pool: PgPool,
    server: DatabaseServer,
}

impl Database {
    /// Connects for long work: statements have no timeout.
    pub(crate) async fn open(args: &DatabaseArgs, data_dir: &DataDirArgs, connections: u32) -> anyhow::Result<Self> {
        let server = DatabaseServer::find(args, data_dir).await?;
        // Bulk statements are few and large: compiling them does not pay.
        let options = server.options.clone().application_name("compliance");
        let options = options.options([("timezone", "UTC"), ("jit", "off")]);
        let pool = PgPoolOptions::new().max_connections(connections).connect_with(options).await;
        let pool = pool.with_context(|| format!("cannot connect to {}", server.description))?;
        migrate(&pool).await?;
        Ok(Self { pool, server })
    }

    /// Connects as the service does.
    pub(crate) async fn open_for_service(
        args: &DatabaseArgs,
        data_dir: &DataDirArgs,
        connections: u32,
    ) -> anyhow::Result<Self> {
        let server = DatabaseServer::find(args, data_dir).await?;
        Ok(Self { pool: server.connect(connections).await?, server })
    }

    /// The connections to it.
    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Closes the connections, and stops the server if this process started it.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        runtime::close_pool(&self.pool).await;
        self.server.stop().await
    }
}
