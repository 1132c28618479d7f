//! The roles that use the database: one owns it and migrates it, another one serves and owns nothing.

use sqlx::{AssertSqlSafe, PgPool};

use storage::database::DatabaseError;

/// The statements that let a role (`$1`) serve: it reads and writes records, and can neither change nor empty a table. It reads the
/// record of changes and what the owner says about it, and adds to the record by triggers alone. Of the functions that run as the owner, it
/// calls those whose arguments can do no harm. What it was granted before is taken back; tables of later migrations are included.
const GRANTS: &str = "
    select statement from (
        select position, format(grants, current_schema(), $1, current_database(), array_to_string($2::text[], ', ')) as statement from unnest(array[
            'revoke all on all tables in schema %1$I from %2$I',
            'revoke create on schema %1$I from public, %2$I',
            'grant connect on database %3$I to %2$I',
            'grant usage on schema %1$I to %2$I',
            'grant select, insert, update, delete on all tables in schema %1$I to %2$I',
            'revoke insert, update, delete on %4$s from %2$I',
            'grant usage, select on all sequences in schema %1$I to %2$I',
            'grant execute on all functions in schema %1$I to %2$I',
            'alter default privileges in schema %1$I grant select, insert, update, delete on tables to %2$I',
            'alter default privileges in schema %1$I grant usage, select on sequences to %2$I',
            'alter default privileges in schema %1$I revoke execute on functions from %2$I'
        ]) with ordinality as g (grants, position)
        union all
        select 20, format('revoke all on %s from %I', inhrelid::regclass, $1) from pg_inherits where inhparent = 'changes'::regclass
        union all
        select 21, format('revoke execute on function %s from public, %I', oid::regprocedure, $1)
        from pg_proc where pronamespace = current_schema()::regnamespace and prosecdef
        union all
        select 22, format('grant execute on function %s to %I', oid::regprocedure, $1)
        from pg_proc where pronamespace = current_schema()::regnamespace and proname = any($3)
    ) g order by position";

/// Tables that a service reads and does not write (`$2`).
const READ_ONLY: [&str; 6] =
    ["_sqlx_migrations", "changes", "change_positions", "change_drops", "change_retention", "database_identity"];
/// Functions that run as the owner, and that a service calls (`$3`).
const CALLED: [&str; 8] = [
    "make_change_months",
    "drop_change_month",
    "keep_changes",
    "erase_changes",
    "is_database_known",
    "notice_restore",
    "advance_ids",
    "locked_shards",
];

/// Which of the rights that [`grant`] gives the connection's role lacks. `$1` and `$2` are [`READ_ONLY`] and [`CALLED`]. Partitions are
/// used through their tables.
const MISSING_RIGHTS: &str = "
    with own as (select relnamespace as schema, relowner as owner from pg_class where oid = to_regclass('_sqlx_migrations'))
    select format('%s on %s', lower(privilege), c.oid::regclass) as missing
    from own, pg_class c, unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) as privilege
    where c.relnamespace = schema and c.relowner = owner and c.relkind in ('r', 'p') and not c.relispartition
        and (privilege = 'SELECT' or c.relname <> all($1)) and not has_table_privilege(c.oid, privilege)
    union all
    select format('%s on %s', lower(privilege), c.oid::regclass)
    from own, pg_class c, unnest(array['USAGE', 'SELECT']) as privilege
    where c.relnamespace = schema and c.relowner = owner and c.relkind = 'S' and not has_sequence_privilege(c.oid, privilege)
    union all
    select format('execute on %s', p.oid::regprocedure)
    from own, pg_proc p
    where p.pronamespace = schema and p.proowner = owner and (not p.prosecdef or p.proname = any($2))
        and not has_function_privilege(p.oid, 'EXECUTE')
    order by missing";

/// The rights that a service needs and that the role of this pool lacks, such as `insert on affiliates`.
pub async fn missing_rights(pool: &PgPool) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(MISSING_RIGHTS).bind(READ_ONLY).bind(CALLED).fetch_all(pool).await
}

/// Attempts to grant rights beside a session that changes the same ones.
const GRANT_TRIES: u32 = 5;

/// Grants a role what the service needs. The pool must be the owner's, and the schema up to date; the role must exist.
pub async fn grant(owner: &PgPool, role: &str) -> Result<(), DatabaseError> {
    let error = |source| DatabaseError::Grant { role: role.to_owned(), source };
    let grants: Vec<String> =
        sqlx::query_scalar(GRANTS).bind(role).bind(READ_ONLY).bind(CALLED).fetch_all(owner).await.map_err(error)?;
    // As a block, they are one transaction: a service that runs meanwhile misses nothing. Two of them could not change the same
    // grants at the same time. Citus takes one statement at a time.
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

/// Whether another session changed the rights of the same object at the same time: PostgreSQL reports that as an internal error.
fn is_concurrent(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("XX000"))
}

/// Sets for how many days changes are kept. The pool must be the owner's.
pub async fn keep_changes(owner: &PgPool, days: i32) -> Result<(), DatabaseError> {
    let set = "update change_retention set days = $1, set_at = now(), set_by = session_user where days <> $1";
    let set = sqlx::query(set).bind(days).execute(owner).await.map_err(DatabaseError::Retention)?;
    if set.rows_affected() > 0 {
        tracing::info!(days, "changes are kept for so many days from now on");
    }
    Ok(())
}

/// Logs a warning if the role of a pool could change or empty the tables, or change their history: a service needs less.
pub async fn warn_if_owner(pool: &PgPool) {
    let rights = "select current_user::text, pg_has_role(current_user, relowner, 'usage') from pg_class
        where oid = to_regclass('changes')
            and (pg_has_role(current_user, relowner, 'usage') or has_table_privilege(current_user, oid, 'insert, update, delete'))";
    match sqlx::query_as::<_, (String, bool)>(rights).fetch_optional(pool).await {
        Ok(Some((role, true))) => tracing::warn!(
            role,
            "this database role owns the tables, and could change their history: run `compliance migrate --service-role …` as \
             the owner, and serve as the other role"
        ),
        Ok(Some((role, false))) => tracing::warn!(
            role,
            "this database role can change the record of changes, which an earlier release needed: run `compliance migrate \
             --service-role {role}` again as the owner of the tables"
        ),
        Ok(None) => {}
        Err(error) => tracing::debug!("the rights of the database role are unknown: {error}"),
    }
}
