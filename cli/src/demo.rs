//! The demo company: some made records of every kind, for whoever tries the service out.

mod fixture;

use anyhow::Context as _;
use serde_json::Value;
use sqlx::{AssertSqlSafe, PgConnection, PgPool};

/// The company that the records are given to.
pub(crate) const COMPANY: i64 = 1;

/// The records, written with names for what the tables hold as numbers.
const AFFILIATES: &str = include_str!("demo/affiliates.json");
const CASES: &str = include_str!("demo/cases.json");
const URLS: &str = include_str!("demo/urls.json");

/// Fills the demo company unless it has affiliates; tells whether it did.
pub(crate) async fn fill(pool: &PgPool) -> anyhow::Result<bool> {
    fill_in_one_go(pool).await.context("the demo company cannot be filled")
}

async fn fill_in_one_go(pool: &PgPool) -> anyhow::Result<bool> {
    let (affiliates, cases, urls) = (resolved(AFFILIATES)?, resolved(CASES)?, resolved(URLS)?);
    let mut transaction = pool.begin().await?;
    // Of two that start at the same time, one fills it.
    sqlx::query("select pg_advisory_xact_lock(hashtext('demo company'), 1)").execute(&mut *transaction).await?;
    let taken: bool = sqlx::query_scalar("select exists (select from affiliates where company_id = $1)")
        .bind(COMPANY)
        .fetch_one(&mut *transaction)
        .await?;
    if taken {
        return Ok(false);
    }
    for (statement, records) in [
        (include_str!("demo/affiliates.sql"), &affiliates),
        (include_str!("demo/cases.sql"), &cases),
        (include_str!("demo/urls.sql"), &urls),
        (include_str!("demo/infractions.sql"), &urls),
        (include_str!("demo/incidents.sql"), &cases),
    ] {
        insert(&mut transaction, statement, records).await?;
    }
    transaction.commit().await?;
    Ok(true)
}

/// The records of a file as the tables take them.
fn resolved(text: &str) -> anyhow::Result<String> {
    let mut records: Value = serde_json::from_str(text)?;
    fixture::resolve(&mut records)?;
    Ok(records.to_string())
}

async fn insert(connection: &mut PgConnection, statement: &'static str, records: &str) -> anyhow::Result<()> {
    sqlx::query(AssertSqlSafe(statement)).bind(COMPANY).bind(records).execute(connection).await?;
    Ok(())
}
