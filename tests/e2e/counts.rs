//! Checks that list counts match the records, even with concurrent writers.

use core_server::doctor::check_counts;
use futures::future::join_all;
use sqlx::PgPool;
use test_support::{TestService, new_company};

use crate::model::Dice;

const WRITERS: u64 = 6;
const STATEMENTS: usize = 60;

/// A random timestamp, often at the edge of a day.
const TIMESTAMP: &str =
    "to_timestamp(1704067200 + 86400 * (random() * 90)::int + (array[0, 1, 86399, 43200])[1 + (random() * 3)::int])";
const TIMESTAMP_OR_NULL: &str = "case when random() < 0.4 then null else";

/// Statements for one table. `$1` is the company, and `$2` picks records.
struct Writes {
    insert: String,
    updates: Vec<String>,
    delete: String,
}

async fn run(pool: &PgPool, statement: &str, company: i64, pick: i32) {
    let query = sqlx::query(sqlx::AssertSqlSafe(statement.to_owned())).bind(company).bind(pick);
    query.execute(pool).await.unwrap_or_else(|error| panic!("{error}: {statement}"));
}

/// Runs concurrent writers with random statements.
async fn write(pool: &PgPool, companies: &[i64], writes: &Writes) {
    let all = (0..WRITERS).map(|seed| async move {
        let mut dice = Dice::new(seed);
        for _ in 0..STATEMENTS {
            let (company, pick) = (*dice.pick(companies), dice.below(1000) as i32);
            match dice.below(6) {
                0 | 1 => run(pool, &writes.insert, company, pick).await,
                2 => run(pool, &writes.delete, company, pick).await,
                _ => run(pool, dice.pick::<String>(&writes.updates), company, pick).await,
            }
        }
    });
    join_all(all).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn url_counts_stay_exact_under_concurrent_writes() {
    let service = TestService::start().await;
    let companies = [new_company(), new_company()];
    let columns = format!(
        "1 + (random() * 5)::int, random() < 0.3, {TIMESTAMP}, {TIMESTAMP_OR_NULL} {TIMESTAMP} end, {TIMESTAMP_OR_NULL} {TIMESTAMP} end"
    );
    let writes = Writes {
        // The IDs are far apart, so they fill many buckets.
        insert: format!(
            "insert into compliance_urls (company_id, id, url, url_hash, incident_status_id, disabled, discovery_date,
                last_review_date, last_seen)
            select $1, id, id::text, decode(lpad(to_hex(id), 16, '0'), 'hex'), {columns}
            from (select nextval('compliance_urls_id_seq') * 700 as id from generate_series(1, 1 + $2 % 40)) n"
        ),
        updates: vec![
            picked("update compliance_urls u set incident_status_id = 1 + (random() * 5)::int", "compliance_urls"),
            picked("update compliance_urls u set disabled = not disabled", "compliance_urls"),
            picked(&format!("update compliance_urls u set discovery_date = {TIMESTAMP}"), "compliance_urls"),
            picked(
                &format!("update compliance_urls u set last_review_date = {TIMESTAMP_OR_NULL} {TIMESTAMP} end"),
                "compliance_urls",
            ),
            picked(
                &format!(
                    "update compliance_urls u set (last_seen, discovery_date) = (select {TIMESTAMP}, {TIMESTAMP})"
                ),
                "compliance_urls",
            ),
            picked("update compliance_urls u set note = 'x'", "compliance_urls"),
        ],
        delete: picked("delete from compliance_urls u", "compliance_urls"),
    };
    write(&service.pool, &companies, &writes).await;
    expect_exact(&service.pool, "compliance_url_counts", 10).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_counts_stay_exact_under_concurrent_writes() {
    let service = TestService::start().await;
    let companies = [new_company(), new_company()];
    for company in companies {
        let statement =
            "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values ($1, $2, 'C', 'N')";
        run(&service.pool, statement, company, 1).await;
    }
    let writes = Writes {
        insert: format!(
            "insert into compliance_cases (company_id, id, affiliate_id, case_status_id, created_date)
            select $1, nextval('compliance_cases_id_seq') * 700, 1, 1 + (random() * 8)::int, {TIMESTAMP}
            from generate_series(1, 1 + $2 % 40)"
        ),
        updates: vec![
            picked("update compliance_cases u set case_status_id = 1 + (random() * 8)::int", "compliance_cases"),
            picked(&format!("update compliance_cases u set created_date = {TIMESTAMP}"), "compliance_cases"),
            picked("update compliance_cases u set case_worker = 'x'", "compliance_cases"),
        ],
        delete: picked("delete from compliance_cases u", "compliance_cases"),
    };
    write(&service.pool, &companies, &writes).await;
    expect_exact(&service.pool, "compliance_case_counts", 6).await;
}

/// Checks that the counts match the records, and that the table contains counts of this many dimensions.
async fn expect_exact(pool: &PgPool, table: &str, dimensions: i64) {
    let mut connection = pool.acquire().await.unwrap();
    let counted = format!("select count(distinct dimension), count(*) from {table} where n > 0");
    let (seen, rows): (i64, i64) =
        sqlx::query_as(sqlx::AssertSqlSafe(counted)).fetch_one(&mut *connection).await.unwrap();
    assert!(seen == dimensions && rows > 200, "only {seen} dimensions and {rows} counts were written");
    assert_eq!(check_counts(&mut connection, false).await.unwrap(), []);
}

/// An unfiltered list's pages are complete even if the counts are missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_counts_do_not_hide_records() {
    let service = TestService::start().await;
    let company = new_company();
    let insert = "insert into compliance_urls (company_id, url, url_hash)
        select $1, n::text, sha256(n::text::bytea) from generate_series(1, $2) n";
    run(&service.pool, insert, company, 700).await;
    run(&service.pool, "delete from compliance_url_counts where company_id = $1 and $2 = 0", company, 0).await;
    let rest = service.rest(company);
    let found = async |page| {
        let page = rest.get(&format!("/urls?per_page=100&page={page}")).await.with_status(200);
        page["data"].as_array().unwrap().len()
    };
    assert_eq!([found(1).await, found(7).await, found(8).await], [100, 100, 0]);
}

/// Returns an update or deletion of some records, in ID order, because other orders could deadlock.
///
/// Hashes replace random numbers, because Citus allows only immutable functions here.
fn picked(write: &str, table: &str) -> String {
    let mut parts = write.split("random()");
    let mut write = parts.next().unwrap_or_default().to_owned();
    for (number, part) in parts.enumerate() {
        let hash = format!("((hashint8extended(u.id, $2 * 100 + {number}) & 65535) / 65536.0)");
        write.extend([&*hash, part]);
    }
    let (parts, from) = if write.starts_with("delete") { (23, "using") } else { (7, "from") };
    format!(
        "with picked as materialized (
            select id from {table} where company_id = $1 and id / 700 % {parts} = $2 % {parts} order by id for update
        )
        {write} {from} picked where u.company_id = $1 and u.id = picked.id"
    )
}
