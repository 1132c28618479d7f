//! Tests restored databases: clients can detect that positions, IDs and etags from after the backup are lost.

use compliance_api::v1::{
    AffiliateInput, AffiliateUpdate, CaseInput, ListAffiliatesRequest, ListChangesRequest, ReviewUrlRequest,
    UpdateAffiliateRequest, UpdateCaseRequest, UrlReview, WatchChangesRequest,
};
use core_server::{
    CoreSettings,
    audit::{self, Broken, Checkpoint},
    database::jump_ahead,
};
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{GrpcClients, TestCore, fresh_database, new_company, reason_of, verifier};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::{all, list};
use crate::monitoring::builders::{observation, opening, some};

fn restored(status: &Status) -> Option<(i64, i64)> {
    let details = status.get_error_details();
    let metadata = &details.error_info().unwrap().metadata;
    let position = |name: &str| metadata.get(name)?.parse().ok();
    assert_eq!(status.code(), Code::OutOfRange, "{status:?}");
    (reason_of(status) == "POSITION_RESTORED")
        .then(|| Some((position("kept_position")?, position("restored_position")?)))?
}

/// Returns the restore that each kind of read reports for a position.
async fn lost(clients: &mut GrpcClients, after: i64) -> [Option<(i64, i64)>; 3] {
    let request = ListChangesRequest { after: Some(after), ..ListChangesRequest::default() };
    let listed = list(clients, request).await.err();
    let request = WatchChangesRequest { after: Some(after), types: Vec::new() };
    let watched = clients.changes.watch_changes(request).await.err();
    let request = ListAffiliatesRequest { changed_after: Some(after), ..Default::default() };
    let changed = match clients.affiliates.list_affiliates(request).await {
        Ok(stream) => stream.into_inner().message().await.err(),
        Err(status) => Some(status),
    };
    [listed, watched, changed].map(|status| status.as_ref().and_then(restored))
}

/// Returns the position that the last jump reached.
async fn reached(pool: &PgPool) -> i64 {
    sqlx::query_scalar("select first_position()").fetch_one(pool).await.unwrap()
}

async fn run(pool: &PgPool, statements: &'static str) {
    sqlx::raw_sql(statements).execute(pool).await.unwrap();
}

