//! Runs transactions, and retries writes where that is safe.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::connections::Connections;
use crate::{
    deadline::check_caller,
    error::{Unavailable, is_disconnected, is_unique_violation, text},
    limits::MAX_TRIES,
    metrics::{RETRY_CONFLICT, RETRY_CONNECTION, count_retry},
    statement_context::{self, StatementContext},
    table::Layouts,
};

impl Connections {
    /// Runs work in a transaction that records its changes with the current request.
    ///
    /// Rolls back if the work fails, or if `should_commit` returns false for its result.
    pub async fn in_transaction<T>(
        &self,
        should_commit: impl FnOnce(&T) -> bool,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let mut borrowed = self.borrow_connection().await?;
        let (connection, outage) = borrowed.transaction()?;
        // A rollback has read the whole response, so the connection can be reused.
        let mut is_rolled_back = false;
        let working = async {
            let mut transaction = connection.begin_with(self.begin_as_writer()).await?;
            match work(&mut transaction).await {
                Ok(result) if should_commit(&result) => {
                    check_caller().await;
                    transaction.commit().await.and(Ok(result))
                }
                result @ (Ok(_) | Err(sqlx::Error::Database(_))) => {
                    transaction.rollback().await?;
                    is_rolled_back = true;
                    result
                }
                Err(error) => Err(error),
            }
        };
        let result = outage.or_end(working).await?;
        borrowed.in_transaction &= !is_rolled_back;
        borrowed.done(result)
    }

    fn begin_as_writer(&self) -> AssertSqlSafe<String> {
        let writer = statement_context::writer().replace('\'', "''");
        // Citus sends settings to its nodes only with this setting.
        let propagate = if self.is_divided() { "set local citus.propagate_set_commands = 'local';" } else { "" };
        AssertSqlSafe(format!("begin;{propagate}set local compliance.changed_by = '{writer}'"))
    }

    /// Runs a write that may send batches. Retries it a bounded number of times, after errors that `can_retry` accepts.
    pub async fn try_write<T, F: Future<Output = Result<T, sqlx::Error>>>(
        &self,
        can_retry: fn(&sqlx::Error) -> bool,
        run: impl Fn(Self, Arc<Layouts>) -> F,
    ) -> Result<T, sqlx::Error> {
        let mut tries = 1;
        loop {
            match run(self.clone(), self.layouts()).await {
                Err(error) if self.may_retry(&error, can_retry, &mut tries).await => {}
                result => return result,
            }
        }
    }

    /// Returns whether to retry a write that has failed after this many tries.
    pub async fn may_retry(&self, error: &sqlx::Error, can_retry: fn(&sqlx::Error) -> bool, tries: &mut u32) -> bool {
        let may_retry = *tries < MAX_TRIES
            && Unavailable::of(error).is_none()
            && (can_retry(error) || self.pool.inputs.changed(error).await);
        if may_retry {
            self.advance_ids(error).await;
            count_retry(if is_disconnected(error) { RETRY_CONNECTION } else { RETRY_CONFLICT });
            tracing::debug!("retrying a write: {}", text(error));
            *tries += 1;
        }
        may_retry
    }

    /// Advances a table's ID sequence past the highest ID, if a new record received an existing ID.
    ///
    /// The sequence lags behind if only the records were copied.
    async fn advance_ids(&self, error: &sqlx::Error) {
        let Some(database) = error.as_database_error().filter(|_| is_unique_violation(error)) else { return };
        let Some(table) = database.table().filter(|table| database.constraint() == Some(&format!("{table}_pkey")))
        else {
            return;
        };
        let advance = sqlx::query_scalar("select advance_ids($1)").bind(table).fetch_one(self);
        match StatementContext::of("IDs").run(advance).await {
            Ok(true) => {
                tracing::warn!(table, "advanced an ID sequence that was behind the table's highest ID");
            }
            Ok(false) => {}
            Err(error) => tracing::error!(
                table,
                "a new ID already exists, and the service cannot advance its sequence: run `compliance doctor --counts --repair`: {}",
                text(&error)
            ),
        }
    }
}
