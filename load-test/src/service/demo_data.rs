//! Made records: by the service's own command where it has one for it, or else in bulk.

use std::time::Duration;

use anyhow::Context as _;
use compliance_api::catalogue::Vocabulary;
use sqlx::AssertSqlSafe;
use tokio::process::Command;

use super::{Binaries, Database, dataset::Share};

/// The day that the records lead up to.
const UNTIL: &str = "2026-11-01";
/// How many records one statement makes.
const AT_ONCE: u64 = 50_000;
/// How long the command may take for one company.
const COMMAND_TIME: Duration = Duration::from_hours(1);

/// Makes the records of one company.
pub(super) async fn make(database: &Database, binaries: &Binaries, share: Share, seed: u64) -> anyhow::Result<()> {
    if by_command(database, binaries, share, seed).await? {
        return Ok(());
    }
    let statement = |text: &str| {
        // Every infraction has a name of its own type, as the catalogue pairs them.
        text.replace("{names}", &Vocabulary::InfractionName.defaults().len().to_string())
    };
    for (text, count) in [
        (include_str!("sql/affiliates.sql"), share.affiliates),
        (include_str!("sql/cases.sql"), share.cases),
        (include_str!("sql/incidents.sql"), share.cases),
        (include_str!("sql/urls.sql"), share.urls),
        (include_str!("sql/infractions.sql"), share.urls),
    ] {
        let text = statement(text);
        let mut first = 1;
        while first <= count {
            let last = (first + AT_ONCE - 1).min(count);
            sqlx::query(AssertSqlSafe(text.clone()))
                .bind(share.company)
                .bind(first as i64)
                .bind(last as i64)
                .bind(seed as i64)
                .execute(&database.pool)
                .await
                .with_context(|| format!("records of company {} cannot be made", share.company))?;
            first = last + 1;
        }
    }
    Ok(())
}

/// Lets `compliance demo-data` make them; tells whether it did. What it leaves undone is removed.
async fn by_command(database: &Database, binaries: &Binaries, share: Share, seed: u64) -> anyhow::Result<bool> {
    let mut command = Command::new(binaries.path("compliance")?);
    command.args(["--log", "warn", "demo-data", "--company", &share.company.to_string()]);
    for (name, number) in
        [("--affiliates", share.affiliates), ("--urls", share.urls), ("--cases", share.cases), ("--seed", seed)]
    {
        command.args([name, &number.to_string()]);
    }
    // The records lead up to a day of their own, so that they are the same on every other.
    command.args(["--until", UNTIL]);
    command.args(["--json", "--database-url", &database.url()]).kill_on_drop(true);
    let output = tokio::time::timeout(COMMAND_TIME, command.output()).await.context("demo-data takes too long")??;
    let counts: (i64, i64, i64) = sqlx::query_as(
        "select (select count(*) from affiliates where company_id = $1),
            (select count(*) from compliance_urls where company_id = $1),
            (select count(*) from compliance_cases where company_id = $1)",
    )
    .bind(share.company)
    .fetch_one(&database.pool)
    .await?;
    let made = (counts.0 as u64, counts.1 as u64, counts.2 as u64) == (share.affiliates, share.urls, share.cases);
    if output.status.success() && made {
        return Ok(true);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("nothing said").trim();
    eprintln!("`compliance demo-data` did not make them ({said}); making them here");
    database.clear(share.company).await?;
    Ok(false)
}
