//! Tests the record of changes: content, order and retention.

pub(crate) mod chain;
pub(crate) mod changed;
pub(crate) mod clock;
pub(crate) mod erasure;
pub(crate) mod names;
pub(crate) mod order;
pub(crate) mod owners;
pub(crate) mod past;
pub(crate) mod replay;
pub(crate) mod restores;
pub(crate) mod watch;

use std::collections::BTreeMap;

use compliance_api::{
    token::{Claims, SCOPE_AUDIT, SCOPE_MONITOR},
    v1::{
        AddComplianceUrlsRequest, AffiliateInput, BatchCreateAffiliatesRequest, Change, CreateAffiliateRequest,
        ListChangesRequest, ListChangesResponse, UpdateAffiliateRequest, UrlInput,
    },
};
use futures::future::join_all;
use sqlx::{Connection as _, PgConnection};
use test_support::{GrpcClients, TestCore, fresh_database, new_company, now, reason_of, sign, update_of};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt as _;

use crate::monitoring::builders::{observation, opening};

/// Tables without company records, such as counts, the record of changes itself, and the schema history.
const NOT_RECORDED: [&str; 10] = [
    "change_drops",
    "change_positions",
    "change_retention",
    "changes",
    "compliance_case_counts",
    "compliance_url_counts",
    "database_identity",
    "webhook_deliveries",
    "webhooks",
    "_sqlx_migrations",
];

pub(crate) async fn list(
    clients: &mut GrpcClients,
    request: ListChangesRequest,
) -> Result<ListChangesResponse, Status> {
    clients.changes.list_changes(request).await.map(tonic::Response::into_inner)
}

/// Returns all changes after a position, read in pages of `limit` changes.
pub(crate) async fn all(clients: &mut GrpcClients, after: i64, limit: i64) -> Vec<Change> {
    let (mut after, mut changes) = (after, Vec::new());
    loop {
        let request = ListChangesRequest { after: Some(after), limit: Some(limit), ..ListChangesRequest::default() };
        let page = list(clients, request).await.unwrap();
        assert!(page.changes.len() as i64 <= limit && page.position >= after, "{page:?}");
        changes.extend(page.changes);
        after = page.position;
        if page.position == page.last_position {
            return changes;
        }
    }
}

fn affiliate(name: &str) -> AffiliateInput {
    AffiliateInput {
        client_affiliate_id: Some(name.to_owned()),
        affiliate_name: Some(name.to_owned()),
        ..AffiliateInput::default()
    }
}

/// Returns a request with this request ID.
fn named<T>(id: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("x-request-id", id.parse().unwrap());
    request
}

/// A second call to `record_changes_of` would change any function that lacks a column.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_record_every_column() {
    let pool = TestCore::start().await.pool;
    let tables = "select relname::text from pg_class
        where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
            and relname <> all($1)";
    let tables: Vec<String> = sqlx::query_scalar(tables).bind(NOT_RECORDED).fetch_all(&pool).await.unwrap();
    assert!(tables.len() >= 6, "{tables:?}");
    for table in tables {
        let triggers = "select count(*) from pg_trigger t join pg_proc p on p.oid = t.tgfoid
            where t.tgrelid = $1::text::regclass and p.proname = 'record_' || $1 and t.tgname like 'a_record_%'
                and t.tgenabled = 'O'";
        let triggers: i64 = sqlx::query_scalar(triggers).bind(&table).fetch_one(&pool).await.unwrap();
        assert_eq!(triggers, 3, "the migration that creates {table} must call record_changes_of");
        let first = "select min(tgname::text) from pg_trigger where tgrelid = $1::text::regclass and not tgisinternal
            and tgtype & 1 = 0";
        let first: String = sqlx::query_scalar(first).bind(&table).fetch_one(&pool).await.unwrap();
        assert!(first.starts_with("a_record_"), "{first} runs before positions are locked");
        let columns = "select array(select row(attname, atttypid)::text from pg_attribute
            where attrelid = $1::text::regclass and attnum > 0 and not attisdropped order by attnum)";
        let [mut of_table, of_type]: [Vec<String>; 2] = [
            sqlx::query_scalar(columns).bind(&table).fetch_one(&pool).await.unwrap(),
            sqlx::query_scalar(columns).bind(format!("recorded_{table}")).fetch_one(&pool).await.unwrap(),
        ];
        if table == "affiliates" {
            // The record of changes already stores the time of each change.
            of_table.retain(|column| !column.starts_with("(last_updated_date,"));
        }
        assert_eq!(of_type, of_table, "the migration that changes {table} must also change the type recorded_{table}");
        let source = "select prosrc from pg_proc where proname = 'record_' || $1";
        let before: String = sqlx::query_scalar(source).bind(&table).fetch_one(&pool).await.unwrap();
        let number = before.split("row(r.company_id, ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
        let again = format!("select record_changes_of('{table}', {number})");
        sqlx::raw_sql(sqlx::AssertSqlSafe(again)).execute(&pool).await.unwrap();
        let after: String = sqlx::query_scalar(source).bind(&table).fetch_one(&pool).await.unwrap();
        assert_eq!(before, after, "the migration that changes {table} must call record_changes_of");
    }
}

