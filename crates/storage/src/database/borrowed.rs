//! Borrowed connections, and their return after each way a statement can end.

use std::{sync::Arc, time::Instant};

use sqlx::{
    FromRow, PgConnection, Postgres,
    postgres::{PgArguments, PgRow},
    query::QueryAs,
};
use telemetry::trace::Span;
use tokio::{runtime::Handle, sync::OwnedSemaphorePermit};

use super::pool::{Connection, Epoch, Pool};
use crate::{
    error::{Unavailable, is_disconnected, is_of_other_node, is_stale},
    limits::LOCK_TIMEOUT,
    statement::ConnectionWait,
};

/// A connection that is borrowed for one statement or transaction.
///
/// The borrower reports the result with [`done`](Self::done). If this is dropped before, its caller has left: the server cancels the
/// statement, and others use the connection once the server has reported that it is ready. A connection that is not ready in time is
/// closed. Until then it counts as in use, so the number of connections stays bounded.
///
/// A shared session is closed immediately, because its process may serve another caller when the cancellation arrives.
pub struct BorrowedConnection {
    pool: Arc<Pool>,
    borrowed: Option<(Connection, OwnedSemaphorePermit)>,
    pub(super) in_transaction: bool,
    span: Span,
}

impl BorrowedConnection {
    /// Borrows a connection with this lock timeout.
    ///
    /// Waits a bounded time for a free connection, and not at all while the server does not respond.
    pub(super) async fn of(pool: &Arc<Pool>, lock_timeout: &'static str) -> Result<Self, sqlx::Error> {
        let wait = ConnectionWait::start();
        if !pool.responds() {
            return Err(Unavailable::Down.into());
        }
        let permits = Arc::clone(&pool.permits);
        let permit = match Arc::clone(&permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => pool.wait(async { permits.acquire_owned().await.map_err(|_| sqlx::Error::PoolClosed) }).await?,
        };
        if pool.options.is_closed() {
            return Err(sqlx::Error::PoolClosed);
        }
        let idle = pool.take_idle(lock_timeout);
        let connection = match idle {
            Some(idle) => idle,
            // Boxed, because it is rare and would enlarge the future of every statement.
            None => Box::pin(pool.wait(pool.open())).await?,
        };
        let is_ready = pool.waits_as_long(&connection, lock_timeout);
        let borrowed = Some((connection, permit));
        let borrowed = Self { pool: Arc::clone(pool), borrowed, in_transaction: false, span: wait.end() };
        if is_ready { Ok(borrowed) } else { Box::pin(borrowed.prepare(lock_timeout)).await }
    }

    /// Sets the lock timeout.
    async fn prepare(mut self, lock_timeout: &'static str) -> Result<Self, sqlx::Error> {
        let set = async {
            let Some((connection, _)) = &mut self.borrowed else { return Ok(()) };
            connection.lock_timeout = None;
            let set = sqlx::query("select set_config('lock_timeout', $1, false)").bind(lock_timeout);
            connection.epoch.unless_hung(set.execute(&mut connection.raw)).await??;
            connection.lock_timeout = Some(lock_timeout);
            Ok(())
        };
        match set.await {
            Ok(()) => Ok(self),
            Err(error) if Unavailable::of(&error) == Some(Unavailable::Hung) => Err(error),
            Err(error) => self.done(Err(error)),
        }
    }

    /// Returns the connection and its epoch.
    ///
    /// The epoch ends the wait for a statement if the connection hangs.
    pub fn connection(&mut self) -> Result<(&mut PgConnection, &Epoch), sqlx::Error> {
        let (connection, _) = self.borrowed.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        Ok((&mut connection.raw, &connection.epoch))
    }

    /// Returns the connection for a transaction. An abandoned transaction closes it, because its `begin` may still arrive.
    pub fn transaction(&mut self) -> Result<(&mut PgConnection, &Epoch), sqlx::Error> {
        self.in_transaction = true;
        self.connection()
    }

    /// Gives back the connection if nothing was sent.
    pub fn unused(mut self) {
        if let Some((connection, _permit)) = self.borrowed.take() {
            self.pool.take_back(connection);
        }
    }

    /// Reports how a statement ended, and gives back the connection.
    pub fn done<T>(mut self, result: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        let Some((mut connection, _permit)) = self.borrowed.take() else { return result };
        if result.is_err() {
            self.span.fail("the statement failed");
        }
        match &result {
            Err(error) if is_disconnected(error) && !is_of_other_node(error) => self.pool.lost(),
            // All open connections know the same objects, so the next statement needs a new connection.
            Err(error) if is_stale(error) => {
                connection.epoch.record_response();
                self.pool.lost();
            }
            // The rest of the response was not read.
            Err(_) if self.in_transaction => {}
            _ => {
                connection.epoch.record_response();
                connection.worked = Instant::now();
                self.pool.take_back(connection);
            }
        }
        result
    }
}

impl Drop for BorrowedConnection {
    fn drop(&mut self) {
        let Some((mut connection, permit)) = self.borrowed.take() else { return };
        // A connection that hangs would not respond to a cancellation.
        if connection.epoch.hung.is_cancelled() || self.pool.shares_sessions() {
            return;
        }
        let (pool, in_transaction) = (Arc::clone(&self.pool), self.in_transaction);
        // Without a runtime, the program ends and closes the connection.
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            let is_ready = pool.reserve.end_statement(&mut connection.raw, connection.backend).await;
            if is_ready && !in_transaction {
                connection.worked = Instant::now();
                pool.take_back(connection);
            }
            drop(permit);
        });
    }
}

/// Returns the rows of a statement of the service itself.
pub(super) async fn fetch_all<T: for<'r> FromRow<'r, PgRow> + Send + Unpin>(
    pool: &Arc<Pool>,
    query: QueryAs<'_, Postgres, T, PgArguments>,
) -> Result<Vec<T>, sqlx::Error> {
    let mut borrowed = BorrowedConnection::of(pool, LOCK_TIMEOUT).await?;
    let (connection, epoch) = borrowed.connection()?;
    let result = epoch.unless_hung(query.fetch_all(connection)).await?;
    borrowed.done(result)
}
