//! Tests `compliance doctor`: list counts, ID sequences and stored values.

use compliance_api::v1::{
    AffiliateInput, AffiliateSync, AttachIncidentsRequest, BatchSyncAffiliatesRequest, CaseInput, GetOverviewRequest,
    ListAffiliatesRequest, ListChangesRequest, ListComplianceCasesRequest, ListComplianceUrlsRequest, OpenCaseRequest,
    ResultCode, UpdateAffiliateRequest, UpdateCaseRequest, UrlObservation,
};
use core_server::{
    database::jump_ahead,
    doctor::{Difference, check_counts, check_sequences, check_values},
};
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{GrpcClients, TestCore, fresh_database, new_company, update_of};

use crate::monitoring::builders::{observation, opening, some, url_incident};

async fn check(pool: &PgPool, repair: bool) -> Vec<Difference> {
    check_counts(&mut pool.acquire().await.unwrap(), repair).await.unwrap()
}

async fn run(pool: &PgPool, statement: &'static str) {
    sqlx::raw_sql(statement).execute(pool).await.unwrap();
}

async fn fill(clients: &mut GrpcClients) {
    clients.add_urls((0..300).map(|number| format!("https://example.org/first/{number}"))).await;
    let affiliate_id = Some(clients.affiliate("Affiliate").await);
    for number in 0..5 {
        let case = CaseInput { affiliate_id, ..CaseInput::default() };
        let request_id = Some(format!("R-{number}"));
        clients.open(OpenCaseRequest { request_id, case: Some(case), ..OpenCaseRequest::default() }).await;
    }
}

