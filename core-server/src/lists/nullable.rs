//! A list with a filter on a column that may be null, in a database: no list of the service has one.

use compliance_api::v1::SortDirection;
use embedded_postgres::ClusterOptions;
use sqlx::{PgPool, Row as _};
use test_support::{TestCluster, TestDatabase};

use super::{Asked, Filter, List, PageQuery, Part, Sort, Statements, Value};
use crate::limits::NEAR;

/// The values of the filters.
type Request = (Option<i32>, Option<bool>);

pub(crate) static LIST: List<Request> = List {
    table: "compliance_urls",
    counts: "counts_of_nulls",
    filters: &[
        Filter { column: "incident_status_id", value: Value::Integer(|request| request.0), leads: true },
        Filter { column: "false_positive", value: Value::Boolean(|request| request.1), leads: false },
    ],
    date: "discovery_date",
    sorts: &[
        Sort { number: 1, parts: &[Part::Ids] },
        Sort { number: 2, parts: &[Part::Days("discovery_date")] },
        Sort { number: 3, parts: &[Part::Days("last_seen"), Part::Nulls("last_seen")] },
    ],
    buckets: "compliance_url_buckets(r.id >> 10, utc_day(r.discovery_date), null, utc_day(r.last_seen))",
    lock: 3,
    record: |company, id| format!("select u.id from compliance_urls u where u.company_id = {company} and u.id = {id}"),
};

/// Records of company 1 in many buckets, a third of them with null, and their counts.
const RECORDS: &str = "
    create table counts_of_nulls (
        company_id bigint, dimension count_dimension, bucket bigint, incident_status_id integer, false_positive boolean,
        n bigint, n_without_last_seen bigint, first_day integer, last_day integer,
        constraint counts_of_nulls_pkey
            unique nulls not distinct (company_id, dimension, bucket, incident_status_id, false_positive)
    );
    insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values (1, 1, 'A', 'A'), (1, 2, 'B', 'B');
    insert into compliance_urls
        (company_id, id, url, url_hash, incident_status_id, false_positive, affiliate_id, discovery_date, last_seen)
    select 1, n * 20, n, n::text::bytea, 1 + n % 2, nullif(n % 3, 0) = 1, 1 + n / 10 % 2,
        timestamptz '2024-01-01Z' + n % 90 * interval '1 day',
        case when n % 5 > 0 then timestamptz '2024-01-01Z' + n % 70 * interval '1 day' end
    from generate_series(1, 6000) n;
    insert into counts_of_nulls
    select 1, p.dimension, p.bucket, r.incident_status_id, r.false_positive, count(*),
        count(*) filter (where p.by_id and r.last_seen is null),
        min(utc_day(r.discovery_date)), max(utc_day(r.discovery_date))
    from compliance_urls r
    cross join lateral compliance_url_buckets(r.id >> 10, utc_day(r.discovery_date), null, utc_day(r.last_seen)) p
    group by 2, 3, 4, 5;
    analyze";

/// A server with the records and the counts of the list.
pub(crate) async fn filled() -> (TestCluster, PgPool) {
    let server = TestCluster::start(ClusterOptions::temporary()).await;
    let created = TestDatabase::create(&server.endpoint, "nullable").await;
    let pool = PgPool::connect_with(created.options).await.unwrap();
    sqlx::raw_sql(RECORDS).execute(&pool).await.unwrap();
    (server, pool)
}

/// Days of the records: from 2024-01-20 to 2024-03-05.
const RANGE: (i32, i32) = (19_742, 19_787);

/// The total, and the IDs of the page.
type Found = (i64, Vec<i64>);

async fn page(pool: &PgPool, statements: &Statements<Request>, request: &Request, asked: Asked) -> Found {
    let statement = statements.statement(request, asked).unwrap();
    let rows = statements.query(statement, 1, request, asked).fetch_all(pool).await.unwrap();
    (rows[0].get("total"), rows.iter().filter_map(|row| row.get("found")).collect())
}

async fn expected(pool: &PgPool, request: &Request, asked: Asked) -> Found {
    let (key, direction) = (
        ["", "id", "discovery_date", "last_seen"][asked.sort as usize],
        if asked.page.descending { "desc" } else { "asc" },
    );
    let (first, last) = asked.days.unzip();
    let statement = format!(
        "with matches as (
            select id, {key} as k from compliance_urls
            where ($1 is null or incident_status_id = $1) and ($2 is null or false_positive = $2)
                and ($3 is null or utc_day(discovery_date) between $3 and $4) and ($5 is null or affiliate_id = $5)
        )
        select (select count(*) from matches), array(
            select id from matches order by k {direction} nulls last, id {direction} offset $6 limit $7
        )"
    );
    let query = sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(request.0).bind(request.1).bind(first).bind(last);
    query.bind(asked.affiliate).bind(asked.page.offset()).bind(asked.page.per_page).fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn records_with_null_are_counted_and_found() {
    let (server, pool) = filled().await;
    let statements = Statements::of(&LIST);
    let (per_page, mut requests) = (20, Vec::new());
    for request in [(None, None), (Some(2), None), (None, Some(true)), (None, Some(false)), (Some(2), Some(true))] {
        for (days, affiliate) in [(None, None), (Some(RANGE), None), (None, Some(1)), (Some(RANGE), Some(1))] {
            for sort in 1..=3 {
                for direction in [SortDirection::Asc, SortDirection::Desc] {
                    for number in [1, NEAR / per_page + 3] {
                        let page = PageQuery::new(Some(per_page), Some(number), direction);
                        requests.push((request, Asked { page, sort, days, affiliate }));
                    }
                }
            }
        }
    }
    for (request, asked) in requests {
        let Asked { page: PageQuery { descending, .. }, sort, days, affiliate } = asked;
        assert_eq!(
            page(&pool, &statements, &request, asked).await,
            expected(&pool, &request, asked).await,
            "{request:?}, {days:?}, affiliate {affiliate:?}, sort {sort}, descending {descending}, after {}",
            asked.page.offset()
        );
    }
    pool.close().await;
    server.stop().await;
}
