//! Brings the schema up to date: finds missing steps, limits their lock waits, and cleans up after interrupted attempts.

use std::time::{Duration, Instant};

use sqlx::{
    AssertSqlSafe, Connection as _, PgConnection, PgExecutor, PgPool,
    migrate::{MigrateError, Migration, Migrator},
};
use tokio::time::{sleep, timeout};

use super::{citus, error::DatabaseError, objects, open::Database};
use crate::{
    Schema,
    error::{is_in_the_way, text},
    limits::{MIGRATION_LOCK_WAIT, START_TIMEOUT},
};

/// Delay between two attempts. Statements queued behind the migration run during this time.
const MIGRATION_PAUSE: Duration = Duration::from_secs(2);
/// How long a step waits for a lock. Later statements queue behind it.
///
/// Nearly all statements finish sooner, and callers hardly notice the wait. During a backup, one statement in fifty waits this long.
const MIGRATION_LOCK_TIMEOUT: &str = "40ms";
/// Time without a lock after which a step waits longer. Otherwise, overlapping long statements could block it forever.
const MIGRATION_PATIENCE: Duration = Duration::from_mins(5);
/// Lock timeout after [`MIGRATION_PATIENCE`].
const MIGRATION_LONG_LOCK_TIMEOUT: &str = "1s";

/// Fails like a lock timeout while another process is migrating.
///
/// Waiting would deadlock the two processes, because `create index concurrently` waits for all other statements.
const ALONE: &str = "do $$ begin
    if not pg_try_advisory_lock(hashtext('compliance migrate'), 1) then
        raise lock_not_available using message = 'another process migrates this database';
    end if;
end $$";

/// Brings the schema up to date.
///
/// Statements have no time limit. A step waits only briefly for each lock before it retries, because a running service's statements queue behind it.
/// A role other than the schema's owner succeeds only if the schema is up to date.
pub async fn migrate(database: impl Into<Database>, schema: &Schema) -> Result<(), DatabaseError> {
    let database = database.into();
    let missing = match check_migrated(&database.pool, schema).await {
        Err(DatabaseError::NotMigrated { missing, .. }) => missing,
        Err(DatabaseError::NotDistributed { .. }) => 0,
        other => return other,
    };
    refuse_other_superuser(&database.pool).await?;
    // A session-level advisory lock keeps other processes from migrating at the same time.
    database.require_session("`compliance migrate`")?;
    let mut connection = database.pool.acquire().await.map_err(DatabaseError::History)?.detach();
    // Parallel workers would compete with the service for cores.
    let settings = "set statement_timeout = 0; set max_parallel_maintenance_workers = 0";
    sqlx::raw_sql(settings).execute(&mut connection).await.map_err(DatabaseError::History)?;
    let on_citus = citus::is_installed(&mut connection).await?;
    let mut steps = Migrator::with_migrations(schema.migrations.iter().cloned().collect());
    if on_citus {
        citus::prepare(&mut connection).await?;
        steps = Migrator::with_migrations(schema.migrations.iter().cloned().map(citus::one_by_one).collect());
    }
    // A newer version may have added steps. This version also works with their schema.
    steps.set_ignore_missing(true);
    let start = Instant::now();
    while let Err(error) = run(&steps, &mut connection, start.elapsed()).await {
        let (MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _)) = &error else {
            return Err(error.into());
        };
        if !is_in_the_way(cause) || start.elapsed() >= MIGRATION_LOCK_WAIT {
            return Err(error.into());
        }
        tracing::warn!(reason = text(cause), "retrying a migration blocked by a lock");
        sleep(MIGRATION_PAUSE).await;
    }
    if on_citus {
        citus::distribute(&mut connection, schema).await?;
    }
    let _ = connection.close().await;
    tracing::info!(steps = missing, "migrated the database schema");
    Ok(())
}

/// Fails for a superuser that does not own the tables, or the database of new tables. Later migrations as the owner would fail, and default
/// privileges of the superuser would make backups fail to restore as the owner.
pub async fn refuse_other_superuser(pool: &PgPool) -> Result<(), DatabaseError> {
    let question = "select current_user::text, pg_get_userbyid(coalesce(c.relowner, datdba))::text
        from pg_database left join pg_class c on c.oid = to_regclass('_sqlx_migrations')
        where datname = current_database() and (select rolsuper from pg_roles where rolname = current_user)";
    let names: Option<(String, String)> =
        sqlx::query_as(question).fetch_optional(pool).await.map_err(DatabaseError::History)?;
    match names {
        Some((user, owner)) if user != owner => Err(DatabaseError::MigrateByOther { user, owner }),
        _ => Ok(()),
    }
}

