//! Runs a `PostgreSQL` server with generated data.

use std::{path::Path, time::Instant};

use anyhow::Context as _;
use embedded_postgres::{ADMIN_ROLE, Cluster, ClusterOptions, OWNER_ROLE};
use sqlx::{AssertSqlSafe, PgPool, postgres::PgPoolOptions};

use load_test::workload::Universe;

use crate::child::Build;

/// Database name.
pub(crate) const NAME: &str = "compliance";

/// The last day of the generated data. With a fixed day, every run uses the same data.
const UNTIL: &str = "2026-11-01";

/// The number of generated records for one company.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Records {
    pub(crate) company: i64,
    /// Affiliates. At least 1.
    pub(crate) affiliates: u64,
    pub(crate) urls: u64,
    pub(crate) cases: u64,
}

/// Migrates a database's schema.
async fn migrate(build: &Build, database_url: &str) -> anyhow::Result<()> {
    build.run("migrate", &["--database-url", database_url]).await.map(drop)
}

/// Generates one company's records.
async fn make_records(build: &Build, database_url: &str, records: &Records, seed: u64) -> anyhow::Result<()> {
    let Records { company, affiliates, urls, cases } = *records;
    let numbers = [company as u64, affiliates, urls, cases, seed].map(|number| number.to_string());
    let mut arguments = vec!["--until", UNTIL, "--database-url", database_url];
    for (flag, number) in ["--company", "--affiliates", "--urls", "--cases", "--seed"].into_iter().zip(&numbers) {
        arguments.extend([flag, number]);
    }
    build.run("demo-data", &arguments).await.map(drop)
}

/// A database server with one database of generated data.
#[derive(Debug)]
pub(crate) struct Database {
    cluster: Cluster,
    /// Connections with PostgreSQL's default settings.
    pub(crate) pool: PgPool,
}

impl Database {
    /// Starts a server in `data_dir`, with the settings of the service's private server.
    ///
    /// Its database contains `build`'s schema and exactly these `records`. Generates the records unless an earlier run did.
    pub(crate) async fn open(data_dir: &Path, build: &Build, records: &[Records], seed: u64) -> anyhow::Result<Self> {
        let options = ClusterOptions { max_connections: 300, ..ClusterOptions::new(data_dir.join("data")) };
        let cluster = Cluster::start(options).await.context("cannot start the database server")?;
        match Self::fill(&cluster, build, records, seed).await {
            Ok(pool) => Ok(Self { cluster, pool }),
            Err(error) => {
                let _ = cluster.stop().await;
                Err(error)
            }
        }
    }

    async fn fill(cluster: &Cluster, build: &Build, records: &[Records], seed: u64) -> anyhow::Result<PgPool> {
        let url = cluster.endpoint().url(OWNER_ROLE, NAME);
        let content = format!("4 {seed} {records:?}");
        cluster.endpoint().create_database(NAME).await?;
        let pool = connect(cluster).await?;
        if content_of(&pool).await? == Some(content.clone()) {
            eprintln!("the database already has these records");
            migrate(build, &url).await?;
            return Ok(pool);
        }
        pool.close().await;
        drop_database(cluster, NAME).await?;
        cluster.endpoint().create_database(NAME).await?;
        migrate(build, &url).await?;
        let start = Instant::now();
        for records in records {
            let Records { company, affiliates, urls, cases } = records;
            eprintln!("company {company}: {affiliates} affiliates, {urls} URLs, {cases} cases");
            make_records(build, &url, records, seed).await?;
        }
        let pool = connect(cluster).await?;
        tidy(cluster, &pool).await?;
        let statement = "create schema load_test; create table load_test.loaded (content text)";
        sqlx::raw_sql(statement).execute(&pool).await?;
        sqlx::query("insert into load_test.loaded values ($1)").bind(content).execute(&pool).await?;
        eprintln!("loaded in {:.0} s", start.elapsed().as_secs_f64());
        Ok(pool)
    }

