//! Measures single inserts with prepared statements: the minimum cost of a write.

use std::fmt::Write as _;

use anyhow::{Context as _, ensure};
use compliance_api::{
    country,
    record::{Record as _, RecordField, StoredAs},
    v1::AffiliateInput,
};
use load_test::{
    measure::Worker,
    workload::{LoadRequest, Plan, Scenario, Universe, affiliate},
};
use sha2::{Digest as _, Sha256};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::{measure::Sample, service::Database};

/// Inserts a URL.
const INSERT_URL: &str = "insert into bare (company_id, url, url_hash, domain) values ($1, $2, $3, 'load.example.com')";

/// Inserts single rows into a copy of a table, with its indexes and rows but without triggers and foreign keys.
///
/// The table starts with rows, because an empty table would understate the cost: after a checkpoint, PostgreSQL writes each existing page
/// to the WAL in full when it first changes.
pub(crate) async fn measure(
    database: &Database,
    scenario: Scenario,
    universe: &Universe,
    connections: u32,
    seconds: f64,
) -> anyhow::Result<Sample> {
    let table = if scenario == Scenario::Create { "affiliates" } else { "compliance_urls" };
    let copy = format!(
        "drop table if exists bare; create table bare (like {table} including all);
        insert into bare select * from {table}"
    );
    database.run(&copy).await?;
    database.tidy().await?;
    let mut workers = Vec::new();
    for number in 0..connections {
        workers.push(BareWorker::open(database, scenario, universe, number).await?);
    }
    let sample = Sample::of(workers, seconds, &[], database.pid()?).await;
    database.run("drop table bare").await?;
    sample
}

/// Inserts rows over one connection.
struct BareWorker {
    connection: PgConnection,
    plan: Plan,
    universe: Universe,
    insert_affiliate: String,
}

impl BareWorker {
    async fn open(database: &Database, scenario: Scenario, universe: &Universe, worker: u32) -> anyhow::Result<Self> {
        let connection = PgConnection::connect(&database.url()).await.context("cannot connect to the database")?;
        Ok(Self {
            connection,
            plan: Plan::new(scenario, 1, worker),
            universe: universe.clone(),
            insert_affiliate: insert_affiliate()?,
        })
    }
}

impl Worker for BareWorker {
    async fn once(&mut self) -> anyhow::Result<()> {
        let done = match self.plan.step(&self.universe) {
            LoadRequest::AddUrls(urls) => {
                let url = urls.into_iter().next().context("the request contains no URL")?;
                let hash = Sha256::digest(&url).to_vec();
                let insert = sqlx::query(INSERT_URL).bind(self.universe.company).bind(url).bind(hash);
                insert.execute(&mut self.connection).await?
            }
            LoadRequest::Create(affiliate) => {
                let mut insert = sqlx::query(AssertSqlSafe(self.insert_affiliate.clone())).bind(self.universe.company);
                for field in given(&affiliate) {
                    insert = insert.bind(value(field, &affiliate));
                }
                insert.execute(&mut self.connection).await?
            }
            _ => anyhow::bail!("the scenario does not write single records"),
        };
        ensure!(done.rows_affected() == 1, "the row was not inserted");
        Ok(())
    }
}

/// Returns the statement that inserts an affiliate, with all generated fields as text.
fn insert_affiliate() -> anyhow::Result<String> {
    let (mut names, mut values) = ("company_id".to_owned(), "$1".to_owned());
    for (number, field) in (2..).zip(given(&affiliate(0, 0))) {
        write!(names, ", {}", field.column.name)?;
        write!(values, ", ${number}::text::{}", field.column.sql_type)?;
    }
    Ok(format!("insert into bare ({names}) values ({values})"))
}

fn given(affiliate: &AffiliateInput) -> impl Iterator<Item = &'static RecordField<AffiliateInput>> {
    AffiliateInput::FIELDS.iter().filter(|field| field.is_given(affiliate))
}

/// Returns a value's text, as the column stores it.
fn value(field: &RecordField<AffiliateInput>, affiliate: &AffiliateInput) -> Option<String> {
    let text = field.text(affiliate)?;
    let code = country::numeric(text).filter(|_| field.column.form == StoredAs::CountryCode);
    Some(code.map_or_else(|| text.to_owned(), |code| code.to_string()))
}
