//! The service's database role owns nothing and can only change records.

use core_server::audit::verify;
use embedded_postgres::SERVICE_ROLE;
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection};
use test_support::{TestCore, fresh_database, new_company};

/// Tables that the role can only read. It cannot read some parts of the record of changes.
const READ: [&str; 6] =
    ["_sqlx_migrations", "change_drops", "change_positions", "change_retention", "changes", "database_identity"];
/// Functions that the role can call but that run as the owner. Whatever the arguments, each function does only what its comment says.
const CALLED: [&str; 7] = [
    "advance_ids",
    "drop_change_month",
    "erase_changes",
    "is_database_known",
    "keep_changes",
    "make_change_months",
    "notice_restore",
];

async fn connect() -> (TestCore, PgConnection) {
    let database = fresh_database().await;
    let service = database.options.clone().username(SERVICE_ROLE).connect().await.unwrap();
    // The core grants the permissions that the service needs.
    (TestCore::over(database.options, 4).await, service)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_role_owns_nothing() {
    let (core, mut service) = connect().await;
    let served = "select count(*) from pg_stat_activity
        where datname = current_database() and usename = current_user and pid <> pg_backend_pid()";
    let served: i64 = sqlx::query_scalar(served).fetch_one(&mut service).await.unwrap();
    assert!(served > 0, "the core does not run as this role");
    let owned = "select
        (select count(*) from pg_class where relowner = current_user::regrole)
        + (select count(*) from pg_proc where proowner = current_user::regrole)
        + (select count(*) from pg_type where typowner = current_user::regrole)
        + (select count(*) from pg_namespace where nspowner = current_user::regrole)
        + (select count(*) from pg_database where datdba = current_user::regrole)
        + (select count(*) from pg_auth_members where member = current_user::regrole)
        + (select count(*) from pg_roles where rolname = current_user
            and (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls))";
    assert_eq!(sqlx::query_scalar::<_, i64>(owned).fetch_one(&mut service).await.unwrap(), 0);
    drop(core);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_role_cannot_change_the_schema() {
    let (core, mut service) = connect().await;
    let tables = "select relname::text from pg_class
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by relname";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&core.pool).await.unwrap();
    assert!(tables.len() > 8, "{tables:?}");
    let mut statements = vec![
        "create table created ()".to_owned(),
        "create function created() returns integer language sql return 1".to_owned(),
        "create type created as (a integer)".to_owned(),
        "create schema created".to_owned(),
        "drop schema public cascade".to_owned(),
        "alter type affiliate_input add attribute added integer".to_owned(),
        "drop function utc_day(timestamptz) cascade".to_owned(),
        "drop sequence affiliates_id_seq cascade".to_owned(),
        "insert into _sqlx_migrations select * from _sqlx_migrations".to_owned(),
        "delete from _sqlx_migrations".to_owned(),
        "set role compliance".to_owned(),
        "copy affiliates to program 'true'".to_owned(),
    ];
    for table in &tables {
        statements.extend([
            format!("truncate {table} cascade"),
            format!("drop table {table} cascade"),
            format!("alter table {table} add column added integer"),
            format!("alter table {table} disable trigger all"),
            format!("alter table {table} owner to current_user"),
            format!("create index on {table} ((1))"),
            format!(
                "create trigger created after insert on {table} for each row execute function count_compliance_urls()"
            ),
            format!("grant all on {table} to public"),
        ]);
    }
    for statement in statements {
        let error = sqlx::raw_sql(AssertSqlSafe(statement.clone())).execute(&mut service).await;
        // A grant without the right to grant succeeds but has no effect. The query below checks the effect.
        if statement.starts_with("grant") && error.is_ok() {
            continue;
        }
        let error = error.expect_err(&statement);
        let state = error.as_database_error().and_then(sqlx::error::DatabaseError::code).unwrap_or_default();
        assert_eq!(state, "42501", "{statement}: {error}");
    }
    let public = "select count(*) from information_schema.role_table_grants
        where grantee = 'PUBLIC' and table_schema = 'public'";
    assert_eq!(sqlx::query_scalar::<_, i64>(public).fetch_one(&core.pool).await.unwrap(), 0);
}

/// The lists above name every table and function. New monthly tables receive the same permissions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_role_writes_history_only_through_triggers() {
    let (core, mut service) = connect().await;
    let again = "do $$ begin execute (select format('drop table %I', max(inhrelid::regclass::text)) from pg_inherits
        where inhparent = 'changes'::regclass and inhrelid <> 'changes_default'::regclass); end $$";
    sqlx::raw_sql(again).execute(&core.pool).await.unwrap();
    sqlx::raw_sql("select make_change_months()").execute(&mut service).await.unwrap();

    let names = async |connection: &mut PgConnection, query: String| -> Vec<String> {
        sqlx::query_scalar(AssertSqlSafe(query)).fetch_all(connection).await.unwrap()
    };
    let tables = |is_part: bool, privileges: &str| {
        format!(
            "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
                and relispartition = {is_part}
                and (has_table_privilege('{SERVICE_ROLE}', oid, '{privileges}')
                    or has_any_column_privilege('{SERVICE_ROLE}', oid, '{privileges}'))
            order by relname::text collate \"C\""
        )
    };
    let mut owner = core.pool.acquire().await.unwrap();
    let all = names(&mut owner, tables(false, "select")).await;
    let written = names(&mut owner, tables(false, "insert, update")).await;
    assert!(written.len() > 8, "{written:?}");
    let read: Vec<String> = all.into_iter().filter(|table| !written.contains(table)).collect();
    assert_eq!(read, READ);
    assert_eq!(names(&mut owner, tables(true, "select, insert, update")).await, [""; 0]);

    let functions = |condition: &str| {
        format!(
            "select proname::text from pg_proc where pronamespace = 'public'::regnamespace and prosecdef and {condition}
            order by proname::text collate \"C\""
        )
    };
    let mut called =
        names(&mut owner, functions(&format!("has_function_privilege('{SERVICE_ROLE}', oid, 'execute')"))).await;
    // Exists only on Citus.
    called.retain(|function| function != "lock_shard");
    assert_eq!(called, CALLED);
    assert_eq!(names(&mut owner, functions("has_function_privilege('public', oid, 'execute')")).await, [""; 0]);
    let unpinned =
        "not exists (select from unnest(proconfig) setting where setting like 'search_path=public, pg_temp')";
    assert_eq!(names(&mut owner, functions(unpinned)).await, [""; 0]);
}

