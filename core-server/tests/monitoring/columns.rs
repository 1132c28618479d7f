//! Tests every column in a counted table.

use sqlx::{AssertSqlSafe, PgPool};
use test_support::TestCore;

use super::concurrency::counts_hold;

/// Key columns. Operators who change keys manually must also repair the counts.
const KEYS: [&str; 2] = ["company_id", "id"];

/// Returns new values for a column, as expressions on a row `t`.
fn changes(column: &str, data_type: &str, nullable: bool) -> Vec<String> {
    let mut values: Vec<String> = match (column, data_type) {
        ("affiliate_id", _) => vec!["2".to_owned()],
        ("case_id", _) => vec!["7".to_owned()],
        // Different fine and coarse buckets, and the same day.
        (_, "timestamp with time zone") => ["1 day", "100 days", "-40 days", "1 second"]
            .iter()
            .map(|change| format!("coalesce(t.{column}, timestamptz '2024-05-01Z') + interval '{change}'"))
            .collect(),
        (_, "integer" | "smallint" | "bigint") => vec![format!("coalesce(t.{column}, 1) % 4 + 1")],
        (_, "boolean") => vec![format!("not coalesce(t.{column}, false)")],
        (_, "text") => vec![format!("coalesce(t.{column}, '') || t.id")],
        (_, "bytea") => vec![format!("sha256(t.{column} || 'x')")],
        (_, "ARRAY") => vec!["array['x']".to_owned()],
        other => panic!("no test values for {other:?}"),
    };
    if nullable {
        values.push("null".to_owned());
    }
    values
}

async fn run(pool: &PgPool, statement: &str) {
    let result = sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(pool).await;
    result.unwrap_or_else(|error| panic!("{error}: {statement}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_follow_changes_to_each_column() {
    let core = TestCore::start().await;
    let pool = &core.pool;
    run(
        pool,
        "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name)
            select 1, n, n::text, n::text from generate_series(1, 2) n;
        insert into compliance_cases (company_id, id, affiliate_id, created_date)
            select 1, n * 700, 1, timestamptz '2024-02-28Z' + n * interval '7 hours' from generate_series(1, 30) n;
        insert into compliance_cases (company_id, id, affiliate_id) values (1, 7, 1);
        insert into compliance_urls (company_id, id, url, url_hash, discovery_date, last_review_date, last_seen)
            select 1, n * 700, n::text, sha256(n::text::bytea), timestamptz '2024-02-28Z' + n * interval '7 hours',
                case when n % 3 > 0 then timestamptz '2024-03-31Z' + n * interval '5 hours' end,
                case when n % 2 > 0 then timestamptz '2024-01-01Z' end
            from generate_series(1, 30) n;",
    )
    .await;
    counts_hold(pool).await;
    let mut changed = 0;
    for table in ["compliance_urls", "compliance_cases"] {
        let columns: Vec<(String, String, bool)> = sqlx::query_as(
            "select column_name::text, data_type::text, is_nullable = 'YES' from information_schema.columns
            where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER' order by ordinal_position",
        )
        .bind(table)
        .fetch_all(pool)
        .await
        .unwrap();
        for (column, data_type, nullable) in &columns {
            if KEYS.contains(&column.as_str()) {
                continue;
            }
            for value in changes(column, data_type, *nullable) {
                // First one row, and then nearly all rows.
                for rows in ["t.id = 1400", "t.id <> 7"] {
                    run(pool, &format!("update {table} t set {column} = {value} where t.company_id = 1 and {rows}"))
                        .await;
                    counts_hold(pool).await;
                    changed += 1;
                }
            }
        }
        run(pool, &format!("delete from {table} where company_id = 1 and id = 2100")).await;
        counts_hold(pool).await;
    }
    run(pool, "delete from compliance_urls where company_id = 1").await;
    counts_hold(pool).await;
    run(pool, "delete from compliance_cases where company_id = 1").await;
    counts_hold(pool).await;
    assert!(changed > 100, "only {changed} changes");
}
