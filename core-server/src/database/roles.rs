//! The roles that use the database: one owns it and migrates it, another one serves and owns nothing.

use sqlx::{AssertSqlSafe, PgPool};

use super::DatabaseError;

/// The statements that let a role (`$1`) serve: it reads and writes records, and can neither change nor empty a table. What it
/// was granted before is taken back; tables of later migrations are included.
const GRANTS: &str = "
    select format(grants, current_schema(), $1, current_database()) from unnest(array[
        'revoke all on all tables in schema %1$I from %2$I',
        'grant connect on database %3$I to %2$I',
        'grant usage on schema %1$I to %2$I',
        'grant select, insert, update, delete on all tables in schema %1$I to %2$I',
        'revoke insert, update, delete on _sqlx_migrations, database_identity from %2$I',
        'grant usage, select on all sequences in schema %1$I to %2$I',
        'grant execute on all functions in schema %1$I to %2$I',
        'alter default privileges in schema %1$I grant select, insert, update, delete on tables to %2$I',
        'alter default privileges in schema %1$I grant usage, select on sequences to %2$I',
        'alter default privileges in schema %1$I grant execute on functions to %2$I'
    ]) with ordinality as g (grants, position) order by position";

/// Grants a role what the service needs. The pool must be the owner's, and the schema up to date; the role must exist.
pub async fn grant(owner: &PgPool, role: &str) -> Result<(), DatabaseError> {
    let error = |source| DatabaseError::Grant { role: role.to_owned(), source };
    let grants: Vec<String> = sqlx::query_scalar(GRANTS).bind(role).fetch_all(owner).await.map_err(error)?;
    // As a block, they are one transaction: a service that runs meanwhile misses nothing. Two of them could not change the same
    // grants at the same time. Citus takes one statement at a time.
    let statements = format!(
        "do $grants$ begin perform pg_advisory_xact_lock(hashtext('compliance grant'), 1); {}; end $grants$",
        grants.join(";")
    );
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(owner).await.map_err(error)?;
    Ok(())
}

/// Logs a warning if the role of a pool could change or empty the tables: a service needs less.
pub async fn warn_if_owner(pool: &PgPool) {
    let owns = "select current_user::text from pg_class
        where oid = to_regclass('affiliates') and pg_has_role(current_user, relowner, 'usage')";
    match sqlx::query_scalar::<_, String>(owns).fetch_optional(pool).await {
        Ok(Some(role)) => tracing::warn!(
            role,
            "this database role owns the tables, and the service needs less: run `compliance migrate --service-role …` as \
             the owner, and serve as the other role"
        ),
        Ok(None) => {}
        Err(error) => tracing::debug!("the rights of the database role are unknown: {error}"),
    }
}