/// Every attempt by the role to alter the record of changes fails or has no effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_role_cannot_alter_recorded_changes() {
    let (core, mut service) = connect().await;
    let company = new_company();
    core.company(company).affiliate("A").await;
    core.company(company).affiliate("B").await;
    let fill = format!("update affiliates set city = 'Oslo' where company_id = {company}");
    sqlx::raw_sql(AssertSqlSafe(fill)).execute(&mut service).await.unwrap();
    let state = "select concat_ws(' ', (select array_agg(c order by company_id, position)::text from changes c),
        (select array_agg(p)::text from change_positions p), (select count(*) from change_drops), (select days from change_retention))";
    let before: String = sqlx::query_scalar(state).fetch_one(&core.pool).await.unwrap();

    let entry = format!("row({company}, 1, 1, 1, array[9], array['()'], null, null)");
    let mut refused: Vec<String> = [
        "insert into changes select * from changes",
        "update changes set records = '{}'",
        "update changes set changed_by = null where position = 1",
        "delete from changes",
        "truncate changes",
        "copy changes from stdin",
        "update change_positions set dropped_position = position, dropped_hash = hash",
        "delete from change_positions",
        "insert into change_drops select company_id, position, 0, hash, now(), 'x', 1, now() from change_positions",
        "delete from change_drops",
        "update change_retention set days = 1",
        "insert into change_retention (days) values (1)",
        "alter table changes detach partition changes_default",
        "alter table change_retention alter days set default 1",
        "alter function keep_changes(integer) reset all",
        "create or replace function drop_change_month() returns void language sql as ''",
        "set session_replication_role = replica",
        "set role compliance",
        "create temp table fake (like affiliates);
            create trigger record after insert on fake referencing new table as new_rows for each statement execute function record_affiliates()",
    ]
    .map(str::to_owned)
    .to_vec();
    refused.extend([
        format!("select from changes where company_id = {company} for update"),
        // On Citus, the table makes the function run on the company's node.
        format!("select record_changes(array[{entry}::change_entry]) from affiliates where company_id = {company}"),
    ]);
    for statement in refused {
        let error = sqlx::raw_sql(AssertSqlSafe(statement.clone())).execute(&mut service).await.expect_err(&statement);
        let state = error.as_database_error().and_then(sqlx::error::DatabaseError::code).unwrap_or_default();
        assert_eq!(state, "42501", "{statement}: {error}");
    }
    for harmless in [
        "select make_change_months()".to_owned(),
        "select drop_change_month()".to_owned(),
        "select keep_changes(1)".to_owned(),
        "select keep_changes(-1)".to_owned(),
        "set timezone = 'Pacific/Kiritimati'; set datestyle = 'SQL, DMY'; set standard_conforming_strings = off; select drop_change_month(); reset all"
            .to_owned(),
        // These calls name all entries, which only the owner can erase, and entries of existing affiliates.
        format!(
            "select erase_changes({company}, 1::smallint, 1, array[1, 2, 3, 4], 0, null, null, 'x', '[]')
            from change_positions where company_id = {company}"
        ),
        format!(
            "select erase_changes({company}, 1::smallint, id, array[1, 2, 3, 4], 0, array[1]::smallint[], array[id], 'x', '[]')
            from affiliates where company_id = {company}"
        ),
        // Temporary tables cannot shadow the schema's tables.
        "create temp table changes (like changes); create temp table change_retention (days integer);
            insert into pg_temp.change_retention values (1); select drop_change_month(), keep_changes(1)"
            .to_owned(),
    ] {
        sqlx::raw_sql(AssertSqlSafe(harmless.clone())).execute(&mut service).await.expect(&harmless);
        let after: String = sqlx::query_scalar(state).fetch_one(&core.pool).await.unwrap();
        assert_eq!(after, before, "{harmless}");
    }
    let mut owner = core.pool.acquire().await.unwrap();
    assert_eq!(verify(&mut owner, company).await.unwrap(), None);
}