/// Covers statements that several callers share, and batches that use `COPY`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_record_their_author() {
    const CALLERS: usize = 24;
    let core = TestCore::start().await;
    let company = new_company();
    let mut expected = BTreeMap::new();
    let clients = |subject: &str| {
        let (sub, scope) = (Some(subject.to_owned()), Some(format!("{SCOPE_MONITOR} {SCOPE_AUDIT}")));
        core.clients(&sign(&Claims { sub, scope, ..Claims::new(company, now(), 3600) }))
    };
    let create = |number: usize| {
        let mut clients = clients(&format!("caller \"{number}\" {{é'"));
        async move {
            let create = CreateAffiliateRequest { affiliate: Some(affiliate(&format!("A{number}"))) };
            let id = clients.affiliates.create_affiliate(named(&format!("create {number}"), create)).await;
            let id = id.unwrap().into_inner().affiliate_id;
            let changed = AffiliateInput { city: Some("X".to_owned()), ..AffiliateInput::default() };
            let update = update_of(id, changed);
            let update = UpdateAffiliateRequest { update: Some(update) };
            clients.affiliates.update_affiliate(named(&format!("update {number}"), update)).await.unwrap();
            let urls =
                (0..2).map(|url| UrlInput { url: Some(format!("https://example.org/{number}/{url}")) }).collect();
            let add = named(&format!("add {number}"), AddComplianceUrlsRequest { urls, validate_only: false });
            let added = clients.urls.add_compliance_urls(add).await.unwrap().into_inner().results;
            (number, id, added.into_iter().map(|result| result.url_id.unwrap()).collect::<Vec<_>>())
        }
    };
    for (number, id, urls) in join_all((0..CALLERS).map(create)).await {
        let subject = format!("caller \"{number}\" {{é'");
        expected.insert(("affiliate", "created", id), (format!("create {number}"), subject.clone()));
        expected.insert(("affiliate", "updated", id), (format!("update {number}"), subject.clone()));
        expected
            .extend(urls.into_iter().map(|id| (("url", "created", id), (format!("add {number}"), subject.clone()))));
    }
    let mut one = clients("it's");
    let many = BatchCreateAffiliatesRequest {
        affiliates: (0..600).map(|n| affiliate(&format!("B{n}"))).collect(),
        validate_only: false,
    };
    let copied = one.affiliates.batch_create_affiliates(named("copy's", many)).await.unwrap().into_inner().results;
    let copied = copied.into_iter().map(|result| result.affiliate_id.unwrap());
    expected.extend(copied.map(|id| (("affiliate", "created", id), ("copy's".to_owned(), "it's".to_owned()))));
    let recorded = all(&mut one, 0, 100).await;
    assert_eq!(recorded.len(), expected.len());
    for change in &recorded {
        let by = (change.request_id.clone().unwrap(), change.subject.clone().unwrap());
        assert_eq!(expected[&(&*change.resource, &*change.operation, change.id)], by, "{change:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authors_do_not_leak_into_later_changes() {
    let core = TestCore::over(fresh_database().await.options, 3).await;
    let company = new_company();
    let mut clients = core.company(company);
    let create = CreateAffiliateRequest { affiliate: Some(affiliate("A")) };
    clients.affiliates.create_affiliate(named("first", create)).await.unwrap();
    clients.observe_one(observation("https://example.org/")).await;
    clients.open(opening("c")).await;
    sqlx::query("update affiliates set city = 'X' where company_id = $1")
        .bind(company)
        .execute(&core.pool)
        .await
        .unwrap();
    let changes = all(&mut clients, 0, 10).await;
    let by: Vec<_> = changes.iter().map(|change| (&*change.resource, change.request_id.as_deref())).collect();
    assert_eq!(by, [("affiliate", Some("first")), ("url", None), ("case", None), ("affiliate", None)]);
}

/// Concurrent updates from several companies share a statement.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_ids_in_different_companies_stay_separate() {
    let core = TestCore::start().await;
    let companies = [new_company(), new_company()];
    for company in companies {
        let insert = "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values ($1, 900000, 'A', 'A')";
        sqlx::query(insert).bind(company).execute(&core.pool).await.unwrap();
    }
    let update = async |number: usize| {
        let company = companies[number % 2];
        let fields = AffiliateInput { city: Some(number.to_string()), ..AffiliateInput::default() };
        let update = update_of(900_000, fields);
        let request = UpdateAffiliateRequest { update: Some(update) };
        core.company(company)
            .affiliates
            .update_affiliate(named(&format!("{company}-{number}"), request))
            .await
            .unwrap();
    };
    join_all((0..60).map(update)).await;
    for company in companies {
        let changes = all(&mut core.company(company), 0, 100).await;
        assert_eq!(changes.len(), 31);
        for change in &changes[1..] {
            let city = change.fields.iter().find(|field| field.field == "city").unwrap();
            assert_eq!(change.request_id, Some(format!("{company}-{}", city.after())), "{change:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_can_split_a_large_statement() {
    let core = TestCore::start().await;
    let company = new_company();
    let mut clients = core.company(company);
    let many = BatchCreateAffiliatesRequest {
        affiliates: (0..2500).map(|n| affiliate(&format!("B{n}"))).collect(),
        validate_only: false,
    };
    clients.affiliates.batch_create_affiliates(many).await.unwrap();
    for limit in [999, 1000] {
        let changes = all(&mut clients, 0, limit).await;
        let positions: Vec<i64> = changes.iter().map(|change| change.position).collect();
        assert_eq!(positions, (1..=2500).collect::<Vec<_>>());
        assert!(changes.is_sorted_by_key(|change| change.time.map(|time| time.seconds)));
    }
    assert_eq!(all(&mut clients, 1500, 7).await[0].position, 1501);
    let newest = list(&mut clients, ListChangesRequest::default()).await.unwrap();
    let expected = ListChangesResponse { changes: vec![], position: 2500, last_position: 2500, dropped_position: 0 };
    assert_eq!(newest, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_returns_only_requested_types() {
    let core = TestCore::start().await;
    let company = new_company();
    let mut clients = core.company(company);
    // More rows than the core reads per response.
    let many = "do $$ begin for n in 1..2100 loop
        insert into affiliates (company_id, client_affiliate_id, affiliate_name) values ({}, n, n);
        end loop; end $$";
    sqlx::raw_sql(sqlx::AssertSqlSafe(many.replace("{}", &company.to_string()))).execute(&core.pool).await.unwrap();
    clients.observe_one(observation("https://example.org/")).await;
    let (mut after, mut found, mut pages) = (0, Vec::new(), 0);
    while after < 2101 {
        let types = vec!["url".to_owned(), "case".to_owned()];
        let page = list(&mut clients, ListChangesRequest { after: Some(after), types, limit: None }).await.unwrap();
        assert!(page.position > after, "{page:?}");
        (after, pages) = (page.position, pages + 1);
        found.extend(page.changes.into_iter().map(|change| (change.position, change.resource)));
    }
    assert_eq!((found, pages), (vec![(2101, "url".to_owned())], 2));
    let types = vec!["colour".to_owned()];
    let wrong = list(&mut clients, ListChangesRequest { types, ..ListChangesRequest::default() }).await.unwrap_err();
    assert_eq!(wrong.code(), Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejected_positions_report_the_stored_range() {
    let core = TestCore::start().await;
    let company = new_company();
    let mut clients = core.company(company);
    let mut gone = async |after| {
        let request = ListChangesRequest { after: Some(after), ..ListChangesRequest::default() };
        let status = list(&mut clients, request).await.err()?;
        assert_eq!((status.code(), &*reason_of(&status)), (Code::OutOfRange, "POSITION_GONE"));
        let metadata = status.get_error_details().error_info().unwrap().metadata.clone();
        Some(["dropped_position", "last_position"].map(|name| format!("{name}={}", metadata[name])).join(" "))
    };
    let range = |dropped, last| Some(format!("dropped_position={dropped} last_position={last}"));
    assert_eq!((gone(0).await, gone(1).await), (None, range(0, 0)));
    for name in ["A", "B", "C", "D"] {
        core.company(company).affiliate(name).await;
    }
    assert_eq!((gone(0).await, gone(4).await, gone(5).await), (None, None, range(0, 4)));
    sqlx::query("delete from changes where position <= 2").execute(&core.pool).await.unwrap();
    assert_eq!((gone(0).await, gone(1).await, gone(2).await), (range(2, 4), range(2, 4), None));
    sqlx::query("delete from changes").execute(&core.pool).await.unwrap();
    assert_eq!((gone(3).await, gone(4).await), (range(4, 4), None));
    core.company(company).affiliate("E").await;
    let mut clients = core.company(company);
    assert_eq!(all(&mut clients, 4, 1).await[0].position, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn monthly_partitions_are_created_and_dropped() {
    let database = fresh_database().await;
    let mut connection = PgConnection::connect_with(&database.options).await.unwrap();
    let parts = async |connection: &mut PgConnection| -> Vec<String> {
        let parts = "select inhrelid::regclass::text from pg_inherits where inhparent = 'changes'::regclass order by 1";
        sqlx::query_scalar(parts).fetch_all(connection).await.unwrap()
    };
    let made = parts(&mut connection).await;
    assert_eq!(made.len(), 3, "{made:?}");
    let month = "create table changes_y2020m01 partition of changes for values from ('2020-01-01') to ('2020-02-01')";
    let old = "
        insert into changes select 1, n, instant, 1, 1, 1, array[n], array['()']
        from unnest(array['2020-01-31 12:00+00', '2020-03-01 00:00+00', now()]::timestamptz[]) with ordinality t (instant, n)";
    for statement in [month, old] {
        sqlx::raw_sql(statement).execute(&mut connection).await.unwrap();
    }
    assert_eq!(parts(&mut connection).await.len(), 4);
    // The first call drops the month, and the second drops old rows in the default partition.
    for expected in [&[2, 3][..], &[3], &[3]] {
        sqlx::query("select keep_changes(30)").execute(&mut connection).await.unwrap();
        assert_eq!(parts(&mut connection).await, made);
        let kept =
            sqlx::query_scalar("select position from changes order by position").fetch_all(&mut connection).await;
        assert_eq!(kept.unwrap() as Vec<i64>, expected);
    }
    // A month whose changes are in the default partition gets no partition of its own.
    let late = "insert into changes select 1, 4, now() + interval '1 month', 1, 1, 1, '{4}', '{()}'";
    for statement in [format!("drop table {}", made[2]), late.to_owned()] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    }
    sqlx::query("select keep_changes(30)").execute(&mut connection).await.unwrap();
    assert_eq!(parts(&mut connection).await, made[..2]);
    assert_eq!(core_server::doctor::months(&mut connection).await.unwrap().missing, [""; 0]);
    // A month with an open reader is dropped later.
    sqlx::raw_sql(month).execute(&mut connection).await.unwrap();
    let mut reader = PgConnection::connect_with(&database.options).await.unwrap();
    let mut reading = reader.begin().await.unwrap();
    sqlx::query("select from changes").execute(&mut *reading).await.unwrap();
    sqlx::query("select keep_changes(30)").execute(&mut connection).await.unwrap();
    assert_eq!(parts(&mut connection).await.len(), 3);
    reading.rollback().await.unwrap();
    sqlx::query("select keep_changes(30)").execute(&mut connection).await.unwrap();
    assert_eq!(parts(&mut connection).await, made[..2]);
}

/// Older cores cannot change the retention. Each drop is recorded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_owner_controls_retention() {
    let core = TestCore::start().await;
    let company = new_company();
    core.company(company).affiliate("A").await;
    core.company(company).affiliate("B").await;
    for statement in [
        "create table changes_y2020m01 (like changes including compression)",
        "alter table changes attach partition changes_y2020m01 for values from ('2020-01-01Z') to ('2020-02-01Z')",
        "update changes set changed_at = '2020-01-05Z' where position = 1",
    ] {
        sqlx::raw_sql(statement).execute(&core.pool).await.unwrap();
    }
    // The oldest change is less than ten years old.
    sqlx::raw_sql("update change_retention set days = 3650").execute(&core.pool).await.unwrap();
    let months = async || core_server::doctor::months(&mut core.pool.acquire().await.unwrap()).await.unwrap();
    let kept =
        async || -> i64 { sqlx::query_scalar("select count(*) from changes").fetch_one(&core.pool).await.unwrap() };
    for call in ["keep_changes(1)", "keep_changes(90)", "drop_change_month()"] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!("select {call}"))).execute(&core.pool).await.unwrap();
        assert_eq!((kept().await, months().await.overdue.len()), (2, 0), "{call}");
    }
    sqlx::raw_sql("update change_retention set days = 90").execute(&core.pool).await.unwrap();
    assert_eq!(months().await.overdue, ["changes_y2020m01"]);
    // An earlier release with a longer retention drops nothing.
    sqlx::raw_sql("select keep_changes(365)").execute(&core.pool).await.unwrap();
    assert_eq!(kept().await, 2);
    sqlx::raw_sql("select keep_changes(90)").execute(&core.pool).await.unwrap();
    assert_eq!((kept().await, months().await.overdue.len()), (1, 0));
    let drops = core_server::audit::drops(&core.pool, company).await.unwrap();
    let [drop] = &drops[..] else { panic!("{drops:?}") };
    assert_eq!(
        (drop.after, drop.position, drop.part.as_deref(), drop.days),
        (0, 1, Some("changes_y2020m01"), Some(90))
    );
    let session: String = sqlx::query_scalar("select session_user::text").fetch_one(&core.pool).await.unwrap();
    assert_eq!(drop.dropped_by, session);
    let kept = core_server::audit::retained(&core.pool, company).await.unwrap().unwrap();
    assert_eq!(kept.changes, 1);
}

/// A drop ends before the first change to keep. Changes with future times are dropped together with the changes after them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retention_tolerates_clock_errors() {
    let core = TestCore::start().await;
    let old = "'2020-01-05Z'::timestamptz";
    for (times, left) in [
        // The clock was ahead, and then correct.
        ([old, "now() + interval '400 days'", old, "now()"], &[4][..]),
        // The clock was behind at position 2 or 3.
        (["now()", old, "now()", "now()"], &[1, 2, 3, 4]),
        ([old, "now()", old, "now()"], &[1, 2, 3, 4]),
    ] {
        let company = new_company();
        for (position, time) in (1..).zip(times) {
            core.company(company).affiliate(&format!("A{position}")).await;
            let set = format!(
                "update changes set changed_at = {time} where company_id = {company} and position = {position}"
            );
            sqlx::raw_sql(sqlx::AssertSqlSafe(set)).execute(&core.pool).await.unwrap();
        }
        sqlx::raw_sql("select drop_change_month()").execute(&core.pool).await.unwrap();
        let kept = "select position from changes where company_id = $1 order by position";
        let kept: Vec<i64> = sqlx::query_scalar(kept).bind(company).fetch_all(&core.pool).await.unwrap();
        assert_eq!(kept, left, "{times:?}");
    }
}
