//! A database that has records is brought up to date: nothing that they are counted by is lost.

use std::path::Path;

use core_server::{database, doctor::check_counts};
use sqlx::migrate::Migrator;
use test_support::{fresh_database, tests};

tests![counts_move_to_buckets_that_hold_more];

/// The last migration before `bucket_counts`.
const BEFORE: i64 = 20_261_122_000_010;

const RECORDS: &str = "
    insert into compliance_urls (company_id, id, url, url_hash, incident_status_id, disabled, discovery_date,
        last_review_date, last_seen)
    select 1 + n % 2, n * 97, n::text, sha256(n::text::bytea), 1 + n % 3, n % 5 = 0, '2024-01-01Z'::timestamptz + n * interval '1 hour',
        case when n % 4 > 0 then '2024-02-01Z'::timestamptz + n * interval '3 hours' end,
        case when n % 7 > 2 then '2024-03-01Z'::timestamptz + n * interval '5 hours' end
    from generate_series(1, 3000) n;
    update compliance_urls set last_seen = '2025-01-01Z' where id % 11 = 0;
    delete from compliance_urls where id % 13 = 0";

/// The counts that differ for the previous version, by its own function.
const WRONG_BEFORE: &str = "
    with real as (
        select u.company_id, p.dimension, p.bucket, u.incident_status_id, u.disabled, count(*) as n,
            min(utc_day(u.discovery_date)) as first, max(utc_day(u.discovery_date)) as last
        from compliance_urls u
        cross join lateral compliance_url_buckets(u.id, u.discovery_date, u.last_review_date, u.last_seen) p
        group by 1, 2, 3, 4, 5
    )
    select count(*) from real r
    full join (select * from compliance_url_counts where n <> 0) c
        using (company_id, dimension, bucket, incident_status_id, disabled)
    where r.n is distinct from c.n or c.first_day > r.first or c.last_day < r.last";

async fn counts_move_to_buckets_that_hold_more() {
    let database = fresh_database().await;
    let pool = database::connect(database.options, 2).await.unwrap();
    sqlx::raw_sql("drop schema public cascade; create schema public").execute(&pool).await.unwrap();
    let all = Migrator::new(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations"))).await.unwrap();
    let before = all.iter().filter(|step| step.version <= BEFORE).cloned().collect();
    Migrator::with_migrations(before).run(&pool).await.unwrap();
    sqlx::raw_sql(RECORDS).execute(&pool).await.unwrap();
    let wrong_before = async || sqlx::query_scalar::<_, i64>(WRONG_BEFORE).fetch_one(&pool).await.unwrap();
    assert_eq!(wrong_before().await, 0);
    database::migrate(&pool).await.unwrap();
    for change in
        ["select", "update compliance_urls set last_review_date = null, disabled = not disabled where id % 3 = 0"]
    {
        sqlx::raw_sql(change).execute(&pool).await.unwrap();
        let mut connection = pool.acquire().await.unwrap();
        let mut differences = Vec::new();
        check_counts(&mut connection, false, |difference| differences.push(difference)).await.unwrap();
        assert_eq!(differences, [], "{change}");
        assert_eq!(wrong_before().await, 0, "{change}");
    }
}
