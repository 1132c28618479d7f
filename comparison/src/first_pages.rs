//! Page 1 of every list with every filter and sort, beside the plain page: no filter, default sort.

use load_test::{service::Database, target::Target};
use sqlx::AssertSqlSafe;

use crate::{
    caller::Caller,
    lists::{days, ours, shapes_of},
    results::{FirstPages, Shape},
    stage::Stage,
    statistics::median,
};

/// Requests for each page in each round. The median counts.
const REPEATS: usize = 3;
/// The plain page is measured again after this many others.
const PLAIN_EVERY: usize = 16;

/// A list: its path, its table, the parameters of its range, its sorts, and the values of each filter.
struct List {
    path: &'static str,
    table: &'static str,
    sorts: &'static [&'static str],
    filters: Vec<Vec<String>>,
}

/// Measures one round of both lists of a company.
pub(crate) async fn round(stage: &Stage<'_>, company: i64, all: &mut Vec<FirstPages>) -> anyhow::Result<()> {
    for list in lists(stage.database, company).await? {
        measure(&ours(stage)?, stage.database, company, &list, all).await?;
    }
    Ok(())
}

async fn lists(database: &Database, company: i64) -> anyhow::Result<[List; 2]> {
    let days = days(database, company, &[0.02, 0.2, 0.85, 0.98]).await?;
    let range = |name: &str, first: &str, last: &str| format!("&{name}_after={first}&{name}_before={last}");
    let ranges = |name: &str| {
        let none = String::new();
        let day = |index: usize| days[index].as_str();
        vec![none, range(name, day(0), day(0)), range(name, day(3), day(3)), range(name, day(1), day(2))]
    };
    let (urls, cases) = ("compliance_urls", "compliance_cases");
    Ok([
        List {
            path: "/api/urls",
            table: urls,
            sorts: &["id", "discovery_dt", "last_review_dt", "last_seen"],
            filters: vec![
                values("incident_status_id", ["1", "4"]),
                values("disabled", ["yes", "no"]),
                affiliates(database, company, urls).await?,
                ranges("discovery"),
            ],
        },
        List {
            path: "/api/cases",
            table: cases,
            sorts: &["id", "created_dt"],
            filters: vec![
                values("case_status_id", ["4", "6"]),
                affiliates(database, company, cases).await?,
                ranges("created"),
            ],
        },
    ])
}

/// No filter, and one for each value.
fn values(name: &str, values: [&str; 2]) -> Vec<String> {
    let given = values.iter().map(|value| format!("&{name}={value}"));
    std::iter::once(String::new()).chain(given).collect()
}

/// No filter, the affiliate with the most records, and one with the fewest.
async fn affiliates(database: &Database, company: i64, table: &str) -> anyhow::Result<Vec<String>> {
    let mut filters = vec![String::new()];
    for direction in ["desc", "asc"] {
        let query = format!(
            "select affiliate_id from {table} where company_id = $1 and affiliate_id is not null
            group by affiliate_id order by count(*) {direction}, affiliate_id limit 1"
        );
        let id: Option<i64> =
            sqlx::query_scalar(AssertSqlSafe(query)).bind(company).fetch_optional(&database.pool).await?;
        filters.extend(id.map(|id| format!("&distributor_id={id}")));
    }
    Ok(filters)
}

/// Every combination of one value of each filter.
fn combinations(filters: &[Vec<String>]) -> Vec<String> {
    filters.iter().fold(vec![String::new()], |combined, values| {
        combined.iter().flat_map(|start| values.iter().map(move |value| format!("{start}{value}"))).collect()
    })
}

async fn measure(
    target: &Target,
    database: &Database,
    company: i64,
    list: &List,
    all: &mut Vec<FirstPages>,
) -> anyhow::Result<()> {
    let query = format!("select count(*) from {} where company_id = $1", list.table);
    let records: i64 = sqlx::query_scalar(AssertSqlSafe(query)).bind(company).fetch_one(&database.pool).await?;
    let mut caller = Caller::open(target, company).await?;
    let plain = format!("{}?page=1", list.path);
    let mut plain_times = Vec::new();
    let mut times = Vec::new();
    for (index, shape) in shapes_of(list.path, list.sorts, &combinations(&list.filters)).into_iter().enumerate() {
        if index.is_multiple_of(PLAIN_EVERY) {
            plain_times.push(page(&mut caller, &plain).await?);
        }
        let milliseconds = page(&mut caller, &shape).await?;
        times.push((shape.trim_start_matches("/api").to_owned(), milliseconds));
    }
    let known = all.iter().position(|pages| pages.list == list.path && pages.company == company);
    let index = known.unwrap_or_else(|| {
        let shapes = times.iter().map(|(what, _)| Shape { what: what.clone(), times: Vec::new() }).collect();
        let (path, records) = (list.path.to_owned(), records.unsigned_abs());
        all.push(FirstPages { list: path, company, records, plain: Vec::new(), shapes });
        all.len() - 1
    });
    let pages = &mut all[index];
    pages.plain.push(median(&plain_times));
    for (shape, (_, milliseconds)) in pages.shapes.iter_mut().zip(times) {
        shape.times.push(milliseconds);
    }
    Ok(())
}

/// The median of some requests for page 1, in milliseconds.
async fn page(caller: &mut Caller, shape: &str) -> anyhow::Result<f64> {
    let path = format!("{shape}&per_page=100");
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        times.push(caller.timed("GET", &path, b"", 200).await?);
        anyhow::ensure!(caller.answer()?["meta"]["current_page"] == 1, "{path}: another page");
    }
    Ok(median(&times))
}

#[cfg(test)]
mod tests {
    use super::{combinations, values};

    #[test]
    fn every_combination_is_there_once() {
        let combined = combinations(&[values("a", ["1", "2"]), values("b", ["x", "y"])]);
        assert_eq!(combined.len(), 9);
        assert!(combined.contains(&String::new()) && combined.contains(&"&a=2&b=x".to_owned()));
    }
}