    /// Returns the database's URL, for other programs.
    pub(crate) fn url(&self) -> String {
        self.cluster.endpoint().url(OWNER_ROLE, NAME)
    }

    /// Returns the server's socket folder.
    pub(crate) fn socket_dir(&self) -> &Path {
        self.cluster.endpoint().socket_dir()
    }

    /// Returns the server's process ID.
    pub(crate) fn pid(&self) -> anyhow::Result<i32> {
        self.cluster.server_pid().context("the database server is not running")
    }

    /// Returns the server's program folder.
    pub(crate) fn bin_dir(&self) -> &Path {
        &self.cluster.installation().bin_dir
    }

    /// Returns the server's version.
    pub(crate) fn version(&self) -> &str {
        &self.cluster.installation().version
    }

    /// Stops the server.
    pub(crate) async fn stop(self) {
        self.pool.close().await;
        if let Err(error) = self.cluster.stop().await {
            eprintln!("cannot stop the database server: {error}");
        }
    }

    /// Vacuums and writes a checkpoint, to keep maintenance out of measurements.
    pub(crate) async fn tidy(&self) -> anyhow::Result<()> {
        tidy(&self.cluster, &self.pool).await
    }

    /// Runs statements.
    pub(crate) async fn run(&self, statements: &str) -> anyhow::Result<()> {
        let result = sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&self.pool).await;
        result.with_context(|| format!("cannot execute: {}", &statements[..statements.len().min(200)]))?;
        Ok(())
    }

    /// Returns a company's records.
    pub(crate) async fn universe(&self, company: i64) -> anyhow::Result<Universe> {
        let count = async |table: &str| -> anyhow::Result<u64> {
            let query = format!("select count(*) from {table} where company_id = $1");
            let query = sqlx::query_scalar::<_, i64>(AssertSqlSafe(query)).bind(company);
            Ok(query.fetch_one(&self.pool).await? as u64)
        };
        let ids = sqlx::query_scalar("select id from affiliates where company_id = $1 order by id");
        let ids: Vec<i64> = ids.bind(company).fetch_all(&self.pool).await?;
        Ok(Universe {
            company,
            affiliates: ids.into(),
            urls: count("compliance_urls").await?,
            cases: count("compliance_cases").await?,
        })
    }
}

/// Connects with PostgreSQL's default settings. Contenders choose their own.
async fn connect(cluster: &Cluster) -> anyhow::Result<PgPool> {
    Ok(PgPoolOptions::new().max_connections(4).connect_with(cluster.endpoint().options(OWNER_ROLE, NAME)).await?)
}

/// Returns the description of the records in the database.
async fn content_of(pool: &PgPool) -> anyhow::Result<Option<String>> {
    let exists: bool = sqlx::query_scalar("select to_regclass('load_test.loaded') is not null").fetch_one(pool).await?;
    if !exists {
        return Ok(None);
    }
    Ok(sqlx::query_scalar("select content from load_test.loaded").fetch_optional(pool).await?)
}

async fn drop_database(cluster: &Cluster, name: &str) -> anyhow::Result<()> {
    let admin = PgPool::connect_with(cluster.endpoint().options(ADMIN_ROLE, "postgres")).await?;
    let statement = format!("drop database if exists {name} with (force)");
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&admin).await?;
    admin.close().await;
    Ok(())
}

async fn tidy(cluster: &Cluster, pool: &PgPool) -> anyhow::Result<()> {
    // The owner cannot vacuum system catalogs, which only causes warnings.
    sqlx::raw_sql("vacuum (analyze)").execute(pool).await?;
    let admin = PgPool::connect_with(cluster.endpoint().options(ADMIN_ROLE, NAME)).await?;
    sqlx::raw_sql("checkpoint").execute(&admin).await?;
    admin.close().await;
    Ok(())
}
