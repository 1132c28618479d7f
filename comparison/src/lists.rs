//! Lists of one company: their address, sorts, filters and days.

use load_test::{service::Database, target::Target};

use crate::{contender::Way, stage::Stage};

/// The address of our REST in one process.
pub(crate) fn ours(stage: &Stage<'_>) -> anyhow::Result<Target> {
    match stage.contender('a').map(|contender| &contender.way) {
        Some(Way::Http { target, .. }) => Ok(target.clone()),
        _ => anyhow::bail!("our own REST does not run"),
    }
}

/// A list with each filter, by each sort in both directions.
pub(crate) fn shapes_of(list: &str, sorts: &[&str], filters: &[String]) -> Vec<String> {
    let mut shapes = Vec::new();
    for sort in sorts {
        for direction in ["asc", "desc"] {
            let start = format!("{list}?sort_by={sort}&sort_dir={direction}");
            shapes.extend(filters.iter().map(|filter| format!("{start}{filter}")));
        }
    }
    shapes
}

/// The days by which these fractions of a company's URLs were discovered.
pub(crate) async fn days(database: &Database, company: i64, fractions: &[f64]) -> anyhow::Result<Vec<String>> {
    let query = "select percentile_disc($2::float8[]) within group (order by discovery_date)::date[]::text[]
        from compliance_urls where company_id = $1";
    Ok(sqlx::query_scalar(query).bind(company).bind(fractions).fetch_one(&database.pool).await?)
}
