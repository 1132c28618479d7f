//! Compares two pages, read one at a time: page 1 with filters and the plain page, a late page and page 1, and the
//! exact totals of many and few records.

use std::collections::{HashMap, hash_map::Entry};

use anyhow::{Context as _, ensure};
use load_test::{target::Target, workload::rows_on};
use sqlx::AssertSqlSafe;

use crate::{
    caller::Caller,
    contender::Way,
    dataset::{MANY, SMALL},
    results::Results,
    stage::Stage,
    statistics::median,
    tables::Table,
};

/// The number of the late page, or the last full page of a shorter list.
const LATE: u64 = 5_000;

/// The sorts of a list.
const URL_SORTS: [&str; 4] = ["id", "discovery_dt", "last_review_dt", "last_seen"];
const CASE_SORTS: [&str; 2] = ["id", "created_dt"];

/// A page of a list of one company.
#[derive(Clone, Debug)]
struct Asked {
    company: i64,
    /// `/urls` or `/cases`.
    list: &'static str,
    /// Sort and filters, each after `&`.
    shape: String,
    page: u64,
    per_page: u64,
}

/// Two pages that are compared, for a row of a table.
#[derive(Debug)]
pub(crate) struct Question {
    table: Table,
    number: u64,
    under: Asked,
    over: Asked,
    /// Requests for each page in each round. The median counts.
    repeats: usize,
}

/// The address of our REST in one process.
pub(crate) fn ours(stage: &Stage<'_>) -> anyhow::Result<Target> {
    match stage.contender('a').map(|contender| &contender.way) {
        Some(Way::Rest { target, .. }) => Ok(target.clone()),
        _ => anyhow::bail!("our own REST does not run"),
    }
}

/// Measures one round, alternating between the two pages.
pub(crate) async fn round(stage: &Stage<'_>, questions: Vec<Question>, results: &mut Results) -> anyhow::Result<()> {
    let mut callers = Callers(ours(stage)?, HashMap::new());
    for Question { table, number, under, over, repeats } in questions {
        let (mut below, mut above) = (Vec::new(), Vec::new());
        for _ in 0..repeats {
            below.push(callers.fetch(&under).await?.1);
            above.push(callers.fetch(&over).await?.1);
        }
        let what = format!("{}?{}", over.list, over.shape.trim_start_matches('&'));
        results.add(table, what.trim_end_matches('?'), number, Some(median(&below)), median(&above));
    }
    Ok(())
}

/// Page 1 of every list with every filter and sort, compared with the plain page: no filter, default sort.
pub(crate) async fn first_pages(stage: &Stage<'_>, company: i64) -> anyhow::Result<Vec<Question>> {
    let days = days(stage, company, &[0.02, 0.2, 0.85, 0.98]).await?;
    let ranges = |name: &str| {
        let range =
            |(first, last): (usize, usize)| format!("&{name}_after={}&{name}_before={}", days[first], days[last]);
        let mut ranges = vec![String::new()];
        ranges.extend([(0, 0), (3, 3), (1, 2)].map(range));
        ranges
    };
    let urls = [
        values("incident_status_id", ["1", "4"]),
        values("disabled", ["yes", "no"]),
        affiliates(stage, company, "compliance_urls").await?,
        ranges("discovery"),
    ];
    let cases = [
        values("case_status_id", ["4", "6"]),
        affiliates(stage, company, "compliance_cases").await?,
        ranges("created"),
    ];
    let mut callers = Callers(ours(stage)?, HashMap::new());
    let mut questions = Vec::new();
    for (list, sorts, filters) in
        [("/urls", &URL_SORTS[..], combinations(&urls)), ("/cases", &CASE_SORTS, combinations(&cases))]
    {
        let under = Asked { company, list, shape: String::new(), page: 1, per_page: 100 };
        let number = callers.fetch(&under).await?.0;
        questions.extend(sorted(sorts, &filters).into_iter().map(|shape| {
            let over = Asked { shape, ..under.clone() };
            Question { table: Table::FirstPages, number, under: under.clone(), over, repeats: 3 }
        }));
    }
    Ok(questions)
}