async fn jump(pool: &PgPool) -> usize {
    jump_ahead(&mut pool.acquire().await.unwrap()).await.unwrap().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restores_advance_positions_and_ids() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    let company = new_company();
    let mut clients = core.company(company);
    for name in ["A", "B", "C", "D", "E"] {
        clients.affiliate(name).await;
    }
    let mut connection = core.pool.acquire().await.unwrap();
    // A position that the restore loses.
    let checkpoint = Checkpoint { company_id: company, position: 8, hash: "00".into() };
    let mut kept = 5;
    for restore in 1..3 {
        assert_eq!(jump(&core.pool).await, 8, "seven sequences and a company");
        let last = reached(&core.pool).await;
        let at = Some((kept, last));
        for after in [kept + 1, kept + 5, last - 1] {
            assert_eq!(lost(&mut clients, after).await, [at; 3], "{after}");
        }
        // Readers at the last stored position, or at an earlier one, continue.
        for after in [0, kept] {
            let changes = all(&mut clients, after, 100).await;
            let entry = changes.iter().find(|change| change.position == last).unwrap();
            assert_eq!((&*entry.resource, &*entry.operation, entry.id), ("company", "restored", company));
            let field = &entry.fields[0];
            let both = (&*field.field, field.before.as_deref().unwrap(), field.after.as_deref().unwrap());
            assert_eq!(both, ("position", &*kept.to_string(), &*last.to_string()));
            assert_eq!(lost(&mut clients, after).await, [None; 3], "{after}");
        }
        let id = clients.affiliate(&format!("after {restore}")).await;
        assert!(id > last && id < 1 << 53, "{id}");
        let new = all(&mut clients, last, 100).await;
        assert_eq!((new[0].position, new[0].id, new.len()), (last + 1, id, 1));
        assert_eq!(audit::verify(&mut connection, company).await.unwrap(), None);
        let restores = audit::restores(&mut *connection, company).await.unwrap();
        assert_eq!(restores.iter().map(|it| it.first).collect::<Vec<_>>().last(), Some(&(kept + 1)));
        let compared = audit::compare(&mut connection, &checkpoint).await.unwrap();
        assert_eq!(compared, Some(Broken::Lost { position: 8 }));
        kept = last + 1;
    }
    // The sequences of all tables have advanced.
    let behind =
        "select count(*) from id_sequences() s cross join lateral id_reached(s.id_sequence, s.of_table, s.of_column) r
        where r.last_id < first_position() / restore_distance() * ((s.most + 1) >> 31)";
    assert_eq!(sqlx::query_scalar::<_, i64>(behind).fetch_one(&core.pool).await.unwrap(), 0);
    let of_tables = "select count(*) from pg_sequences where schemaname = current_schema()";
    let known = "select count(*) from id_sequences()";
    let count =
        async |question: &'static str| sqlx::query_scalar::<_, i64>(question).fetch_one(&core.pool).await.unwrap();
    assert_eq!(count(of_tables).await, count(known).await, "a sequence without an owning column does not jump");
    // The audit detects manual edits of the entry.
    let moved =
        "update changes set records[1] = replace(records[1], '[5,', '[4,') where company_id = {} and resource = 0";
    sqlx::raw_sql(AssertSqlSafe(moved.replace("{}", &company.to_string()))).execute(&core.pool).await.unwrap();
    assert!(audit::verify(&mut connection, company).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_companies_start_after_lost_positions() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    jump(&core.pool).await;
    let at = reached(&core.pool).await;
    let mut clients = core.company(new_company());
    let end = list(&mut clients, ListChangesRequest::default()).await.unwrap();
    assert_eq!((end.position, end.last_position), (at, at));
    for changes in 0..2 {
        for position in [1, 3, at - 1] {
            assert_eq!(lost(&mut clients, position).await, [Some((0, at)); 3], "{position}");
        }
        // A reader at position 0 has read nothing, so it has lost nothing.
        for position in [0, at] {
            let read = all(&mut clients, position, 10).await;
            let expected: Vec<_> = (at + 1..=at + changes).collect();
            assert_eq!(read.iter().map(|change| change.position).collect::<Vec<_>>(), expected, "{position}");
            let request = ListAffiliatesRequest { changed_after: Some(position), ..Default::default() };
            let mut changed = clients.affiliates.list_affiliates(request).await.unwrap().into_inner();
            let page = changed.message().await.unwrap().unwrap_or_default();
            assert_eq!(page.affiliates.len() as i64, changes, "{position}");
        }
        clients.affiliate(&format!("A{changes}")).await;
    }
}

/// The same backup can be restored twice, and the second jump knows nothing about the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jumps_are_derived_from_the_clock() {
    const SECONDS: &str = "select floor(extract(epoch from now() - timestamptz '2020-01-01 00:00:00Z'))::bigint";
    let core = TestCore::over(fresh_database().await.options, 4).await;
    let company = new_company();
    let mut clients = core.company(company);
    clients.affiliate("A").await;
    let seconds = async || sqlx::query_scalar::<_, i64>(SECONDS).fetch_one(&core.pool).await.unwrap();
    let before = seconds().await;
    jump(&core.pool).await;
    let first = reached(&core.pool).await;
    let after = seconds().await;
    assert!((before << 22..=after << 22).contains(&first), "{before} {first} {after}");
    // Jumps differ even if the clock is behind, because the database stores the previous jump.
    let ahead = "create or replace function first_position() returns bigint language sql stable parallel safe as 'select 1::bigint << 52'";
    run(&core.pool, ahead).await;
    jump(&core.pool).await;
    assert_eq!(reached(&core.pool).await, (1 << 52) + (1 << 22));
    // In a copy of the records alone, stored positions show the previous jump.
    let forgotten = "create or replace function first_position() returns bigint language sql stable parallel safe as 'select 0::bigint'";
    run(&core.pool, forgotten).await;
    jump(&core.pool).await;
    assert_eq!(reached(&core.pool).await, (1 << 52) + (2 << 22));
    assert_eq!(audit::verify(&mut core.pool.acquire().await.unwrap(), company).await.unwrap(), None);
    // A jump past the last position fails.
    let end = "create or replace function first_position() returns bigint language sql stable parallel safe as 'select (1::bigint << 53) - 1'";
    run(&core.pool, end).await;
    let error = jump_ahead(&mut core.pool.acquire().await.unwrap()).await.unwrap_err().to_string();
    assert!(error.contains("they end at 2^53"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jumps_skip_operator_sequences() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    let own = "
        create table own_notes (id smallserial primary key, note text);
        select setval('own_notes_id_seq', 32767);
        alter table affiliates add column number smallserial;
        create sequence alone maxvalue 2";
    run(&core.pool, own).await;
    assert_eq!(jump(&core.pool).await, 7, "sequences");
    let moved = "select last_value from own_notes_id_seq";
    assert_eq!(sqlx::query_scalar::<_, i64>(moved).fetch_one(&core.pool).await.unwrap(), 32767);
    core.company(new_company()).affiliate("A").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_jumps_change_no_sequences() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    let id = core.company(new_company()).affiliate("A").await;
    // Exhausts the alphabetically last sequence.
    run(&core.pool, "alter sequence webhooks_id_seq maxvalue 100; select setval('webhooks_id_seq', 100)").await;
    for _ in 0..3 {
        let error = jump_ahead(&mut core.pool.acquire().await.unwrap()).await.unwrap_err().to_string();
        assert!(error.contains("webhooks_id_seq cannot jump ahead"), "{error}");
    }
    assert_eq!(core.company(new_company()).affiliate("B").await, id + 1);
    run(&core.pool, "alter sequence webhooks_id_seq no maxvalue").await;
    jump(&core.pool).await;
    let at = reached(&core.pool).await;
    assert_eq!(core.company(new_company()).affiliate("C").await, at + 1);
}

/// Some restores drop the tables first. The identity table is then empty, or lacks its key, for a while.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn core_rejects_partially_restored_databases() {
    let database = fresh_database().await.options;
    let core = TestCore::over(database.clone(), 4).await;
    core.company(new_company()).affiliate("A").await;
    let identities = async |statements: &'static str| {
        run(&core.pool, statements).await;
        let restored = core_server::Core::new(&core.pool, verifier().await, &CoreSettings::default()).await;
        let error = restored.err().map(|error| format!("{error:?}"));
        let rows: i64 =
            sqlx::query_scalar("select count(*) from database_identity").fetch_one(&core.pool).await.unwrap();
        (error, rows)
    };
    let (error, rows) = identities("create table kept as table database_identity; delete from database_identity").await;
    assert!(error.is_some_and(|error| error.contains("not restored completely")));
    assert_eq!(rows, 0, "the core must write nothing to a partially restored database");
    let keyless = "
        alter table database_identity drop constraint database_identity_pkey;
        insert into database_identity select true, 'of the backup', restores, restored_at from kept";
    let (error, rows) = identities(keyless).await;
    assert!(error.is_some_and(|error| error.contains("not restored completely")));
    assert_eq!(rows, 1);
    // Databases from earlier releases can contain two rows.
    run(&core.pool, "insert into database_identity table kept").await;
    jump(&core.pool).await;
    let rows: Vec<i64> =
        sqlx::query_scalar("select restores from database_identity").fetch_all(&core.pool).await.unwrap();
    assert_eq!(rows, [1]);
    let (error, _) = identities("alter table database_identity add primary key (is_only)").await;
    assert_eq!(error, None);
}

