//! Borrowed connections, and their return after each way a statement can end.

use std::{sync::Arc, time::Duration};

use sqlx::{
    Connection as _, FromRow, PgConnection, Postgres,
    postgres::{PgArguments, PgRow},
    query::QueryAs,
};
use telemetry::trace::Span;
use tokio::{
    runtime::Handle,
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout, timeout_at},
};

use super::{
    pool::{Connection, Epoch, Pool},
    replay::{Position, wait_for_replay},
};
use crate::{
    error::{Unavailable, is_disconnected, is_of_other_node, is_stale},
    limits::LOCK_TIMEOUT,
    statement::{self, ConnectionWait, milliseconds},
};

/// Timeout of the clean-up of an abandoned connection, which is closed then.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(2);
/// Delay before a statement is cancelled again. A cancellation that arrives before the statement has no effect.
const CANCEL_INTERVAL: Duration = Duration::from_millis(100);

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
    /// Borrows a connection with this lock timeout, to a server that has replayed the `required` position.
    ///
    /// Waits a bounded time for a free connection, and not at all while the server does not respond.
    pub(super) async fn of(
        pool: &Arc<Pool>,
        lock_timeout: &'static str,
        required: Option<Position>,
    ) -> Result<Self, sqlx::Error> {
        let wait = ConnectionWait::start();
        if !pool.responds() {
            return Err(Unavailable::Down.into());
        }
        let permits = Arc::clone(&pool.permits);
        let permit = match Arc::clone(&permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => pool.wait(async { permits.acquire_owned().await.map_err(|_| sqlx::Error::PoolClosed) }).await?,
        };
        if pool.is_closed() {
            return Err(sqlx::Error::PoolClosed);
        }
        let idle = pool.take_idle(lock_timeout);
        let connection = match idle {
            Some(idle) => idle,
            // Boxed, because it is rare and would enlarge the future of every statement.
            None => Box::pin(pool.wait(pool.open())).await?,
        };
        let waits_as_long = pool.waits_as_long(&connection, lock_timeout);
        let mut borrowed = Self::new(Arc::clone(pool), connection, permit, &wait);
        drop(wait);
        if !waits_as_long && let Err(error) = Box::pin(borrowed.set_lock_timeout(lock_timeout)).await {
            return borrowed.done(Err(error));
        }
        if let Some(required) = required
            && let Err(error) = Box::pin(borrowed.wait_for_replay(required)).await
        {
            return Err(borrowed.refused(error));
        }
        Ok(borrowed)
    }

    fn new(pool: Arc<Pool>, connection: Connection, permit: OwnedSemaphorePermit, wait: &ConnectionWait) -> Self {
        let span = Span::of_statement("statement");
        span.set("db.query.summary", statement::name());
        span.set("compliance.connection_wait_ms", milliseconds(wait.elapsed()));
        statement::begin_attempt();
        Self { pool, borrowed: Some((connection, permit)), in_transaction: false, span }
    }

    /// Returns the connection and its epoch.
    ///
    /// The epoch ends the wait for a statement if the connection hangs.
    pub fn connection(&mut self) -> Result<(&mut PgConnection, &Epoch), sqlx::Error> {
        let (connection, _) = self.borrowed.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        Ok((&mut connection.raw, &connection.epoch))
    }

    async fn set_lock_timeout(&mut self, lock_timeout: &'static str) -> Result<(), sqlx::Error> {
        let (connection, _) = self.borrowed.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        connection.lock_timeout = None;
        let set = sqlx::query("select set_config('lock_timeout', $1, false)").bind(lock_timeout);
        connection.epoch.unless_hung(set.execute(&mut connection.raw)).await??;
        connection.lock_timeout = Some(lock_timeout);
        Ok(())
    }

    /// Waits until the replica has replayed the required position.
    ///
    /// Each connection remembers the position of its server. A server that restarts can fall behind, but has closed its connections.
    async fn wait_for_replay(&mut self, required: Position) -> Result<(), sqlx::Error> {
        let (connection, _) = self.borrowed.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        let Some(max_lag) = self.pool.current.max_lag else { return Ok(()) };
        let waiting = wait_for_replay(&mut connection.raw, &mut connection.replayed, required, max_lag);
        connection.epoch.unless_hung(waiting).await?
    }

    /// Gives back the connection to a replica that cannot serve a read. A connection that hangs is abandoned.
    fn refused(self, error: sqlx::Error) -> sqlx::Error {
        match Unavailable::of(&error) {
            Some(Unavailable::Hung) => error,
            Some(_) => {
                self.unused();
                error
            }
            None => self.done::<()>(Err(error)).err().unwrap_or(sqlx::Error::PoolClosed),
        }
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
    ///
    /// If the connection was lost, idle connections are closed as well, because the server has probably closed them all.
    pub fn done<T>(mut self, result: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        let Some((mut connection, _permit)) = self.borrowed.take() else { return result };
        if result.is_err() {
            self.span.fail("the statement failed");
        }
        match &result {
            Err(error) if is_disconnected(error) && !is_of_other_node(error) => {
                self.pool.drop_idle();
                self.pool.check_soon.notify_one();
            }
            // All open connections know the same objects, so the next statement needs a new connection.
            Err(error) if is_stale(error) => {
                connection.epoch.record_response();
                self.pool.drop_idle();
                self.pool.check_soon.notify_one();
            }
            // The rest of the response was not read.
            Err(_) if self.in_transaction => {}
            _ => {
                connection.epoch.record_response();
                connection.worked = std::time::Instant::now();
                self.pool.take_back(connection);
            }
        }
        result
    }
}