/// An existing record keeps all its entries, even entries from before the record was deleted and re-created.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_role_can_erase_only_deleted_records() {
    let (core, mut service) = connect().await;
    let company = new_company();
    let run = async |service: &mut PgConnection, statements: &str| {
        for statement in statements.split(";\n") {
            let statement = statement.replace("{c}", &company.to_string());
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *service).await.unwrap();
        }
    };
    let records = "
        insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values ({c}, 4, 'a', 'A'), ({c}, 5, 'b', 'B');
        begin; delete from affiliates where company_id = {c} and id = 4;
            insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values ({c}, 4, 'a', 'A'); commit;
        update affiliates set city = 'Oslo' where company_id = {c};
        delete from affiliates where company_id = {c} and id = 5;
        insert into compliance_cases (company_id, id, affiliate_id) values ({c}, 1, 4), ({c}, 2, 4);
        insert into incidents (company_id, id, case_id, incident_type, reference) values ({c}, 1, 1, 2, 'x'), ({c}, 1, 2, 2, 'y');
        delete from incidents where company_id = {c} and case_id = 2;
        insert into vocabulary_entries (company_id, id, vocabulary, name) values ({c}, 1001, 1, 'x');
        delete from vocabulary_entries where company_id = {c}";
    run(&mut service, records).await;
    let state = "select array_agg(c order by position)::text from changes c where company_id = $1";
    let before: String = sqlx::query_scalar(state).bind(company).fetch_one(&core.pool).await.unwrap();
    let erase = |kind: i16, id: i64, kinds: &str, ids: &str| {
        format!(
            "select erase_changes({{c}}, {kind}::smallint, {id}, array(select position from changes where company_id = {{c}}), null,
                array[{kinds}]::smallint[], array[{ids}]::bigint[], 's', '[\"req\", \"alice\"]')"
        )
    };
    for (kind, id, kinds, ids) in [
        // The affiliate exists.
        (1, 4, "1", "4"),
        (1, 77777, "1", "4"),
        // The entry would name a record that is not erased.
        (1, 77777, "1", "5"),
        (1, 4, "1, 1", "4, 5"),
        (99, -5, "1", "5"),
        (0, 5, "1", "5"),
        // Another incident with the same ID exists.
        (5, 1, "5", "1"),
        // Vocabularies are erased with their company.
        (6, 1001, "6", "1001"),
        (1, 5, "99", "5"),
    ] {
        run(&mut service, &erase(kind, id, kinds, ids)).await;
        let after: String = sqlx::query_scalar(state).bind(company).fetch_one(&core.pool).await.unwrap();
        assert_eq!(after, before, "{kind} {id} {kinds} {ids}");
    }
    // This call erases one of the two records.
    run(&mut service, &erase(1, 5, "1, 1", "4, 5")).await;
    let left = "select string_agg(r.record, ' ') from changes c cross join lateral unnest(c.records) r (record) where c.company_id = $1";
    let left: String = sqlx::query_scalar(left).bind(company).fetch_one(&core.pool).await.unwrap();
    assert!(left.contains(",a,A,") && left.contains(r#"[null, "Oslo"]"#) && !left.contains(",b,B,"), "{left}");
    assert_eq!(left.matches("Oslo").count(), 1, "{left}");
    let mut owner = core.pool.acquire().await.unwrap();
    assert_eq!(verify(&mut owner, company).await.unwrap(), None);
}
