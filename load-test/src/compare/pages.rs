//! Page 5,000 beside page 1, for every sort, both ways, unfiltered and with each filter.

use anyhow::{Context as _, ensure};

use super::{Effort, contender::Way, results::Pair, single::Caller, stage::Stage};
use crate::{service::MANY, statistics::median, target::Target, workload::rows_on};

/// The page that is looked at, where there are as many.
const DEEP: u64 = 5_000;
const PER_PAGE: u64 = 200;
/// Requests for each page in each round; the median counts.
const REPEATS: usize = 9;

/// Lists of the company, as a path with sort and filters.
fn shapes(distributor: i64, case_distributor: i64, (after, before): &(String, String)) -> Vec<String> {
    let urls = [
        String::new(),
        "&incident_status_id=3".to_owned(),
        "&disabled=no".to_owned(),
        format!("&discovery_after={after}&discovery_before={before}"),
        format!("&incident_status_id=2&disabled=no&discovery_after={after}"),
        format!("&distributor_id={distributor}"),
    ];
    let cases = [
        String::new(),
        "&case_status_id=2".to_owned(),
        format!("&created_after={after}&created_before={before}"),
        format!("&case_status_id=3&created_after={after}"),
        format!("&distributor_id={case_distributor}"),
    ];
    let mut shapes = Vec::new();
    let mut add = |list: &str, sorts: &[&str], filters: &[String]| {
        for sort in sorts {
            for direction in ["asc", "desc"] {
                let paths = filters.iter().map(|filter| format!("{list}?sort_by={sort}&sort_dir={direction}{filter}"));
                shapes.extend(paths);
            }
        }
    };
    add("/api/urls", &["id", "discovery_dt", "last_review_dt", "last_seen"], &urls);
    add("/api/cases", &["id", "created_dt"], &cases);
    shapes
}

/// Measures all rounds: page 1 (under) and the deep page (over) of each list.
pub(super) async fn run(stage: &Stage<'_>, effort: Effort) -> anyhow::Result<Vec<Pair>> {
    let mut caller = Caller::open(&ours(stage)?, MANY).await?;
    let shapes = shapes(
        busiest(stage, "compliance_urls").await?,
        busiest(stage, "compliance_cases").await?,
        &stage.database.middle_days(MANY).await?,
    );
    let mut pairs: Vec<(Pair, u64)> = Vec::new();
    for shape in shapes {
        let (total, _) = fetch(&mut caller, &shape, 1).await?;
        let deep = DEEP.min(total / PER_PAGE);
        if deep > 1 {
            pairs.push((Pair::new(shape.trim_start_matches("/api").to_owned(), deep), deep));
        }
    }
    for round in 0..effort.rounds {
        eprintln!("deep pages, round {} of {}", round + 1, effort.rounds);
        for (pair, deep) in &mut pairs {
            let path = format!("/api{}", pair.what);
            let (mut first, mut late) = (Vec::new(), Vec::new());
            for _ in 0..REPEATS {
                first.push(fetch(&mut caller, &path, 1).await?.1);
                late.push(fetch(&mut caller, &path, *deep).await?.1);
            }
            pair.under.push(median(&first));
            pair.over.push(median(&late));
        }
    }
    Ok(pairs.into_iter().map(|(pair, _)| pair).collect())
}

/// Asks for a page and checks it; tells the total and the milliseconds.
async fn fetch(caller: &mut Caller, shape: &str, page: u64) -> anyhow::Result<(u64, f64)> {
    let path = format!("{shape}&per_page={PER_PAGE}&page={page}");
    let taken = caller.timed("GET", &path, b"", 200).await?;
    let answer = caller.answer()?;
    let total = answer["meta"]["total"].as_u64().with_context(|| format!("{path}: no total"))?;
    let rows = answer["data"].as_array().with_context(|| format!("{path}: no data"))?.len() as u64;
    ensure!(answer["meta"]["current_page"] == page, "{path}: another page");
    ensure!(rows == rows_on(page, PER_PAGE, total), "{path}: {rows} rows of {total}");
    Ok((total, taken))
}

/// The affiliate that most records of a table are of.
async fn busiest(stage: &Stage<'_>, table: &str) -> anyhow::Result<i64> {
    let query = format!(
        "select affiliate_id from {table} where company_id = $1 and affiliate_id is not null
        group by affiliate_id order by count(*) desc limit 1"
    );
    let query = sqlx::query_scalar(sqlx::AssertSqlSafe(query)).bind(MANY);
    Ok(query.fetch_optional(&stage.database.pool).await?.unwrap_or(1))
}

/// Our REST in one process.
pub(super) fn ours(stage: &Stage<'_>) -> anyhow::Result<Target> {
    match stage.contender('a').map(|contender| &contender.way) {
        Some(Way::Http { target, .. }) => Ok(target.clone()),
        _ => anyhow::bail!("our own REST is not there"),
    }
}
