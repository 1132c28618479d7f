//! A `PostgreSQL` of our own with the records that are measured.

use std::{path::Path, time::Instant};

use anyhow::Context as _;
use embedded_postgres::{Cluster, ClusterOptions, Settings};
use sqlx::{AssertSqlSafe, PgPool, postgres::PgPoolOptions};

use super::{Binaries, Dataset, demo_data};
use crate::workload::{Ids, Universe};

/// The name of the database.
pub(crate) const NAME: &str = "compliance";

/// The tables that hold records, those that refer to others first.
const TABLES: [&str; 5] = ["incidents", "infractions", "compliance_urls", "compliance_cases", "affiliates"];

/// A server with the service's schema.
#[derive(Debug)]
pub(crate) struct Database {
    cluster: Cluster,
    pub(crate) pool: PgPool,
}

impl Database {
    /// Starts a server in `data_dir`, with the settings of the service's own.
    pub(crate) async fn start(data_dir: &Path) -> anyhow::Result<Self> {
        // Every contender has connections of its own.
        let settings = Settings { max_connections: 300, ..Settings::default() };
        let options = ClusterOptions { settings, ..ClusterOptions::new(data_dir.join("data")) };
        let cluster = Cluster::start(options).await.context("the database cannot be started")?;
        cluster.create_database(NAME).await?;
        // The plain defaults of a session: what the contenders set for themselves is theirs.
        let pool = PgPoolOptions::new().max_connections(4).connect_with(cluster.connect_options(NAME)).await?;
        core_server::database::migrate(&pool).await?;
        Ok(Self { cluster, pool })
    }

    /// The address for other programs.
    pub(crate) fn url(&self) -> String {
        self.cluster.endpoint().url(NAME)
    }

    /// The folder of the server's socket.
    pub(crate) fn socket_dir(&self) -> &Path {
        self.cluster.endpoint().socket_dir()
    }

    /// The server's process.
    pub(crate) fn pid(&self) -> anyhow::Result<i32> {
        self.cluster.server_pid().context("the database is not running")
    }

    /// The folder of the server's programs.
    pub(crate) fn bin_dir(&self) -> &Path {
        self.cluster.installation().bin_dir()
    }

    /// The server's version.
    pub(crate) fn version(&self) -> &str {
        self.cluster.installation().version()
    }

    pub(crate) async fn stop(self) {
        self.pool.close().await;
        if let Err(error) = self.cluster.stop().await {
            eprintln!("the database cannot be stopped: {error}");
        }
    }

    /// Makes the records unless they are there.
    pub(crate) async fn load(&self, dataset: &Dataset, binaries: &Binaries) -> anyhow::Result<()> {
        self.run("create schema if not exists load_test; create table if not exists load_test.loaded (mark text)")
            .await?;
        let mark: Option<String> =
            sqlx::query_scalar("select mark from load_test.loaded limit 1").fetch_optional(&self.pool).await?;
        if mark.as_deref() == Some(&dataset.mark()) {
            eprintln!("the database holds these records already");
            return Ok(());
        }
        let start = Instant::now();
        self.run("truncate load_test.loaded").await?;
        self.run(&format!(
            "truncate {}, compliance_url_counts, compliance_case_counts, vocabulary_entries",
            TABLES.join(", ")
        ))
        .await?;
        for share in dataset.shares() {
            eprintln!(
                "company {}: {} affiliates, {} URLs, {} cases …",
                share.company, share.affiliates, share.urls, share.cases
            );
            demo_data::make(self, binaries, share, dataset.seed).await?;
        }
        self.tidy().await?;
        sqlx::query("insert into load_test.loaded values ($1)").bind(dataset.mark()).execute(&self.pool).await?;
        eprintln!("loaded in {:.0} s", start.elapsed().as_secs_f64());
        Ok(())
    }

    /// Leaves no housekeeping for the server to do during a measurement.
    pub(crate) async fn tidy(&self) -> anyhow::Result<()> {
        for table in TABLES.iter().chain(&["compliance_url_counts", "compliance_case_counts"]) {
            self.run(&format!("vacuum (analyze) {table}")).await?;
        }
        let admin = PgPool::connect_with(self.cluster.endpoint().admin_options(NAME)).await?;
        sqlx::raw_sql("checkpoint").execute(&admin).await?;
        admin.close().await;
        Ok(())
    }

    /// Removes what a company has.
    pub(crate) async fn clear(&self, company: i64) -> anyhow::Result<()> {
        for table in TABLES {
            self.run(&format!("delete from {table} where company_id = {company}")).await?;
        }
        Ok(())
    }

    /// Runs statements of our own.
    pub(crate) async fn run(&self, statements: &str) -> anyhow::Result<()> {
        let ran = sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&self.pool).await;
        ran.with_context(|| format!("the database refuses: {}", &statements[..statements.len().min(200)]))?;
        Ok(())
    }

    /// The days between which the middle of a company's URLs were discovered: two thirds or so.
    pub(crate) async fn middle_days(&self, company: i64) -> anyhow::Result<(String, String)> {
        let query = "select percentile_disc(0.2) within group (order by discovery_date)::date::text,
                percentile_disc(0.85) within group (order by discovery_date)::date::text
            from compliance_urls where company_id = $1";
        Ok(sqlx::query_as(query).bind(company).fetch_one(&self.pool).await?)
    }

    /// What a company has.
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
            affiliates_total: Some(ids.len() as u64),
            affiliates: Ids::of(ids)?,
            urls: count("compliance_urls").await?,
            cases: count("compliance_cases").await?,
        })
    }
}