async fn total(clients: &mut GrpcClients) -> i64 {
    let request = ListComplianceUrlsRequest { page: Some(2), ..ListComplianceUrlsRequest::default() };
    clients.urls.list_compliance_urls(request).await.unwrap().into_inner().meta.unwrap().total
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_finds_and_repairs_wrong_counts() {
    let core = TestCore::start().await;
    let companies = [new_company(), new_company()];
    let mut clients = companies.map(|company| core.company(company));
    for clients in &mut clients {
        fill(clients).await;
    }
    assert_eq!(check(&core.pool, false).await, []);
    for damage in [
        // Changes that bypass the triggers.
        "truncate compliance_url_counts, compliance_case_counts",
        "alter table compliance_urls disable trigger user;
        update compliance_urls set disabled = true, discovery_date = discovery_date - interval '400 days' where id % 3 = 0;
        delete from compliance_urls where id % 7 = 0;
        alter table compliance_urls enable trigger user",
        "alter table compliance_cases disable trigger user;
        update compliance_cases set case_status_id = 2, created_date = created_date + interval '3 days';
        alter table compliance_cases enable trigger user",
        // Single counts, and one bound.
        "update compliance_url_counts set n = n + 1 where dimension = 'all'",
        "update compliance_url_counts set n_without_last_seen = n_without_last_seen - 1 where dimension = 'id'",
        "update compliance_url_counts set first_day = first_day + 1 where dimension = 'id_coarse'",
    ] {
        run(&core.pool, damage).await;
        let found = check(&core.pool, false).await;
        for company in companies {
            assert!(found.iter().any(|found| found.company_id == company), "{damage}: {found:?}");
        }
        assert_eq!(check(&core.pool, false).await, found, "a check must change nothing");
        assert_eq!(check(&core.pool, true).await, found);
        assert_eq!(check(&core.pool, false).await, [], "{damage}");
    }
    let real = "select count(*) from compliance_urls where company_id = $1";
    for (company, mut clients) in companies.into_iter().zip(clients) {
        let real: i64 = sqlx::query_scalar(real).bind(company).fetch_one(&core.pool).await.unwrap();
        assert_eq!(total(&mut clients).await, real);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repair_allows_concurrent_writes() {
    let core = TestCore::start().await;
    let mut clients = core.company(new_company());
    fill(&mut clients).await;
    for round in 0..3 {
        run(&core.pool, "truncate compliance_url_counts").await;
        let mut writer = clients.clone();
        let write = async {
            for number in 0..10 {
                let url = |url| format!("https://example.org/{round}-{number}/{url}");
                writer.add_urls((0..20).map(url)).await;
            }
        };
        tokio::join!(write, check(&core.pool, true));
        assert_eq!(check(&core.pool, false).await, []);
    }
    assert_eq!(total(&mut clients).await, 300 + 3 * 10 * 20);
}

/// Inserts a record for each ID sequence.
const RECORDS: &str = "
    insert into affiliates (company_id, client_affiliate_id, affiliate_name) values ({company}, 'A', 'A');
    insert into compliance_cases (company_id, affiliate_id) select company_id, id from affiliates;
    insert into compliance_urls (company_id, url, url_hash, domain) values ({company}, 'https://a.example/', '1', 'a.example');
    insert into infractions (company_id, url_id, infraction_type_id) select company_id, id, 1 from compliance_urls;
    insert into incidents (company_id, case_id, incident_type, url_id)
        select c.company_id, c.id, 1, u.id from compliance_cases c join compliance_urls u on u.company_id = c.company_id;
    insert into vocabulary_entries (company_id, vocabulary, name) values ({company}, 1, 'A');
    insert into webhooks (company_id, url, types, secret, position) values ({company}, 'https://a.example/', '{}', 's', 0)";

async fn fill_all(pool: &PgPool, company: i64) {
    let statement = RECORDS.replace("{company}", &company.to_string());
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(pool).await.unwrap();
}

/// Resets the sequences, as if only the records had been copied.
const BEHIND: &str = "
    do $$ declare s record; begin
        for s in select * from id_sequences() loop
            execute format('select setval(%L, (select min(%I) from %s), false)', s.id_sequence, s.of_column, s.of_table);
        end loop;
    end $$";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_finds_and_repairs_lagging_sequences() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    fill_all(&core.pool, new_company()).await;
    let mut connection = core.pool.acquire().await.unwrap();
    assert_eq!(check_sequences(&mut connection, false).await.unwrap(), []);
    run(&core.pool, BEHIND).await;
    let behind = check_sequences(&mut connection, false).await.unwrap();
    let tables: Vec<&str> = behind.iter().map(|sequence| &*sequence.table).collect();
    let every = [
        "affiliates",
        "compliance_cases",
        "compliance_urls",
        "incidents",
        "infractions",
        "vocabulary_entries",
        "webhooks",
    ];
    assert_eq!(tables, every);
    assert!(behind.iter().all(|sequence| sequence.last_id + 1 == sequence.greatest_id), "{behind:?}");
    assert_eq!(check_sequences(&mut connection, true).await.unwrap(), behind);
    assert_eq!(check_sequences(&mut connection, false).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn taken_ids_advance_the_sequence() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    let company = new_company();
    let mut clients = core.company(company);
    for _ in 0..20 {
        // Takes more IDs than a write's maximum number of attempts.
        sqlx::raw_sql("insert into affiliates (company_id, client_affiliate_id, affiliate_name) select 1, 'x', gen_random_uuid()::text")
            .execute(&core.pool)
            .await
            .unwrap();
    }
    fill(&mut clients).await;
    // The IDs must be taken in this company.
    let taken = "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name)
        select $1, id, client_affiliate_id, affiliate_name from affiliates where company_id = 1";
    sqlx::query(taken).bind(company).execute(&core.pool).await.unwrap();
    run(&core.pool, BEHIND).await;
    let id = clients.affiliate("New").await;
    assert!(id > 20, "{id}");
    run(&core.pool, BEHIND).await;
    clients.add_urls((0..3).map(|number| format!("https://example.org/after/{number}"))).await;
    run(&core.pool, BEHIND).await;
    let case = CaseInput { affiliate_id: Some(id), ..CaseInput::default() };
    clients
        .open(OpenCaseRequest { request_id: Some("new".into()), case: Some(case), ..OpenCaseRequest::default() })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_reports_ids_near_the_maximum() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    let company = new_company();
    let mut clients = core.company(company);
    fill(&mut clients).await;
    let last = "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values ($1, (1::bigint << 53) - 1, 'Last', 'Last')";
    sqlx::query(last).bind(company).execute(&core.pool).await.unwrap();
    let mut connection = core.pool.acquire().await.unwrap();
    assert_eq!(check_sequences(&mut connection, true).await.unwrap(), []);
    let named = check_values(&mut connection, 20).await.unwrap();
    let rows: Vec<_> = named.iter().map(|row| (&*row.table, row.company_id, row.id)).collect();
    assert_eq!(rows, [("affiliates", company, Some((1 << 53) - 1))]);
    assert_eq!(named[0].constraint, "the ID range, which ends at 9002801208229888");
    // A create that draws a taken ID ignores the extreme ID when it advances the sequence.
    run(&core.pool, BEHIND).await;
    assert!(clients.affiliate("New").await < 1000);
    jump_ahead(&mut connection).await.unwrap();
    let id = clients.affiliate("After a restore").await;
    assert!(id > 1 << 40 && id < 1 << 52, "{id}");
}

/// Sets every date in every record to `{value}`, which no response can show.
const DATES: &str = "
    do $$
    declare
        of_table text; dates text; of_constraint record; again text[] := '{}'; statement text;
    begin
        for of_constraint in select conrelid::regclass as t, conname, pg_get_constraintdef(oid) as definition from pg_constraint
            where conname like '%_dates_check' and connamespace = current_schema()::regnamespace loop
            again := again || format('alter table %s add constraint %I %s not valid', of_constraint.t, of_constraint.conname,
                replace(of_constraint.definition, ' NOT VALID', ''));
            execute format('alter table %s drop constraint %I', of_constraint.t, of_constraint.conname);
        end loop;
        foreach of_table in array array['affiliates', 'compliance_urls', 'compliance_cases', 'infractions'] loop
            select string_agg(format('%I = %L', attname, '{value}'), ', ') into dates from pg_attribute
            where attrelid = of_table::regclass and attnum > 0 and atttypid in ('date'::regtype, 'timestamptz'::regtype);
            execute format('alter table %I disable trigger dates_are_mended', of_table);
            execute format('update %I set %s', of_table, dates);
            execute format('alter table %I enable trigger dates_are_mended', of_table);
        end loop;
        foreach statement in array again loop
            execute statement;
        end loop;
    end $$";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unrepresentable_dates_read_as_null_and_are_reported() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    let company = new_company();
    let mut clients = core.company(company);
    fill_all(&core.pool, company).await;
    for value in ["infinity", "-infinity", "10000-01-01", "0044-03-15 BC"] {
        run_owned(&core.pool, DATES.replace("{value}", value)).await;

        let mut affiliates =
            clients.affiliates.list_affiliates(ListAffiliatesRequest::default()).await.unwrap().into_inner();
        let page = affiliates.message().await.unwrap().unwrap();
        assert_eq!(page.affiliates[0].start_date, None, "{value}");
        let id = page.affiliates[0].id;
        let affiliate = clients.read_affiliate(id).await;
        assert_eq!(affiliate.start_date, None, "{value}");
        for sort_by in 1..=4 {
            let request = ListComplianceUrlsRequest { sort_by, ..ListComplianceUrlsRequest::default() };
            let urls = clients.urls.list_compliance_urls(request).await.unwrap().into_inner().urls;
            let url = &urls[0];
            let dates = [url.discovery_date, url.last_review_date, url.last_crawl_date, url.last_seen];
            assert_eq!((dates, url.infractions[0].created_date), ([None; 4], None), "{value}");
        }
        let cases = clients
            .cases
            .list_compliance_cases(ListComplianceCasesRequest::default())
            .await
            .unwrap()
            .into_inner()
            .cases;
        let case = &cases[0];
        assert_eq!((case.created_date, case.follow_up_date, case.start_date.as_deref()), (None, None, None), "{value}");
        clients.overview.get_overview(GetOverviewRequest {}).await.unwrap();
        let request = ListChangesRequest { after: Some(0), ..ListChangesRequest::default() };
        let changes = clients.changes.list_changes(request).await.unwrap().into_inner().changes;
        let shown = changes.iter().flat_map(|change| &change.fields).filter(|field| field.field.ends_with("_date"));
        for field in shown {
            assert!(field.after.as_ref().is_none_or(|text| text.len() == 19), "{value}: {field:?}");
        }

        let mut connection = core.pool.acquire().await.unwrap();
        let named = check_values(&mut connection, 20).await.unwrap();
        let tables: Vec<&str> = named.iter().map(|row| &*row.table).collect();
        assert_eq!(tables, ["affiliates", "compliance_cases", "compliance_urls", "infractions"], "{value}");
        assert!(named.iter().all(|row| row.company_id == company && row.id.is_some()), "{named:?}");
        // The database rejects new dates with this value.
        let refused = sqlx::query(
            "insert into affiliates (company_id, client_affiliate_id, affiliate_name, start_date) values ($1, 'N', 'N', $2::text::date)",
        );
        let error = refused.bind(company).bind(value).execute(&core.pool).await.unwrap_err();
        assert_eq!(error.as_database_error().unwrap().constraint(), Some("affiliates_dates_check"));
    }
}

/// A write that does not set the date replaces it with the value that reads return. Other items in the request succeed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_with_unrepresentable_dates_stay_writable() {
    for value in ["infinity", "-infinity", "10000-01-01", "0044-03-15 BC"] {
        let core = TestCore::over(fresh_database().await.options, 4).await;
        let mut clients = core.company(new_company());
        let spoil = async || run_owned(&core.pool, DATES.replace("{value}", value)).await;
        let ids = [clients.affiliate("A").await, clients.affiliate("B").await];
        let url = "https://a.example/";
        let url_id = clients.observe_one(observation(url)).await;
        run(&core.pool, "insert into infractions (company_id, url_id) select company_id, id from compliance_urls")
            .await;
        let case_id = clients.open(opening("r")).await;
        let city = |city: &str| AffiliateInput { city: some(city), ..AffiliateInput::default() };

        spoil().await;
        let request = UpdateAffiliateRequest { update: Some(update_of(ids[0], city("X"))) };
        clients.affiliates.update_affiliate(request).await.unwrap();
        spoil().await;
        let affiliates = ids.map(|id| update_of(id, city("Y"))).to_vec();
        let results = clients.update_affiliates(affiliates).await;
        assert!(results.iter().all(|result| result.code() == ResultCode::Saved), "{value}: {results:?}");
        // Two affiliates swap their names.
        spoil().await;
        let synced = |id: &str, name: &str| {
            let affiliate = AffiliateInput { client_affiliate_id: some(id), affiliate_name: some(name), ..city("Z") };
            AffiliateSync { affiliate: Some(affiliate), update_mask: None }
        };
        let affiliates = vec![synced("A", "B"), synced("B", "A"), synced("C", "C")];
        let request = BatchSyncAffiliatesRequest { affiliates, ..BatchSyncAffiliatesRequest::default() };
        let results = clients.syncs.batch_sync_affiliates(request).await.unwrap().into_inner().results;
        assert!(results.iter().all(|result| result.code() == ResultCode::Saved), "{value}: {results:?}");
        spoil().await;
        let dated = AffiliateInput { start_date: some("2026-01-31"), ..AffiliateInput::default() };
        let request = UpdateAffiliateRequest { update: Some(update_of(ids[0], dated)) };
        clients.affiliates.update_affiliate(request).await.unwrap();
        for (id, name, start_date) in [(ids[0], "B", some("2026-01-31")), (ids[1], "A", None)] {
            let read = clients.read_affiliate(id).await;
            let expected = (some(name), start_date, some("Z"));
            assert_eq!((read.distributor_name, read.start_date, read.city), expected, "{value}");
        }

        spoil().await;
        let noted = UrlObservation { note: some("N"), ..observation(url) };
        let results = clients.observe(vec![noted, observation("https://b.example/")]).await;
        assert!(results.iter().all(|result| result.code() == ResultCode::Saved), "{value}: {results:?}");
        let read = clients.url(url_id).await;
        assert_eq!((read.note.as_deref(), read.last_seen), (Some("N"), None), "{value}");
        // A required date becomes the nearest date that responses can show.
        assert!(read.discovery_date.is_some(), "{value}");
        // Attaching a URL also changes the case.
        spoil().await;
        let request = AttachIncidentsRequest { id: case_id, incidents: vec![url_incident(url)] };
        let results = clients.monitoring.attach_incidents(request).await.unwrap().into_inner().results;
        assert!(results.iter().all(|result| result.code() == ResultCode::Saved), "{value}: {results:?}");
        spoil().await;
        let case = CaseInput { case_worker: some("W"), ..CaseInput::default() };
        let request = UpdateCaseRequest { id: case_id, case: Some(case), ..UpdateCaseRequest::default() };
        clients.monitoring.update_case(request).await.unwrap();
        let read = clients.case(case_id).await;
        assert_eq!((read.case_worker.as_deref(), read.follow_up_date), (Some("W"), None), "{value}");

        let mut connection = core.pool.acquire().await.unwrap();
        spoil().await;
        run(&core.pool, "update affiliates set notes = 'by hand'; update infractions set infraction_type_id = 2").await;
        let named = check_values(&mut connection, 20).await.unwrap();
        assert!(named.iter().all(|row| row.table.starts_with("compliance_")), "{value}: {named:?}");
    }
}

/// Operators' own tables can have constraints and lack a `company_id`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_ignores_operator_constraints() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    fill_all(&core.pool, new_company()).await;
    run(
        &core.pool,
        "create table own (number integer); insert into own values (1);
        alter table own add constraint own_dates_check check (number > 1) not valid;
        alter table affiliates add constraint own_check check (affiliate_name <> 'A') not valid",
    )
    .await;
    let mut connection = core.pool.acquire().await.unwrap();
    assert_eq!(check_values(&mut connection, 20).await.unwrap(), []);
}

async fn run_owned(pool: &PgPool, statement: String) {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(pool).await.unwrap();
}