/// Returns the first row of a statement of the service itself.
pub(super) async fn fetch_one<T: for<'r> FromRow<'r, PgRow> + Send + Unpin>(
    pool: &Arc<Pool>,
    query: QueryAs<'_, Postgres, T, PgArguments>,
) -> Result<T, sqlx::Error> {
    fetch_all(pool, query).await?.pop().ok_or(sqlx::Error::RowNotFound)
}

/// Returns the rows of a statement of the service itself.
pub(super) async fn fetch_all<T: for<'r> FromRow<'r, PgRow> + Send + Unpin>(
    pool: &Arc<Pool>,
    query: QueryAs<'_, Postgres, T, PgArguments>,
) -> Result<Vec<T>, sqlx::Error> {
    let mut borrowed = BorrowedConnection::of(pool, LOCK_TIMEOUT, None).await?;
    let (connection, epoch) = borrowed.connection()?;
    let result = epoch.unless_hung(query.fetch_all(connection)).await?;
    borrowed.done(result)
}

impl Drop for BorrowedConnection {
    fn drop(&mut self) {
        let Some((connection, permit)) = self.borrowed.take() else { return };
        // A connection that hangs would not respond to a cancellation.
        if connection.epoch.hung.is_cancelled() || self.pool.shares_sessions() {
            return;
        }
        // Without a runtime, the program ends and closes the connection.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(clean_up(Arc::clone(&self.pool), connection, permit, self.in_transaction));
        }
    }
}

/// Cancels an abandoned statement, and gives back its connection once it is ready.
async fn clean_up(pool: Arc<Pool>, mut connection: Connection, _permit: OwnedSemaphorePermit, in_transaction: bool) {
    // The statement was sent in part, and the server waits for the rest.
    if connection.raw.should_flush() {
        return;
    }
    let deadline = Instant::now() + CLEANUP_TIMEOUT;
    let settled = timeout_at(deadline, async {
        loop {
            // The wait follows the cancellation, so that no cancellation can reach the next statement.
            if let Err(error) = pool.reserve.cancel(connection.backend).await {
                tracing::debug!("an abandoned statement could not be cancelled: {error}");
            }
            if let Ok(settled) = timeout(CANCEL_INTERVAL, connection.settle()).await {
                return settled.is_ok();
            }
        }
    });
    if settled.await.unwrap_or(false) && !in_transaction {
        connection.worked = std::time::Instant::now();
        pool.take_back(connection);
    }
}
