//! How the database runs the lists: every statement finds its page by indexes, within its company.

use serde_json::Value;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};
use test_support::{TestService, new_company, tests};

tests![every_list_uses_its_indexes];

/// Tables that grow with a company.
const LARGE: &[&str] = &[
    "affiliates",
    "compliance_urls",
    "compliance_cases",
    "compliance_url_counts",
    "compliance_case_counts",
    "infractions",
    "incidents",
];

async fn every_list_uses_its_indexes() {
    let service = TestService::start().await;
    for statement in [
        "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name)
            select $1, n, n::text, n::text from generate_series(1, 500) n",
        "insert into compliance_cases (company_id, id, affiliate_id, case_status_id, created_date)
            select $1, n, 1 + n % 500, 1 + n % 9, timestamptz '2024-01-01Z' + n % 700 * interval '1 day'
            from generate_series(1, 20000) n",
        "insert into compliance_urls (company_id, id, url, url_hash, incident_status_id, affiliate_id, case_id, discovery_date,
                last_review_date, last_seen)
            select $1, n, n::text, decode(lpad(to_hex(n), 16, '0'), 'hex'), 1 + n % 6, 1 + n % 500, 1 + n % 20000,
                timestamptz '2024-01-01Z' + n % 700 * interval '1 day',
                case when n % 3 > 0 then timestamptz '2024-01-01Z' + n % 600 * interval '1 day' end,
                case when n % 2 > 0 then timestamptz '2024-01-01Z' + n % 500 * interval '1 day' end
            from generate_series(1, 60000) n",
    ] {
        sqlx::query(statement).bind(new_company_of_this_test()).execute(&service.pool).await.unwrap();
    }
    // A connection as the service has them: their settings are part of how statements are planned.
    let mut connection = service.pool.acquire().await.unwrap();
    sqlx::query("analyze").execute(&mut *connection).await.unwrap();
    let mut statements = 0;
    for (number, (statement, parameters)) in core_server::list_statements().enumerate() {
        let plan = plan(&mut connection, number, statement, parameters).await;
        let mut scans = Vec::new();
        gather(&plan, &mut scans);
        assert!(scans.len() > 1, "no scans are found in the plan of {statement}: {plan}");
        for (table, kind, condition) in scans {
            assert!(kind.starts_with("Index"), "{kind} of {table} for {statement}");
            assert!(
                condition.contains("company_id"),
                "the index on {table} is walked across companies for {statement}"
            );
        }
        statements += 1;
    }
    // Four sorts of URLs and two of cases, each in two directions, with days or without, of an affiliate or not.
    assert_eq!(statements, (4 + 2) * 2 * 2 * 2);
}

fn new_company_of_this_test() -> i64 {
    static COMPANY: std::sync::OnceLock<i64> = std::sync::OnceLock::new();
    *COMPANY.get_or_init(new_company)
}

/// The plan of a statement, made as the service has it made: without knowing the parameters.
async fn plan(connection: &mut PgConnection, number: usize, statement: &str, parameters: usize) -> Value {
    // Company, limit and offset come first; what follows are the filters of either list.
    let types = match parameters {
        8 => "bigint, bigint, bigint, integer, boolean, integer, integer, bigint",
        7 => "bigint, bigint, bigint, integer, integer, integer, bigint",
        _ => panic!("a statement with {parameters} parameters"),
    };
    let prepare = format!("prepare list_{number} ({types}) as {statement}");
    sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut *connection).await.unwrap();
    let nulls = vec!["null"; parameters].join(", ");
    let explain = format!("explain (format json) execute list_{number}({nulls})");
    let row = sqlx::raw_sql(AssertSqlSafe(explain)).fetch_one(&mut *connection).await.unwrap();
    let text: String = row.try_get_unchecked(0).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()[0]["Plan"].take()
}

/// Every scan of a large table in a plan: the table, the kind of scan, the condition on the index.
fn gather(plan: &Value, scans: &mut Vec<(String, String, String)>) {
    if let Some(table) = plan["Relation Name"].as_str().filter(|table| LARGE.contains(table)) {
        let text = |name: &str| plan[name].as_str().unwrap_or_default().to_owned();
        scans.push((table.to_owned(), text("Node Type"), text("Index Cond")));
    }
    for inner in plan["Plans"].as_array().into_iter().flatten() {
        gather(inner, scans);
    }
}
