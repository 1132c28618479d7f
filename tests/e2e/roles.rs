//! The database role of the service owns nothing and can change nothing but records.

use embedded_postgres::SERVICE_ROLE;
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection};
use test_support::{TestCore, fresh_database, tests};

tests![the_service_role_owns_nothing, the_service_role_cannot_change_the_schema];

async fn connect() -> (TestCore, PgConnection) {
    let database = fresh_database().await;
    let service = database.options.clone().username(SERVICE_ROLE).connect().await.unwrap();
    // It grants the role what the service needs.
    (TestCore::over(database.options, 4).await, service)
}

async fn the_service_role_owns_nothing() {
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

async fn the_service_role_cannot_change_the_schema() {
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
        // A grant without the right to grant succeeds and has no effect; it is checked below.
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
