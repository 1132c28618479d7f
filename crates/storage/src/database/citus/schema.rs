//! Distributes the schema's tables by company on Citus.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgExecutor, SqlSafeStr as _, migrate::Migration};

use super::functions;
use crate::{Schema, database::error::DatabaseError};

const COPY: &str = "select create_reference_table($1::text::regclass)";
const DISTRIBUTE: &str = "select create_distributed_table($1::text::regclass, 'company_id', colocate_with => $2)";
const DISTRIBUTE_FIRST: &str = include_str!("sql/distribute_first.sql");
const HAS_LATE_TYPES: &str = include_str!("sql/late_types.sql");

// A step that changes several tables uses one connection per node. The schema's triggers only write rows of the same company, so they stay on their
// node. Citus rejects triggers unless a setting allows them.
const SETTINGS: &str = "
    set citus.multi_shard_modify_mode = 'sequential';
    set citus.enable_unsafe_triggers = on;
    set citus.propagate_set_commands = 'local'";

/// Prepares a session on the coordinator for a migration.
pub(in crate::database) async fn prepare(connection: &mut PgConnection) -> Result<(), DatabaseError> {
    sqlx::raw_sql(SETTINGS).execute(connection).await.map(drop).map_err(DatabaseError::Distribute)
}

/// Returns a migration step in the form that Citus accepts: one statement at a time.
///
/// Sets the lock timeout for the transaction, because only then does it apply on other nodes.
pub(in crate::database) fn one_by_one(mut step: Migration) -> Migration {
    if !step.no_tx {
        let block = format!(
            "do $citus$ begin execute format('set local lock_timeout = %L', current_setting('lock_timeout'));\n{}\nend $citus$",
            step.sql.as_str()
        );
        step.sql = AssertSqlSafe(block).into_sql_str();
    }
    step
}

/// Distributes the remaining tables and creates the missing functions, in one transaction.
pub(in crate::database) async fn distribute(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<(), DatabaseError> {
    let asked = sqlx::query_scalar(HAS_LATE_TYPES).fetch_one(&mut *connection);
    if asked.await.map_err(DatabaseError::Distribute)? {
        return Err(DatabaseError::LateCitus);
    }
    distribute_all(connection, schema).await.map_err(DatabaseError::Distribute)
}

async fn distribute_all(connection: &mut PgConnection, schema: &Schema) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin().await?;
    for table in undistributed(&mut *transaction, schema).await? {
        if schema.copied.contains(&table.as_str()) {
            sqlx::query(COPY).bind(&table).execute(&mut *transaction).await?;
        } else if schema.distributed.first() == Some(&table.as_str()) {
            sqlx::query(DISTRIBUTE_FIRST).bind(&table).execute(&mut *transaction).await?;
        } else {
            let first = schema.distributed.first();
            sqlx::query(DISTRIBUTE).bind(&table).bind(first).execute(&mut *transaction).await?;
        }
        tracing::info!(table, "distributed a table");
    }
    functions::create(&mut transaction, schema).await?;
    transaction.commit().await
}

/// Returns undistributed tables in a valid distribution order.
pub(in crate::database) async fn undistributed(
    executor: impl PgExecutor<'_>,
    schema: &Schema,
) -> Result<Vec<String>, sqlx::Error> {
    let question = "select name from unnest($1::text[]) with ordinality t (name, position)
        where not exists (select from pg_dist_partition where logicalrelid = to_regclass(name)) order by position";
    let tables = [schema.distributed, schema.copied].concat();
    sqlx::query_scalar(question).bind(tables).fetch_all(executor).await
}
