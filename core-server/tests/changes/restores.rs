//! A database that was restored: what was handed out after the backup is recognisably gone.

use compliance_api::v1::{
    AffiliateInput, AffiliateUpdate, ListAffiliatesRequest, ListChangesRequest, UpdateAffiliateRequest,
    WatchChangesRequest,
};
use core_server::{
    audit::{self, Broken, Checkpoint},
    database::jump_ahead,
};
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{GrpcClients, TestCore, fresh_database, new_company, reason_of, tests};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::{all, list};

tests![
    positions_and_ids_jump_ahead_together,
    a_company_of_which_nothing_is_left_begins_after_what_it_lost,
    a_restart_does_not_jump_and_another_identity_does,
    etags_that_were_lost_match_nothing_again,
    the_role_of_a_service_can_neither_jump_nor_change_the_identity,
];

const DISTANCE: i64 = 1 << 40;

fn restored(status: &Status) -> Option<(i64, i64)> {
    let details = status.get_error_details();
    let metadata = &details.error_info().unwrap().metadata;
    let position = |name: &str| metadata.get(name)?.parse().ok();
    assert_eq!(status.code(), Code::OutOfRange, "{status:?}");
    (reason_of(status) == "POSITION_RESTORED")
        .then(|| Some((position("kept_position")?, position("restored_position")?)))?
}

/// What each way to read after a position says of a restore.
async fn lost(clients: &mut GrpcClients, after: i64) -> [Option<(i64, i64)>; 3] {
    let request = ListChangesRequest { after: Some(after), ..ListChangesRequest::default() };
    let listed = list(clients, request).await.err();
    let request = WatchChangesRequest { after: Some(after), types: Vec::new() };
    let watched = clients.changes.watch_changes(request).await.err();
    let request = ListAffiliatesRequest { changed_after: Some(after) };
    let changed = match clients.affiliates.list_affiliates(request).await {
        Ok(stream) => stream.into_inner().message().await.err(),
        Err(status) => Some(status),
    };
    [listed, watched, changed].map(|status| status.as_ref().and_then(restored))
}

async fn jump(pool: &PgPool) -> usize {
    jump_ahead(&mut pool.acquire().await.unwrap()).await.unwrap().len()
}

async fn positions_and_ids_jump_ahead_together() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    let company = new_company();
    let mut clients = core.company(company);
    for name in ["A", "B", "C", "D", "E"] {
        clients.affiliate(name).await;
    }
    let mut connection = core.pool.acquire().await.unwrap();
    // That of a change which the restore loses.
    let checkpoint = Checkpoint { company_id: company, position: 8, hash: "00".into() };
    for restore in 1..3 {
        let kept = 5 + (restore - 1) * (DISTANCE + 1);
        let last = kept + DISTANCE;
        assert_eq!(jump(&core.pool).await, 8, "seven sequences and a company");
        let at = Some((kept, last));
        for after in [kept + 1, kept + 5, last - 1] {
            assert_eq!(lost(&mut clients, after).await, [at; 3], "{after}");
        }
        // Who has seen the last position that is kept, or an earlier one, goes on.
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
        assert!(id > restore * DISTANCE && id < 1 << 53, "{id}");
        let new = all(&mut clients, last, 100).await;
        assert_eq!((new[0].position, new[0].id, new.len()), (last + 1, id, 1));
        assert_eq!(audit::verify(&mut connection, company).await.unwrap(), None);
        let restores = audit::restores(&mut *connection, company).await.unwrap();
        assert_eq!(restores.iter().map(|it| it.first).collect::<Vec<_>>().last(), Some(&(kept + 1)));
        let compared = audit::compare(&mut connection, &checkpoint).await.unwrap();
        assert_eq!(compared, Some(Broken::Lost { position: 8 }));
    }
    // Every sequence has gone on, whatever the table.
    let behind =
        "select count(*) from id_sequences() s cross join lateral id_reached(s.id_sequence, s.of_table, s.of_column) r
        where r.last_id < 2 * least(1::bigint << 40, (s.most + 1) >> 11)";
    assert_eq!(sqlx::query_scalar::<_, i64>(behind).fetch_one(&core.pool).await.unwrap(), 0);
    let of_tables = "select count(*) from pg_sequences where schemaname = current_schema()";
    let known = "select count(*) from id_sequences()";
    let count =
        async |question: &'static str| sqlx::query_scalar::<_, i64>(question).fetch_one(&core.pool).await.unwrap();
    assert_eq!(count(of_tables).await, count(known).await, "a sequence that no column owns does not jump");
    // The entry cannot be moved by hand.
    let moved =
        "update changes set records[1] = replace(records[1], '[5,', '[4,') where company_id = {} and resource = 0";
    sqlx::raw_sql(AssertSqlSafe(moved.replace("{}", &company.to_string()))).execute(&core.pool).await.unwrap();
    assert!(audit::verify(&mut connection, company).await.unwrap().is_some());
}

async fn a_company_of_which_nothing_is_left_begins_after_what_it_lost() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    jump(&core.pool).await;
    let mut clients = core.company(new_company());
    clients.affiliate("A").await;
    assert_eq!(lost(&mut clients, 3).await, [Some((0, DISTANCE)); 3]);
    let changes = all(&mut clients, DISTANCE, 10).await;
    assert_eq!(changes.iter().map(|change| change.position).collect::<Vec<_>>(), [DISTANCE + 1]);
}

async fn a_restart_does_not_jump_and_another_identity_does() {
    let database = fresh_database().await.options;
    let core = TestCore::over(database.clone(), 4).await;
    let company = new_company();
    core.company(company).affiliate("A").await;
    let restores = async |pool: &PgPool| {
        sqlx::query_scalar::<_, i64>("select restores from database_identity").fetch_one(pool).await.unwrap()
    };
    let core = TestCore::over(database.clone(), 4).await;
    assert_eq!(restores(&core.pool).await, 0);
    // As a dump has it that was made of another table.
    let other = "update database_identity set identity = identity || '0'";
    sqlx::raw_sql(other).execute(&core.pool).await.unwrap();
    drop(core);
    for _ in 0..2 {
        let core = TestCore::over(database.clone(), 4).await;
        assert_eq!(restores(&core.pool).await, 1);
        assert_eq!(lost(&mut core.company(company), 2).await, [Some((1, DISTANCE + 1)); 3]);
    }
}

async fn etags_that_were_lost_match_nothing_again() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    let mut clients = core.company(new_company());
    let id = clients.affiliate("A").await;
    let update = |city: &str, etag: &str| {
        let affiliate = AffiliateInput { city: Some(city.to_owned()), ..AffiliateInput::default() };
        let update =
            AffiliateUpdate { id: Some(id), affiliate: Some(affiliate), update_mask: None, etag: etag.to_owned() };
        UpdateAffiliateRequest { update: Some(update) }
    };
    jump(&core.pool).await;
    // The etag of the backup is still that of the record.
    clients.affiliates.update_affiliate(update("after the restore", "1")).await.unwrap();
    // The second version is another one than before the restore.
    let status = clients.affiliates.update_affiliate(update("lost", "2")).await.unwrap_err();
    assert_eq!(reason_of(&status), "ETAG_MISMATCH");
    let revision: i64 = sqlx::query_scalar("select revision from affiliates").fetch_one(&core.pool).await.unwrap();
    assert_eq!(revision, DISTANCE + 1);
    clients.affiliates.update_affiliate(update("next", &revision.to_string())).await.unwrap();
}

async fn the_role_of_a_service_can_neither_jump_nor_change_the_identity() {
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
