//! Tests that the core finds columns and attributes by name, in any order, and rejects a database that lacks one of them at startup.

pub(crate) mod large_tables;

use std::time::Duration;

use compliance_api::{
    json::records::timestamp_of_text,
    record::{Access, Record, StoredAs},
    v1::{
        Affiliate, AffiliateInput, AffiliateUpdate, CaseInput, ComplianceCase, ComplianceUrl, GetAffiliateRequest,
        OpenCaseRequest, ResultCode, UrlObservation,
    },
};
use core_server::{Core, CoreSettings, database};
use prost_types::Timestamp;
use sqlx::PgPool;
use test_support::{GrpcClients, TestCore, fresh_database, verifier};
use tokio::time::timeout;

fn at(text: &str) -> Timestamp {
    timestamp_of_text(text).unwrap()
}

#[expect(clippy::unnecessary_wraps, reason = "nearly every field is optional")]
fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Swaps two columns, or two attributes of a type.
async fn swap(pool: &PgPool, owner: &str, part: &str, one: &str, other: &str) {
    for (from, to) in [(one, "swapped"), (other, one), ("swapped", other)] {
        run(pool, &format!("alter {owner} rename {part} {from} to {to}")).await;
    }
}

async fn run(pool: &PgPool, sql: &str) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned())).execute(pool).await.unwrap();
}

async fn prepared(statements: &[&str]) -> (PgPool, sqlx::postgres::PgConnectOptions) {
    let database = fresh_database().await;
    let pool = database::connect(database.options.clone(), 2).await.unwrap();
    for statement in statements {
        run(&pool, statement).await;
    }
    (pool, database.options)
}

/// Returns an affiliate with field names as values.
fn labelled(name: &str) -> AffiliateInput {
    let mut affiliate = AffiliateInput::default();
    for field in AffiliateInput::FIELDS {
        let text = match (&field.access, field.column.form) {
            (Access::Text { .. }, StoredAs::Plain) => format!("{name} {}", field.name),
            (Access::Text { .. }, StoredAs::Date) => "2024-02-29".to_owned(),
            (Access::Text { .. }, _) => "DE".to_owned(),
            (Access::Integer { .. }, _) => "7".to_owned(),
            (Access::Boolean { .. }, _) => "yes".to_owned(),
            _ => continue,
        };
        assert!(field.set_written(&mut affiliate, Some(text)));
    }
    let email = format!("{}@example.org", name.to_lowercase());
    affiliate.email_one = Some(email.clone());
    affiliate.email_two = Some(format!("two.{email}"));
    affiliate.sponsor_email = Some(format!("sponsor.{email}"));
    affiliate.replicated_website = Some(format!("https://{}.example.org/", name.to_lowercase()));
    affiliate.status = some("active");
    affiliate
}

/// Asserts that each read field equals the written field with the same column.
fn read_form(affiliate: &Affiliate, written: &AffiliateInput) {
    for field in AffiliateInput::FIELDS {
        let read = Affiliate::FIELDS.iter().find(|read| read.column.name == field.column.name).unwrap();
        match field.column.form {
            StoredAs::CountryCode => assert_eq!(read.written(affiliate).as_deref(), Some("276")),
            _ => assert_eq!(read.written(affiliate), field.written(written), "{field:?}"),
        }
    }
}