/// Positions skipped by a restore count neither as dropped nor as stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restores_do_not_count_as_drops() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    let (before, after) = (new_company(), new_company());
    core.company(before).affiliate("A").await;
    jump(&core.pool).await;
    for name in ["A", "B"] {
        core.company(after).affiliate(name).await;
    }
    let mut connection = core.pool.acquire().await.unwrap();
    let at = reached(&core.pool).await;
    // Each restore adds one entry.
    for changes in [[2, 2], [3, 3]] {
        for (company, changes) in [before, after].into_iter().zip(changes) {
            assert_eq!(audit::verify(&mut connection, company).await.unwrap(), None);
            assert_eq!(audit::retained(&mut *connection, company).await.unwrap().unwrap().changes, changes);
        }
        jump(&core.pool).await;
    }
    // Retention drops the first changes, including one company's restore entry.
    let old = format!(
        "create table changes_y2020m01 (like changes including compression);
        alter table changes attach partition changes_y2020m01 for values from ('2020-01-01Z') to ('2020-02-01Z');
        update changes set changed_at = '2020-01-05Z' where position <= {at} + 1;
        select drop_change_month()"
    );
    sqlx::raw_sql(AssertSqlSafe(old)).execute(&core.pool).await.unwrap();
    for (company, expected) in [(before, (0, at, 2)), (after, (at, at + 1, 1))] {
        let drops = audit::drops(&mut *connection, company).await.unwrap();
        let [drop] = &drops[..] else { panic!("{drops:?}") };
        assert_eq!(
            (drop.after, drop.position, drop.changes, drop.days),
            (expected.0, expected.1, expected.2, Some(90))
        );
        assert_eq!(audit::verify(&mut connection, company).await.unwrap(), None);
    }
    // No restore has reached this position yet.
    let beyond = reached(&core.pool).await + (1 << 22);
    let set = format!(
        "update change_positions set dropped_position = {beyond}, dropped_hash = null; delete from change_drops"
    );
    sqlx::raw_sql(AssertSqlSafe(set)).execute(&core.pool).await.unwrap();
    let removed = Some(Broken::Removed { first: 1, last: beyond });
    assert_eq!(audit::verify(&mut connection, after).await.unwrap(), removed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_new_database_identities_trigger_a_jump() {
    let database = fresh_database().await.options;
    let core = TestCore::over(database.clone(), 4).await;
    let company = new_company();
    core.company(company).affiliate("A").await;
    let restores = async |pool: &PgPool| {
        sqlx::query_scalar::<_, i64>("select restores from database_identity").fetch_one(pool).await.unwrap()
    };
    let core = TestCore::over(database.clone(), 4).await;
    assert_eq!(restores(&core.pool).await, 0);
    // Simulates a restored dump, in which the table has a different OID.
    let other = "update database_identity set identity = identity || '0'";
    sqlx::raw_sql(other).execute(&core.pool).await.unwrap();
    drop(core);
    // A core that does not start because of the schema changes nothing.
    let pool = PgPool::connect_with(database.clone()).await.unwrap();
    run(&pool, "alter table affiliates rename column city to town").await;
    let refused = core_server::Core::new(&pool, verifier().await, &CoreSettings::default()).await.unwrap_err();
    assert!(refused.is_wrong_setting(), "{refused}");
    assert_eq!(restores(&pool).await, 0);
    run(&pool, "alter table affiliates rename column town to city").await;
    for _ in 0..2 {
        let core = TestCore::over(database.clone(), 4).await;
        assert_eq!(restores(&core.pool).await, 1);
        let at = reached(&core.pool).await;
        assert_eq!(lost(&mut core.company(company), 2).await, [Some((1, at)); 3]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_etags_never_match_again() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    let mut clients = core.company(new_company());
    let id = clients.affiliate("A").await;
    let case_id = clients.open(opening("r")).await;
    let url_id = clients.observe_one(observation("https://example.org/")).await;
    let update = |city: &str, etag: &str| {
        let affiliate = AffiliateInput { city: Some(city.to_owned()), ..AffiliateInput::default() };
        let update =
            AffiliateUpdate { id: Some(id), affiliate: Some(affiliate), update_mask: None, etag: etag.to_owned() };
        UpdateAffiliateRequest { update: Some(update) }
    };
    jump(&core.pool).await;
    // The record still has the etag from the backup. The response contains the same etag as the next read.
    let saved = clients.affiliates.update_affiliate(update("after the restore", "1")).await.unwrap().into_inner();
    let read = clients.read_affiliate(id).await;
    assert_eq!(saved.etag, read.etag);
    let case = CaseInput { case_worker: some("Ann"), ..CaseInput::default() };
    let request = UpdateCaseRequest { id: case_id, case: Some(case), update_mask: None, etag: "1".to_owned() };
    let saved = clients.monitoring.update_case(request).await.unwrap().into_inner();
    assert_eq!(saved.etag, clients.case(case_id).await.etag);
    let review = UrlReview { note: some("after the restore"), ..UrlReview::default() };
    let request = ReviewUrlRequest { id: url_id, review: Some(review), update_mask: None, etag: "1".to_owned() };
    let saved = clients.monitoring.review_url(request).await.unwrap().into_inner();
    assert_eq!(saved.etag, clients.url(url_id).await.etag);
    // Etag 2 belongs to a lost version, so it must not match.
    let status = clients.affiliates.update_affiliate(update("lost", "2")).await.unwrap_err();
    assert_eq!(reason_of(&status), "ETAG_MISMATCH");
    let revision: i64 = sqlx::query_scalar("select revision from affiliates").fetch_one(&core.pool).await.unwrap();
    assert_eq!(revision, reached(&core.pool).await + 1);
    clients.affiliates.update_affiliate(update("next", &revision.to_string())).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_role_cannot_change_database_identity() {
    let database = fresh_database().await.options;
    let core = TestCore::over(database.clone(), 4).await;
    let service = PgPool::connect_with(database.username(embedded_postgres::SERVICE_ROLE)).await.unwrap();
    for statement in [
        "select from jump_ahead()",
        "update database_identity set identity = 'x'",
        "create or replace function first_position() returns bigint language sql as 'select 1::bigint'",
    ] {
        let error = sqlx::raw_sql(statement).execute(&service).await.unwrap_err();
        let state = error.as_database_error().unwrap().code().unwrap().into_owned();
        assert_eq!(state, "42501", "{statement}: {error}");
    }
    let has_jumped: bool = sqlx::query_scalar("select notice_restore()").fetch_one(&service).await.unwrap();
    assert!(!has_jumped);
    drop(core);
}