/// Fails if the schema is outdated, not distributed on Citus, or without all its triggers.
pub async fn check_migrated(pool: &PgPool, schema: &Schema) -> Result<(), DatabaseError> {
    let silence = |_| Err(DatabaseError::History(sqlx::Error::PoolTimedOut));
    timeout(START_TIMEOUT, compare_history(pool, schema)).await.unwrap_or_else(silence)
}

/// Fails if a table lacks triggers, constraints or indexes.
pub async fn check_complete(executor: impl PgExecutor<'_>, schema: &Schema) -> Result<(), DatabaseError> {
    objects::check(executor, schema, &["triggers", "constraints", "indexes"]).await
}

async fn compare_history(pool: &PgPool, schema: &Schema) -> Result<(), DatabaseError> {
    let question = "select to_regclass('_sqlx_migrations')::text, to_regclass('pg_dist_partition') is not null";
    let (table, on_citus): (Option<String>, bool) =
        sqlx::query_as(question).fetch_one(pool).await.map_err(DatabaseError::History)?;
    let done: Vec<(i64, Vec<u8>)> = match &table {
        Some(_) => sqlx::query_as("select version, checksum from _sqlx_migrations where success")
            .fetch_all(pool)
            .await
            .map_err(DatabaseError::History)?,
        None => Vec::new(),
    };
    let is_interrupted = table.is_some() && done.is_empty();
    let (mut total, mut missing) = (0, 0);
    for step in schema.migrations.iter() {
        total += 1;
        match done.iter().find(|(version, _)| *version == step.version) {
            Some((_, digest)) if *digest != *step.checksum => {
                return Err(DatabaseError::Modified { step: format!("{} ({})", step.version, step.description) });
            }
            Some(_) => {}
            None => missing += 1,
        }
    }
    if missing > 0 {
        // An interrupted first migration leaves an empty history.
        if missing == total && !is_interrupted {
            refuse_other_tables(pool, table.is_some()).await?;
        }
        return Err(DatabaseError::NotMigrated { missing, total });
    }
    if on_citus {
        let tables = citus::undistributed(pool, schema).await.map_err(DatabaseError::History)?;
        let functions = if tables.is_empty() { citus::missing_functions(pool, schema).await } else { Ok(Vec::new()) };
        let functions = functions.map_err(DatabaseError::History)?.len();
        if !tables.is_empty() || functions > 0 {
            return Err(DatabaseError::NotDistributed { tables: tables.join(", "), functions });
        }
    }
    // Without triggers, the database would accept writes without recording them.
    objects::check(pool, schema, &["triggers"]).await
}

/// Fails if the database contains another program's tables. Tables of extensions are allowed. Without `has_history`, a process that has
/// begun to migrate since may have created them.
async fn refuse_other_tables(pool: &PgPool, has_history: bool) -> Result<(), DatabaseError> {
    let question = "select current_database()::text, relname::text
        from pg_class c join pg_namespace n on n.oid = relnamespace and nspname = current_schema()
        where relkind in ('r', 'p') and not exists (
            select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')
            and (to_regclass('_sqlx_migrations') is null or $1)
        order by relname limit 1";
    let found: Option<(String, String)> =
        sqlx::query_as(question).bind(has_history).fetch_optional(pool).await.map_err(DatabaseError::History)?;
    found.map_or(Ok(()), |(database, table)| Err(DatabaseError::OtherTables { database, table }))
}

/// Runs the missing steps. `waited` is the total time of earlier attempts that did not acquire a lock.
async fn run(steps: &Migrator, connection: &mut PgConnection, waited: Duration) -> Result<(), MigrateError> {
    sqlx::raw_sql(ALONE).execute(&mut *connection).await?;
    for step in steps.iter() {
        let settings = format!("set lock_timeout = '{}'", lock_timeout(step, waited));
        sqlx::raw_sql(AssertSqlSafe(settings)).execute(&mut *connection).await?;
        if let Some(index) = concurrent_index(step)
            && is_missing(step, connection).await?
        {
            // A failed attempt leaves an unfinished index. A killed process may have finished the index without recording the step.
            let drop = format!("drop index concurrently if exists {index}");
            sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut *connection).await?;
        }
        steps.run_to(step.version, &mut *connection).await?;
    }
    Ok(())
}