async fn round_trip(clients: &mut GrpcClients, name: &str) {
    let created = labelled(&format!("{name}1"));
    let results = clients.create_affiliates(vec![created.clone()]).await;
    let id = results[0].affiliate_id.unwrap();
    let read = clients.read_affiliate(id).await;
    read_form(&read, &created);

    let changed = labelled(&format!("{name}2"));
    let update =
        AffiliateUpdate { id: Some(id), affiliate: Some(changed.clone()), update_mask: None, etag: String::new() };
    let results = clients.update_affiliates(vec![update]).await;
    assert_eq!(results[0].code(), ResultCode::Saved);
    let read = clients.read_affiliate(id).await;
    read_form(&read, &changed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn affiliate_columns_are_matched_by_name() {
    let (pool, options) = prepared(&[]).await;
    swap(&pool, "table affiliates", "column", "city", "state").await;
    swap(&pool, "table affiliates", "column", "phone_one", "recognition_rank").await;
    swap(&pool, "type affiliate_input", "attribute", "first_name", "last_name").await;
    swap(&pool, "type affiliate_input", "attribute", "country", "zip").await;
    run(&pool, "alter type affiliate_input alter attribute country type smallint, alter attribute zip type text").await;
    let core = TestCore::over(options, 4).await;
    round_trip(&mut core.company(1), "Swap").await;
    let row: (String, String, String) =
        sqlx::query_as("select city, state, first_name from affiliates").fetch_one(&pool).await.unwrap();
    assert_eq!(row, ("Swap2 city".to_owned(), "Swap2 state".to_owned(), "Swap2 first_name".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn url_and_case_columns_are_matched_by_name() {
    let (pool, options) = prepared(&[]).await;
    swap(&pool, "table compliance_urls", "column", "social_one", "social_three").await;
    swap(&pool, "table compliance_urls", "column", "last_crawl_date", "last_seen").await;
    swap(&pool, "table compliance_cases", "column", "reviewed_date", "resolved_date").await;
    let core = TestCore::over(options, 4).await;
    let mut clients = core.company(1);
    clients.affiliate("A").await;
    let id = clients
        .observe_one(UrlObservation {
            url: some("https://example.org/"),
            social_one: some("one"),
            social_three: some("three"),
            last_crawl_date: Some(at("2026-01-01 00:00:01")),
            last_seen: Some(at("2026-01-01 00:00:02")),
            ..UrlObservation::default()
        })
        .await;
    let expected = ComplianceUrl {
        id,
        url: "https://example.org/".to_owned(),
        domain: some("example.org"),
        incident_status: some("New"),
        social_one: some("one"),
        social_three: some("three"),
        last_crawl_date: Some(at("2026-01-01 00:00:01")),
        last_seen: Some(at("2026-01-01 00:00:02")),
        etag: "1".to_owned(),
        ..ComplianceUrl::default()
    };
    let url = clients.url(id).await;
    assert_eq!(url, ComplianceUrl { discovery_date: url.discovery_date, ..expected });

    let case = CaseInput {
        client_affiliate_id: some("A"),
        reviewed_date: Some(at("2026-01-02 00:00:01")),
        resolved_date: Some(at("2026-01-02 00:00:02")),
        ..CaseInput::default()
    };
    let case_id = clients
        .open(OpenCaseRequest {
            request_id: some("one"),
            case: Some(case),
            dates_as_given: Some(true),
            ..OpenCaseRequest::default()
        })
        .await;
    let case: ComplianceCase = clients.case(case_id).await;
    assert_eq!(case.reviewed_date, Some(at("2026-01-02 00:00:01")));
    assert_eq!(case.resolved_date, Some(at("2026-01-02 00:00:02")));
    assert_eq!(case.case_status, some("New"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn startup_errors_name_the_schema_difference() {
    for (statement, difference) in [
        ("alter table affiliates drop column city", "affiliates.city is missing, expected text"),
        ("alter table affiliates alter column zip type integer using null", "affiliates.zip is integer, expected text"),
        ("alter table compliance_urls rename column note to notes", "compliance_urls.note is missing, expected text"),
        (
            "drop trigger dates_are_mended on compliance_cases;
            alter table compliance_cases alter column closed_date type timestamp",
            "compliance_cases.closed_date is timestamp without time zone, expected timestamp with time zone",
        ),
        ("alter type affiliate_input drop attribute zip", "affiliate_input.zip is missing, expected text"),
        (
            "alter type affiliate_input alter attribute mask type integer",
            "affiliate_input.mask is integer, expected bigint",
        ),
        ("drop type affiliate_input", "the type affiliate_input is missing"),
    ] {
        let (pool, _) = prepared(&[statement]).await;
        let error = Core::new(&pool, verifier().await, &CoreSettings::default()).await.unwrap_err().to_string();
        assert!(error.ends_with(difference), "{statement}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_types_can_gain_attributes_at_runtime() {
    let (pool, options) = prepared(&[]).await;
    let core = TestCore::over(options, 4).await;
    let mut clients = core.company(1);
    round_trip(&mut clients, "Before").await;
    run(&pool, "alter type affiliate_input add attribute added text").await;
    round_trip(&mut clients, "After").await;
    // Adds an attribute before the creates, and another before a batch update.
    run(&pool, "alter type affiliate_input add attribute added_too boolean").await;
    let ids = [clients.affiliate("X").await, clients.affiliate("Y").await];
    run(&pool, "alter type affiliate_input add attribute added_at_last bigint").await;
    let names = [some("Y"), some("Z")];
    let affiliates = ids.into_iter().zip(names).map(|(id, affiliate_name)| AffiliateUpdate {
        id: Some(id),
        affiliate: Some(AffiliateInput { affiliate_name, ..AffiliateInput::default() }),
        update_mask: None,
        etag: String::new(),
    });
    let results = clients.update_affiliates(affiliates.rev().collect()).await;
    assert!(results.iter().all(|result| result.code() == ResultCode::Saved), "{results:?}");
}

/// Some restores drop the types first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_types_can_be_recreated_at_runtime() {
    const AGAIN: &str = "
        do $$ declare t record; begin
            for t in
                select c.relname, string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' order by attnum) as attributes
                from pg_class c join pg_attribute a on a.attrelid = c.oid and attnum > 0 and not attisdropped
                where c.relkind = 'c' and c.relname like '%\\_input' and c.relnamespace = current_schema()::regnamespace
                    and not exists (select from pg_attribute u join pg_type y on y.typarray = u.atttypid where y.typrelid = c.oid)
                group by c.relname
            loop
                execute format('drop type %I', t.relname);
                execute format('create type %I as (%s)', t.relname, t.attributes);
            end loop;
        end $$";
    let (pool, options) = prepared(&[]).await;
    let core = TestCore::over(options, 4).await;
    let mut clients = core.company(1);
    round_trip(&mut clients, "Before").await;
    for name in ["One", "Two"] {
        clients.affiliate(name).await;
        clients
            .observe_one(UrlObservation { url: some(&format!("https://{name}.example/")), ..UrlObservation::default() })
            .await;
        run(&pool, AGAIN).await;
        // Covers the first write on each connection.
        for number in 0..5 {
            clients.affiliate(&format!("After {name} {number}")).await;
        }
        round_trip(&mut clients, &format!("After{name}")).await;
        clients
            .observe_one(UrlObservation {
                url: some(&format!("https://{name}.example/2")),
                ..UrlObservation::default()
            })
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn special_values_are_stored_correctly() {
    let core = TestCore::start().await;
    let mut clients = core.company(1);
    let empty = AffiliateInput {
        client_affiliate_id: some("E"),
        affiliate_name: some("E"),
        city: some(""),
        country: some(""),
        start_date: some(""),
        ..AffiliateInput::default()
    };
    let us_date = AffiliateInput {
        client_affiliate_id: some("U"),
        affiliate_name: some("é “quoted” \\N, \t{}"),
        country: some("us"),
        start_date: some("02/29/2024"),
        ..AffiliateInput::default()
    };
    let unknown = AffiliateInput { country: some("QQ"), affiliate_name: some("Q"), ..empty.clone() };
    let results = clients.create_affiliates(vec![empty, unknown, us_date]).await;
    let codes: Vec<_> = results.iter().map(compliance_api::v1::AffiliateResult::code).collect();
    assert_eq!(codes, [ResultCode::Saved, ResultCode::InvalidCountry, ResultCode::Saved]);
    let get = |id: Option<i64>| GetAffiliateRequest { id: id.unwrap(), as_of: None };
    let read = clients.affiliates.get_affiliate(get(results[0].affiliate_id)).await.unwrap().into_inner();
    assert_eq!((read.city, read.country, read.start_date), (None, None, None));
    let read = clients.affiliates.get_affiliate(get(results[2].affiliate_id)).await.unwrap().into_inner();
    assert_eq!(read.distributor_name, some("é “quoted” \\N, \t{}"));
    assert_eq!((read.country, read.start_date), (Some(840), some("2024-02-29")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_migrations_do_not_block_readers() {
    let pool = database::connect(fresh_database().await.options, 4).await.unwrap();
    // Reverts to an earlier release's schema.
    let last = "
        delete from _sqlx_migrations where version = 20261124000010;
        drop function count_revision cascade;
        alter table affiliates drop column revision cascade;
        alter table compliance_cases drop column revision cascade, drop column opened_with;
        alter type affiliate_input drop attribute revisions;
        alter type case_input drop attribute opened_with";
    run(&pool, last).await;
    let read = "select from affiliates";
    let mut dump = pool.begin().await.unwrap();
    sqlx::query(read).execute(&mut *dump).await.unwrap();
    let watching = async {
        let waiting = "select exists (select from pg_locks where not granted and mode = 'AccessExclusiveLock'
                       and relation = 'affiliates'::regclass)";
        let until_it_waits = async {
            while !sqlx::query_scalar::<_, bool>(waiting).fetch_one(&pool).await.unwrap() {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_mins(1), until_it_waits).await.unwrap();
        // The read waits only until the migration's lock timeout, while the other transaction stays open.
        timeout(Duration::from_mins(1), sqlx::query(read).execute(&pool)).await.unwrap().unwrap();
        dump.commit().await.unwrap();
    };
    let (migrated, ()) = tokio::join!(database::migrate(&pool), watching);
    migrated.unwrap();
    let is_migrated = "select exists (select from _sqlx_migrations where version = 20261124000010)";
    assert!(sqlx::query_scalar::<_, bool>(is_migrated).fetch_one(&pool).await.unwrap());
    pool.close().await;
}
