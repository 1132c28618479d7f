//! The database: one that is given, or one that the service runs itself.

use std::path::Path;

use anyhow::Context as _;
use core_server::database;
use embedded_postgres::{Cluster, ClusterOptions, Settings};
use sqlx::{PgPool, postgres::PgConnectOptions};

use super::ServeArgs;

/// The name of the database in a cluster of our own.
const NAME: &str = "compliance";
/// Connections beside the service's: of `compliance` commands and of administrators.
const OTHER_CONNECTIONS: u32 = 50;

/// Where the database is.
#[derive(Debug)]
pub(super) enum Database {
    /// A server that somebody else runs.
    Given(Box<PgConnectOptions>),
    /// A server of our own.
    Own(Cluster),
}

impl Database {
    /// Finds or starts the server.
    pub(super) async fn start(args: &ServeArgs, data_dir: &Path) -> anyhow::Result<Self> {
        if let Some(url) = args.database_url.as_deref().filter(|url| !url.is_empty()) {
            return Ok(Self::Given(Box::new(database::options(url)?)));
        }
        let settings = Settings {
            max_connections: args.core.database_connections.saturating_add(OTHER_CONNECTIONS).max(100),
            ..Settings::default()
        };
        let options = ClusterOptions { settings, ..ClusterOptions::new(data_dir) };
        Ok(Self::Own(Cluster::start(options).await.context("the service's own database cannot be started")?))
    }

    /// Connects, with the schema brought up to date.
    pub(super) async fn open(&self, connections: u32) -> anyhow::Result<PgPool> {
        let options = match self {
            Self::Given(options) => options.as_ref().clone(),
            Self::Own(cluster) => {
                cluster.create_database(NAME).await?;
                cluster.connect_options(NAME)
            }
        };
        let pool = database::connect(options, connections).await?;
        database::migrate(&pool).await?;
        Ok(pool)
    }

    /// Stops the server if it is our own.
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        match self {
            Self::Given(_) => Ok(()),
            Self::Own(cluster) => cluster.stop().await.context("the service's own database cannot be stopped"),
        }
    }

    /// Where the data is, in words.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Given(options) => {
                let database = options.get_database().unwrap_or_else(|| options.get_username());
                format!("the database {database} at {}", options.get_host())
            }
            Self::Own(cluster) => cluster.data_dir().display().to_string(),
        }
    }
}
