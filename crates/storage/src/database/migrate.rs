//! Brings the schema up to date.

use std::time::{Duration, Instant};

use sqlx::{
    Connection as _, PgPool,
    migrate::{MigrateError, Migrator},
};
use tokio::time::{sleep, timeout};

use super::{citus, error::DatabaseError, open::Database, steps};
use crate::{
    Schema,
    error::is_in_the_way,
    limits::{MIGRATION_LOCK_WAIT, START_TIMEOUT},
};

/// Delay between two attempts, in which the statements that wait behind the migration run.
const MIGRATION_PAUSE: Duration = Duration::from_secs(2);

/// Brings the schema up to date.
///
/// It may take any time, but waits for each lock only briefly and then tries again, because the statements of a running service wait behind
/// it. A role that does not own the schema succeeds only if the schema is up to date.
pub async fn migrate(database: impl Into<Database>, schema: &Schema) -> Result<(), DatabaseError> {
    let database = database.into();
    match check_migrated(&database.pool, schema).await {
        Err(DatabaseError::NotMigrated { .. } | DatabaseError::NotDistributed { .. }) => {}
        other => return other,
    }
    // An advisory lock of the session keeps other processes from migrating at the same time.
    database.require_session("`compliance migrate`")?;
    let mut connection = database.pool.acquire().await.map_err(DatabaseError::History)?.detach();
    // Parallel workers would take processors from the service.
    let settings = "set statement_timeout = 0; set max_parallel_maintenance_workers = 0";
    sqlx::raw_sql(settings).execute(&mut connection).await.map_err(DatabaseError::History)?;
    let on_citus = citus::is_installed(&mut connection).await?;
    let mut steps = Migrator::with_migrations(schema.migrations.iter().cloned().collect());
    if on_citus {
        citus::prepare(&mut connection).await?;
        steps = Migrator::with_migrations(schema.migrations.iter().cloned().map(citus::one_by_one).collect());
    }
    // A newer version may have added steps. This version works with their schema.
    steps.set_ignore_missing(true);
    let start = Instant::now();
    while let Err(error) = steps::run(&steps, &mut connection, start.elapsed()).await {
        let (MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _)) = &error else {
            return Err(error.into());
        };
        if !is_in_the_way(cause) || start.elapsed() >= MIGRATION_LOCK_WAIT {
            return Err(error.into());
        }
        tracing::warn!(reason = %cause, "a migration waits for a lock and is retried");
        sleep(MIGRATION_PAUSE).await;
    }
    if on_citus {
        citus::distribute(&mut connection, schema).await?;
    }
    let _ = connection.close().await;
    Ok(())
}

/// Fails if the schema is outdated, or not distributed on Citus.
pub async fn check_migrated(pool: &PgPool, schema: &Schema) -> Result<(), DatabaseError> {
    let silence = |_| Err(DatabaseError::History(sqlx::Error::PoolTimedOut));
    timeout(START_TIMEOUT, compare_history(pool, schema)).await.unwrap_or_else(silence)
}

async fn compare_history(pool: &PgPool, schema: &Schema) -> Result<(), DatabaseError> {
    let question = "select to_regclass('_sqlx_migrations')::text, to_regclass('pg_dist_partition') is not null";
    let (table, on_citus): (Option<String>, bool) =
        sqlx::query_as(question).fetch_one(pool).await.map_err(DatabaseError::History)?;
    let done: Vec<(i64, Vec<u8>)> = match table {
        Some(_) => sqlx::query_as("select version, checksum from _sqlx_migrations where success")
            .fetch_all(pool)
            .await
            .map_err(DatabaseError::History)?,
        None => Vec::new(),
    };
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
    Ok(())
}