/// A late page, compared with page 1, for every sort and direction, without a filter and with each filter. Lists of less than two full
/// pages are left out.
pub(crate) async fn late_pages(stage: &Stage<'_>) -> anyhow::Result<Vec<Question>> {
    let days = days(stage, MANY, &[0.2, 0.85]).await?;
    let (after, before) = (&days[0], &days[1]);
    let busiest = async |table| Ok::<_, anyhow::Error>(affiliates(stage, MANY, table).await?.swap_remove(1));
    let urls = [
        String::new(),
        "&incident_status_id=3".to_owned(),
        "&disabled=no".to_owned(),
        format!("&discovery_after={after}&discovery_before={before}"),
        format!("&incident_status_id=2&disabled=no&discovery_after={after}"),
        busiest("compliance_urls").await?,
    ];
    let cases = [
        String::new(),
        "&case_status_id=2".to_owned(),
        format!("&created_after={after}&created_before={before}"),
        format!("&case_status_id=3&created_after={after}"),
        busiest("compliance_cases").await?,
    ];
    let mut callers = Callers(ours(stage)?, HashMap::new());
    let mut questions = Vec::new();
    for (list, sorts, filters) in [("/urls", &URL_SORTS[..], &urls[..]), ("/cases", &CASE_SORTS, &cases)] {
        for shape in sorted(sorts, filters) {
            let table = if is_counted(&shape) { Table::LatePages } else { Table::OtherLatePages };
            let under = Asked { company: MANY, list, shape, page: 1, per_page: 200 };
            let late = LATE.min(callers.fetch(&under).await?.0 / under.per_page);
            let over = Asked { page: late, ..under.clone() };
            questions.push(Question { table, number: late, under, over, repeats: 9 });
        }
    }
    questions.retain(|question| question.number > 1);
    Ok(questions)
}

/// The exact total of the largest company, compared with that of one with a thousand records.
pub(crate) async fn totals(stage: &Stage<'_>) -> anyhow::Result<Vec<Question>> {
    let days = days(stage, MANY, &[0.2, 0.85]).await?;
    let (after, before) = (&days[0], &days[1]);
    let mut callers = Callers(ours(stage)?, HashMap::new());
    let mut questions = Vec::new();
    for (list, shape) in [
        ("/urls", String::new()),
        ("/urls", "&incident_status_id=3".to_owned()),
        ("/urls", "&disabled=yes".to_owned()),
        ("/urls", format!("&discovery_after={after}&discovery_before={before}")),
        ("/urls", format!("&incident_status_id=2&disabled=no&discovery_after={after}")),
        ("/cases", String::new()),
        ("/cases", "&case_status_id=2".to_owned()),
        ("/cases", format!("&case_status_id=3&created_after={after}&created_before={before}")),
    ] {
        let over = Asked { company: MANY, list, shape, page: 1, per_page: 1 };
        let (number, under) = (callers.fetch(&over).await?.0, Asked { company: SMALL, ..over.clone() });
        questions.push(Question { table: Table::Totals, number, under, over, repeats: 21 });
    }
    Ok(questions)
}

/// A client for each company.
struct Callers(Target, HashMap<i64, Caller>);

