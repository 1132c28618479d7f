//! The exact total of a million records beside that of a thousand.

use anyhow::{Context as _, ensure};

use crate::{
    caller::Caller,
    dataset::{MANY, SMALL},
    lists::{days, ours},
    results::Pair,
    stage::Stage,
    statistics::median,
};

/// Requests for each total in each round. The median counts.
const REPEATS: usize = 21;

fn lists(days: &[String]) -> [String; 8] {
    let (after, before) = (&days[0], &days[1]);
    [
        "/urls?per_page=1".to_owned(),
        "/urls?per_page=1&incident_status_id=3".to_owned(),
        "/urls?per_page=1&disabled=yes".to_owned(),
        format!("/urls?per_page=1&discovery_after={after}&discovery_before={before}"),
        format!("/urls?per_page=1&incident_status_id=2&disabled=no&discovery_after={after}"),
        "/cases?per_page=1".to_owned(),
        "/cases?per_page=1&case_status_id=2".to_owned(),
        format!("/cases?per_page=1&case_status_id=3&created_after={after}&created_before={before}"),
    ]
}

/// Measures one round: the small company (under) and the large one (over).
pub(crate) async fn round(stage: &Stage<'_>, pairs: &mut Vec<Pair>) -> anyhow::Result<()> {
    let target = ours(stage)?;
    let (mut many, mut few) = (Caller::open(&target, MANY).await?, Caller::open(&target, SMALL).await?);
    if pairs.is_empty() {
        for list in lists(&days(stage.database, MANY, &[0.2, 0.85]).await?) {
            let total = total(&mut many, &list).await?;
            check(stage, &list, total).await?;
            pairs.push(Pair::new(list, total));
        }
    }
    for pair in pairs {
        let path = format!("/api{}", pair.what);
        let (mut under, mut over) = (Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            under.push(few.timed("GET", &path, b"", 200).await?);
            over.push(many.timed("GET", &path, b"", 200).await?);
        }
        pair.under.push(median(&under));
        pair.over.push(median(&over));
    }
    Ok(())
}

async fn total(caller: &mut Caller, list: &str) -> anyhow::Result<u64> {
    caller.timed("GET", &format!("/api{list}"), b"", 200).await?;
    caller.answer()?["meta"]["total"].as_u64().with_context(|| format!("{list}: no total"))
}

/// Checks a total against a count in the database.
async fn check(stage: &Stage<'_>, list: &str, total: u64) -> anyhow::Result<()> {
    let (path, query) = list.split_once('?').unwrap_or((list, ""));
    let table = if path == "/urls" { "compliance_urls" } else { "compliance_cases" };
    let mut conditions = format!("company_id = {MANY}");
    for (name, value) in query.split('&').filter_map(|part| part.split_once('=')) {
        let condition = match name {
            "incident_status_id" | "case_status_id" => format!("{name} = {value}"),
            "disabled" => format!("disabled = {}", value == "yes"),
            "discovery_after" => format!("discovery_date >= '{value}'"),
            "discovery_before" => format!("discovery_date < '{value}'::date + 1"),
            "created_after" => format!("created_date >= '{value}'"),
            "created_before" => format!("created_date < '{value}'::date + 1"),
            _ => continue,
        };
        conditions = format!("{conditions} and {condition}");
    }
    let statement = format!("select count(*) from {table} where {conditions}");
    let counted: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(statement)).fetch_one(&stage.database.pool).await?;
    ensure!(counted as u64 == total, "{list}: the total is {total}, but the database counts {counted}");
    Ok(())
}
