//! The database of the commands that work on it directly: one that is given, or the service's own, run by the service
//! or by this process.

use anyhow::Context as _;
use clap::Args;
use core_server::database::{self, migrate};
use embedded_postgres::{Access, Cluster, ClusterOptions};
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::data_dir::DataDirArgs;

/// The name of the database in a cluster of our own.
const NAME: &str = "compliance";

/// Which database is worked on.
#[derive(Args, Clone)]
pub(crate) struct DatabaseArgs {
    /// Database to use: `postgres://user:password@host/database`. Without one, the database in the data folder.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: Option<String>,
}

impl std::fmt::Debug for DatabaseArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may hold a password.
        f.write_str("DatabaseArgs(…)")
    }
}

/// A database with an up-to-date schema.
#[derive(Debug)]
pub(crate) struct Database {
    pool: PgPool,
    access: Option<Access>,
}

impl Database {
    /// Connects, for work that takes its time: no statement is cut off for being slow.
    pub(crate) async fn open(args: &DatabaseArgs, data_dir: &DataDirArgs, connections: u32) -> anyhow::Result<Self> {
        let (options, access) = Self::find(args, data_dir).await?;
        // Bulk statements are few and large: compiling them does not pay.
        let options = options.application_name("compliance").options([("timezone", "UTC"), ("jit", "off")]);
        let place = format!("{} at {}", options.get_database().unwrap_or_default(), options.get_host());
        let pool = PgPoolOptions::new().max_connections(connections).connect_with(options).await;
        let pool = pool.with_context(|| format!("cannot connect to the database {place}"))?;
        migrate(&pool).await?;
        Ok(Self { pool, access })
    }

    /// Connects as the service does.
    pub(crate) async fn open_for_service(
        args: &DatabaseArgs,
        data_dir: &DataDirArgs,
        connections: u32,
    ) -> anyhow::Result<Self> {
        let (options, access) = Self::find(args, data_dir).await?;
        let pool = database::connect(options, connections).await?;
        migrate(&pool).await?;
        Ok(Self { pool, access })
    }

    async fn find(args: &DatabaseArgs, data_dir: &DataDirArgs) -> anyhow::Result<(PgConnectOptions, Option<Access>)> {
        if let Some(url) = args.database_url.as_deref().filter(|url| !url.is_empty()) {
            return Ok((database::options(url)?, None));
        }
        let folder = data_dir.choose()?;
        let access = Cluster::connect_or_start(ClusterOptions::new(&folder)).await;
        let access = access.with_context(|| format!("the database in {} cannot be used", folder.display()))?;
        access.endpoint().create_database(NAME).await?;
        Ok((access.endpoint().connect_options(NAME), Some(access)))
    }

    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Lets go of the database, and stops it if this process started it.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        self.pool.close().await;
        match self.access {
            Some(access) => access.release().await.context("the database cannot be stopped"),
            None => Ok(()),
        }
    }
}
