//! Locks tables to block statements.

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool};

use crate::{citus, process::PATIENCE};

/// A table that stays locked until [`Self::release`]. On Citus, all its shards are locked.
pub struct LockedTable(Vec<PgConnection>);

impl LockedTable {
    /// Locks a table in a mode, such as `access exclusive`.
    pub async fn new(pool: &PgPool, table: &str, mode: &str) -> Self {
        let mut connections = Vec::new();
        for (options, tables) in citus::shards(pool, table).await {
            let mut connection = PgConnection::connect_with(&options).await.unwrap();
            let lock = format!("begin; lock table {tables} in {mode} mode");
            sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut connection).await.unwrap();
            connections.push(connection);
        }
        Self(connections)
    }

    /// Returns whether a statement waits for the table.
    pub async fn is_awaited(&mut self) -> bool {
        let waits = "select exists (
            select from pg_locks w join pg_locks h on h.pid = pg_backend_pid() and (h.database, h.relation) = (w.database, w.relation)
            where not w.granted)";
        for connection in &mut self.0 {
            if sqlx::query_scalar(waits).fetch_one(connection).await.unwrap() {
                return true;
            }
        }
        false
    }

    /// Waits until a statement waits for the table.
    pub async fn until_awaited(&mut self) {
        let start = Instant::now();
        while !self.is_awaited().await {
            assert!(start.elapsed() < PATIENCE, "no statement is waiting for the table");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Releases the lock.
    pub async fn release(self) {
        for mut connection in self.0 {
            sqlx::raw_sql("rollback").execute(&mut connection).await.unwrap();
        }
    }
}
