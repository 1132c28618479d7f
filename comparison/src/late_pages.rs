//! Page 5,000 beside page 1, for every sort and direction, without a filter and with each filter.

use anyhow::{Context as _, ensure};

use load_test::workload::rows_on;

use crate::{
    caller::Caller,
    dataset::MANY,
    lists::{days, ours, shapes_of},
    results::Pair,
    stage::Stage,
    statistics::median,
};

/// The late page, or the last full one of a shorter list.
const LATE: u64 = 5_000;
const PER_PAGE: u64 = 200;
/// Requests for each page in each round. The median counts.
const REPEATS: usize = 9;

/// Paths of the company's lists with sort and filters.
fn shapes(distributor: i64, case_distributor: i64, days: &[String]) -> Vec<String> {
    let (after, before) = (&days[0], &days[1]);
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
    let mut shapes = shapes_of("/api/urls", &["id", "discovery_dt", "last_review_dt", "last_seen"], &urls);
    shapes.extend(shapes_of("/api/cases", &["id", "created_dt"], &cases));
    shapes
}

/// Whether a late page of the list is found from counts: its filter is counted, or is a range of the sort's own column.
fn is_counted(shape: &str) -> bool {
    let ranged = shape.contains("_after=") || shape.contains("_before=");
    let own = shape.contains("sort_by=discovery_dt") || shape.contains("sort_by=created_dt");
    !shape.contains("distributor_id=") && (!ranged || own)
}

/// Measures one round: page 1 (under) and the late page (over) of each list. Lists of less than two full pages are left
/// out.
pub(crate) async fn round(stage: &Stage<'_>, pairs: &mut Vec<Pair>) -> anyhow::Result<()> {
    let mut caller = Caller::open(&ours(stage)?, MANY).await?;
    if pairs.is_empty() {
        let shapes = shapes(
            busiest(stage, "compliance_urls").await?,
            busiest(stage, "compliance_cases").await?,
            &days(stage.database, MANY, &[0.2, 0.85]).await?,
        );
        for shape in shapes {
            let (total, _) = fetch(&mut caller, &shape, 1).await?;
            let late = LATE.min(total / PER_PAGE);
            if late > 1 {
                let counted = is_counted(&shape);
                pairs.push(Pair { counted, ..Pair::new(shape.trim_start_matches("/api").to_owned(), late) });
            }
        }
    }
    for pair in pairs {
        let path = format!("/api{}", pair.what);
        let (mut first, mut late) = (Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            first.push(fetch(&mut caller, &path, 1).await?.1);
            late.push(fetch(&mut caller, &path, pair.number).await?.1);
        }
        pair.under.push(median(&first));
        pair.over.push(median(&late));
    }
    Ok(())
}

/// Fetches a page, checks it, and returns the total and the milliseconds.
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

/// The affiliate with the most records of a table.
async fn busiest(stage: &Stage<'_>, table: &str) -> anyhow::Result<i64> {
    let query = format!(
        "select affiliate_id from {table} where company_id = $1 and affiliate_id is not null
        group by affiliate_id order by count(*) desc limit 1"
    );
    let query = sqlx::query_scalar(sqlx::AssertSqlSafe(query)).bind(MANY);
    Ok(query.fetch_optional(&stage.database.pool).await?.unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::is_counted;

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