impl Callers {
    /// Fetches a page, checks it, and returns the total and the milliseconds.
    async fn fetch(&mut self, asked: &Asked) -> anyhow::Result<(u64, f64)> {
        let Asked { company, list, shape, page, per_page } = asked;
        let caller = match self.1.entry(*company) {
            Entry::Occupied(caller) => caller.into_mut(),
            Entry::Vacant(place) => place.insert(Caller::of(&self.0, *company).await?),
        };
        let path = format!("/api{list}?per_page={per_page}&page={page}{shape}");
        let taken = caller.timed("GET", &path, b"", 200).await?;
        let answer = caller.answer()?;
        let total = answer["meta"]["total"].as_u64().with_context(|| format!("{path}: no total"))?;
        let rows = answer["data"].as_array().with_context(|| format!("{path}: no data"))?.len() as u64;
        ensure!(answer["meta"]["current_page"] == *page, "{path}: another page");
        ensure!(rows == rows_on(*page, *per_page, total), "{path}: {rows} rows of {total}");
        Ok((total, taken))
    }
}

/// Each filter by each sort in both directions.
fn sorted(sorts: &[&str], filters: &[String]) -> Vec<String> {
    let directions = sorts.iter().flat_map(|sort| ["asc", "desc"].map(|way| format!("&sort_by={sort}&sort_dir={way}")));
    directions.flat_map(|start| filters.iter().map(move |filter| format!("{start}{filter}"))).collect()
}

/// Every combination of one value of each filter.
fn combinations(filters: &[Vec<String>]) -> Vec<String> {
    filters.iter().fold(vec![String::new()], |combined, values| {
        combined.iter().flat_map(|start| values.iter().map(move |value| format!("{start}{value}"))).collect()
    })
}

/// No filter, and one for each value.
fn values(name: &str, values: [&str; 2]) -> Vec<String> {
    let given = values.iter().map(|value| format!("&{name}={value}"));
    std::iter::once(String::new()).chain(given).collect()
}

/// No filter, the affiliate with the most records of a table, and one with the fewest.
async fn affiliates(stage: &Stage<'_>, company: i64, table: &str) -> anyhow::Result<Vec<String>> {
    let mut filters = vec![String::new()];
    for direction in ["desc", "asc"] {
        let query = format!(
            "select affiliate_id from {table} where company_id = $1 and affiliate_id is not null
            group by affiliate_id order by count(*) {direction}, affiliate_id limit 1"
        );
        let query = sqlx::query_scalar::<_, i64>(AssertSqlSafe(query)).bind(company);
        filters.push(format!("&distributor_id={}", query.fetch_one(&stage.database.pool).await?));
    }
    Ok(filters)
}

/// The days on which these fractions of a company's URLs were discovered.
async fn days(stage: &Stage<'_>, company: i64, fractions: &[f64]) -> anyhow::Result<Vec<String>> {
    let query = "select percentile_disc($2::float8[]) within group (order by discovery_date)::date[]::text[]
        from compliance_urls where company_id = $1";
    Ok(sqlx::query_scalar(query).bind(company).bind(fractions).fetch_one(&stage.database.pool).await?)
}

/// Whether a late page of the list is found from counts: its filter is counted, or is a range of the sort's own column.
fn is_counted(shape: &str) -> bool {
    let ranged = shape.contains("_after=") || shape.contains("_before=");
    let own = shape.contains("sort_by=discovery_dt") || shape.contains("sort_by=created_dt");
    !shape.contains("distributor_id=") && (!ranged || own)
}

#[cfg(test)]
mod tests {
    use super::{combinations, is_counted, values};

    #[test]
    fn every_combination_is_there_once() {
        let combined = combinations(&[values("a", ["1", "2"]), values("b", ["x", "y"])]);
        assert_eq!(combined.len(), 9);
        assert!(combined.contains(&String::new()) && combined.contains(&"&a=2&b=x".to_owned()));
    }

    #[test]
    fn only_counted_filters_and_ranges_of_the_sort_count() {
        for counted in ["sort_by=id", "sort_by=last_seen&disabled=no", "sort_by=discovery_dt&discovery_after=x"] {
            assert!(is_counted(counted), "{counted}");
        }
        for other in ["sort_by=id&discovery_after=x", "sort_by=id&distributor_id=1"] {
            assert!(!is_counted(other), "{other}");
        }
    }
}
