//! The schema on Citus: the same tables, distributed by company.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgExecutor, SqlSafeStr as _, migrate::Migration};

use super::functions;
use crate::{Schema, database::error::DatabaseError};

const COPY: &str = "select create_reference_table($1::text::regclass)";
const DISTRIBUTE: &str = "select create_distributed_table($1::text::regclass, 'company_id', colocate_with => $2)";
/// Four shards for each worker, unless a number is set: a shard is a statement of its own, and more workers can join.
const DISTRIBUTE_FIRST: &str = "
    select create_distributed_table($1::text::regclass, 'company_id', colocate_with => 'none', shard_count => (
        select case s.source when 'default' then 4 * greatest(n.workers, 1) else s.setting::integer end
        from pg_settings s, (
            select count(*)::integer as workers from pg_dist_node where noderole = 'primary' and isactive and shouldhaveshards
        ) n
        where s.name = 'citus.shard_count'
    ))";

/// A step that changes several tables does so over one connection to each node. Citus refuses triggers without the setting that says that they
/// stay on their node: those of this schema write rows of the same company only.
const SETTINGS: &str = "
    set citus.multi_shard_modify_mode = 'sequential';
    set citus.enable_unsafe_triggers = on;
    set citus.propagate_set_commands = 'local'";

/// Makes the settings of a session that migrates, which must be one of the coordinator.
pub(in crate::database) async fn prepare(connection: &mut PgConnection) -> Result<(), DatabaseError> {
    sqlx::raw_sql(SETTINGS).execute(connection).await.map(drop).map_err(DatabaseError::Distribute)
}

/// A step as Citus takes it: one statement at a time. Statements on other nodes wait for a lock as long as those here if the
/// transaction says so.
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

/// Whether the schema has types that Citus has not made on its nodes.
const LATE: &str = "select exists (
    select from pg_type t where t.typnamespace = current_schema()::regnamespace and t.typtype in ('c', 'e')
        and not exists (select from pg_depend where classid = 'pg_type'::regclass and objid = t.oid and deptype in ('e', 'i'))
        and not exists (select from pg_dist_object where classid = 'pg_type'::regclass and objid = t.oid))";

/// Distributes the tables that are not, and creates the functions that are missing: all or none.
pub(in crate::database) async fn distribute(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<(), DatabaseError> {
    let asked = sqlx::query_scalar(LATE).fetch_one(&mut *connection);
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
        tracing::info!(table, "the table is distributed");
    }
    functions::create(&mut transaction, schema).await?;
    transaction.commit().await
}

/// Tables that are not distributed, in an order in which they can be.
pub(in crate::database) async fn undistributed(
    executor: impl PgExecutor<'_>,
    schema: &Schema,
) -> Result<Vec<String>, sqlx::Error> {
    let question = "select name from unnest($1::text[]) with ordinality t (name, position)
        where not exists (select from pg_dist_partition where logicalrelid = to_regclass(name)) order by position";
    let tables = [schema.distributed, schema.copied].concat();
    sqlx::query_scalar(question).bind(tables).fetch_all(executor).await
}
