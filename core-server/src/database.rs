//! The database schema and its roles. One role owns and migrates the schema. The service runs as a different role, which owns nothing.

use sqlx::{AssertSqlSafe, PgExecutor, PgPool};
pub use storage::{
    database::{Database, DatabaseError, Jump, Target, connect, connection_limit, jump_ahead, open, target},
    error::text as error_text,
};

use crate::schema::SCHEMA;

/// Brings the schema up to date. See [`storage::database::migrate`].
pub async fn migrate(database: impl Into<Database>) -> Result<(), DatabaseError> {
    storage::database::migrate(database, &SCHEMA).await
}

/// Fails if the schema is outdated or, on Citus, not distributed.
pub async fn check_migrated(pool: &PgPool) -> Result<(), DatabaseError> {
    storage::database::check_migrated(pool, &SCHEMA).await
}

/// Fails if a table lacks triggers, constraints or indexes.
pub async fn check_complete(executor: impl PgExecutor<'_>) -> Result<(), DatabaseError> {
    storage::database::check_complete(executor, &SCHEMA).await
}

const GRANTS: &str = include_str!("database/grants.sql");

/// Tables that the service only reads.
const READ_ONLY: [&str; 6] =
    ["_sqlx_migrations", "changes", "change_positions", "change_drops", "change_retention", "database_identity"];
/// Functions that the service calls and that run as the owner.
const CALLED: [&str; 8] = [
    "make_change_months",
    "drop_change_month",
    "keep_changes",
    "erase_changes",
    "is_database_known",
    "notice_restore",
    "advance_ids",
    "lock_shard",
];

const MISSING_RIGHTS: &str = include_str!("database/missing_rights.sql");

/// Returns the required privileges that the pool's role lacks, such as `insert on affiliates`.
pub async fn missing_rights(pool: &PgPool) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(MISSING_RIGHTS).bind(READ_ONLY).bind(CALLED).fetch_all(pool).await
}

/// Returns whether the pool's role owns the tables, which only migrations need.
pub async fn is_owner(pool: &PgPool) -> Result<bool, sqlx::Error> {
    let owns = "select pg_has_role(current_user, relowner, 'usage') from pg_class where oid = 'changes'::regclass";
    sqlx::query_scalar(owns).fetch_one(pool).await
}

/// Maximum number of attempts while another process changes the same privileges.
const GRANT_TRIES: u32 = 5;

/// Fails if a role cannot be the service role: it does not exist, it is a superuser, or it owns the tables or will own them. Also fails if the
/// pool connects as a superuser other than the owner.
pub async fn check_service_role(pool: &PgPool, role: &str) -> Result<(), DatabaseError> {
    storage::database::refuse_other_superuser(pool).await?;
    let question = "select rolsuper, rolname = coalesce(pg_get_userbyid(relowner), current_user)
        from pg_roles left join pg_class c on c.oid = to_regclass('_sqlx_migrations') where rolname = $1";
    let found = sqlx::query_as(question).bind(role).fetch_optional(pool).await;
    let role = role.to_owned();
    match found {
        Ok(Some((_, true))) => Err(DatabaseError::GrantToOwner { role }),
        Ok(Some((true, _))) => Err(DatabaseError::GrantToSuperuser { role }),
        Ok(Some((false, false))) => Ok(()),
        Ok(None) => Err(DatabaseError::GrantToMissing { role }),
        Err(source) => Err(DatabaseError::Grant { role, source }),
    }
}

/// Grants a role the privileges that the service needs.
///
/// The role must exist, the pool must connect as the owner, and the schema must be up to date.
pub async fn grant(owner: &PgPool, role: &str) -> Result<(), DatabaseError> {
    let error = |source| DatabaseError::Grant { role: role.to_owned(), source };
    check_service_role(owner, role).await?;
    let owns = "select pg_has_role(current_user, relowner, 'usage'), current_user::text
        from pg_class where oid = 'changes'::regclass";
    let (by_owner, user): (bool, String) = sqlx::query_as(owns).fetch_one(owner).await.map_err(error)?;
    if !by_owner {
        return Err(DatabaseError::GrantByOther { user });
    }
    let grants: Vec<String> =
        sqlx::query_scalar(GRANTS).bind(role).bind(READ_ONLY).bind(CALLED).fetch_all(owner).await.map_err(error)?;
    // A block runs as one transaction, so a running service never lacks a privilege. The lock prevents concurrent grants. Citus accepts one
    // statement at a time.
    let statements = format!(
        "do $grants$ begin perform pg_advisory_xact_lock(hashtext('compliance grant'), 1); {}; end $grants$",
        grants.join(";")
    );
    let mut tries = 0;
    loop {
        tries += 1;
        match sqlx::raw_sql(AssertSqlSafe(statements.clone())).execute(owner).await {
            Ok(_) => return Ok(()),
            Err(failed) if tries < GRANT_TRIES && is_concurrent(&failed) => {}
            Err(failed) => return Err(error(failed)),
        }
    }
}

/// Returns whether another process changed the same privileges concurrently. PostgreSQL reports this conflict as an internal error.
fn is_concurrent(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("XX000"))
}

/// Sets the change retention, in days. The pool must connect as the owner.
pub async fn keep_changes(owner: &PgPool, days: i32) -> Result<(), DatabaseError> {
    let set = "update change_retention set days = $1, set_at = now(), set_by = session_user where days <> $1";
    let set = sqlx::query(set).bind(days).execute(owner).await.map_err(DatabaseError::Retention)?;
    if set.rows_affected() > 0 {
        tracing::info!(days, "set the change retention");
    }
    Ok(())
}

/// Logs a warning if the role can change the tables or the history. The service never needs these privileges.
pub async fn warn_if_owner(pool: &PgPool) {
    let rights = "select current_user::text, pg_has_role(current_user, relowner, 'usage') from pg_class
        where oid = to_regclass('changes')
            and (pg_has_role(current_user, relowner, 'usage') or has_table_privilege(current_user, oid, 'insert, update, delete'))";
    match sqlx::query_as::<_, (String, bool)>(rights).fetch_optional(pool).await {
        Ok(Some((role, true))) => tracing::warn!(
            role,
            "this database role owns the tables and could change the record of changes: run `compliance migrate --service-role …` as \
             the owner, and run the service as that role"
        ),
        Ok(Some((role, false))) => tracing::warn!(
            role,
            "this database role can change the record of changes, which only earlier releases needed: run `compliance migrate \
             --service-role {role}` again as the owner of the tables"
        ),
        Ok(None) => {}
        Err(error) => tracing::debug!("cannot read the privileges of the database role: {error}"),
    }
}