/// Returns how long a step waits for a lock.
///
/// A running service's statements queue behind most steps. Creating an index concurrently blocks nothing, but waits for all other statements to end.
fn lock_timeout(step: &Migration, waited: Duration) -> String {
    if concurrent_index(step).is_some() {
        return format!("{}s", MIGRATION_LOCK_WAIT.as_secs());
    }
    let timeout = if waited < MIGRATION_PATIENCE { MIGRATION_LOCK_TIMEOUT } else { MIGRATION_LONG_LOCK_TIMEOUT };
    timeout.to_owned()
}

/// Returns the index that a step creates concurrently, if any. Such a step is a single statement outside a transaction.
fn concurrent_index(step: &Migration) -> Option<&str> {
    let mut words = step.sql.as_str().lines().filter(|line| !line.starts_with("--")).flat_map(str::split_whitespace);
    let makes = step.no_tx && words.next() == Some("create") && words.any(|word| word == "concurrently");
    if makes { words.next() } else { None }
}

async fn is_missing(step: &Migration, connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let done = "select exists (select from _sqlx_migrations where version = $1 and success)";
    let done: bool = sqlx::query_scalar(done).bind(step.version).fetch_one(connection).await?;
    Ok(!done)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use embedded_postgres::{ClusterOptions, OWNER_ROLE};
    use sqlx::{
        SqlSafeStr as _,
        migrate::{Migration, MigrationType::Simple, Migrator},
    };
    use test_support::TestCluster;

    use super::{concurrent_index, lock_timeout, run};

    const INDEX: &str = "-- no-transaction\n-- Why.\ncreate unique index concurrently doubles_key\n    on doubles (n)";

    fn steps(last: &'static str) -> Migrator {
        let table = "create table doubles (n integer); insert into doubles values (1), (1)";
        let step = |version, sql: &'static str| {
            let no_tx = sql.starts_with("-- no-transaction");
            Migration::new(version, "step".into(), Simple, sql.into_sql_str(), no_tx)
        };
        let mut steps =
            Migrator::with_migrations(vec![step(99_990_101_000_001, table), step(99_990_101_000_002, last)]);
        steps.set_ignore_missing(true);
        steps
    }

    #[test]
    fn blocking_steps_use_short_lock_timeouts() {
        for (sql, index, first, later) in [
            (INDEX, Some("doubles_key"), "600s", "600s"),
            ("-- no-transaction\ndo $$ begin end $$", None, "40ms", "1s"),
            ("create index concurrently in_a_transaction on doubles (n)", None, "40ms", "1s"),
            ("alter table doubles add column m integer", None, "40ms", "1s"),
        ] {
            let steps = steps(sql);
            let step = steps.iter().last().unwrap();
            assert_eq!(concurrent_index(step), index, "{sql}");
            assert_eq!(lock_timeout(step, Duration::from_secs(299)), first, "{sql}");
            assert_eq!(lock_timeout(step, Duration::from_mins(5)), later, "{sql}");
        }
    }

    #[tokio::test]
    async fn unfinished_indexes_are_rebuilt() {
        let server = TestCluster::start(ClusterOptions::temporary()).await;
        server.endpoint.create_database("steps").await.unwrap();
        let pool = sqlx::PgPool::connect_with(server.endpoint.options(OWNER_ROLE, "steps")).await.unwrap();
        let mut connection = pool.acquire().await.unwrap();
        let valid = "select indisvalid from pg_index where indexrelid = to_regclass('doubles_key')";
        let steps = steps(INDEX);

        run(&steps, &mut connection, Duration::ZERO).await.unwrap_err();
        assert!(!sqlx::query_scalar::<_, bool>(valid).fetch_one(&pool).await.unwrap());

        sqlx::raw_sql("delete from doubles where ctid = '(0,1)'").execute(&pool).await.unwrap();
        for lost in ["select", "delete from _sqlx_migrations where version = 99990101000002"] {
            sqlx::raw_sql(lost).execute(&pool).await.unwrap();
            run(&steps, &mut connection, Duration::ZERO).await.unwrap();
            assert!(sqlx::query_scalar::<_, bool>(valid).fetch_one(&pool).await.unwrap());
        }

        // Another process detects this migration and fails without waiting.
        let mut other = pool.acquire().await.unwrap();
        let refused = run(&steps, &mut other, Duration::ZERO).await.unwrap_err();
        assert!(refused.to_string().contains("another process migrates"), "{refused}");
        drop((connection, other));
        pool.close().await;
        server.stop().await;
    }
}
