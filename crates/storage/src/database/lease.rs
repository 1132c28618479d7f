//! A connection that is borrowed, and what happens when it is let go.

use std::sync::Arc;

use sqlx::{Connection as _, PgConnection};
use telemetry::trace::Span;
use tokio::{
    runtime::Handle,
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout, timeout_at},
};

use super::{
    connection::{Connection, Generation, Unavailable},
    connections::SharedConnections,
    replicas::Position,
};
use crate::{
    error::{is_disconnected, is_of_other_node, is_stale},
    limits::{CANCEL_INTERVAL, CLEANUP_TIMEOUT},
    statement::{self, ConnectionWait, milliseconds},
};

/// A connection that is borrowed for one statement or transaction.
///
/// It is borrowed again only if the borrower reports the result ([`done`](Self::done)). If it is dropped before, its caller went
/// away: the server is asked to cancel the statement, and the connection is borrowed again once it has reported that it is ready,
/// or closed if it does not do so in time. Until then it counts as in use, so that the number of connections stays bounded.
/// A connection whose session is shared is closed at once: its process may serve another caller by the time it is cancelled.
pub struct Lease {
    connections: Arc<SharedConnections>,
    borrowed: Option<(Connection, OwnedSemaphorePermit)>,
    pub(super) in_transaction: bool,
    span: Span,
}

impl Lease {
    pub(super) fn new(
        connections: Arc<SharedConnections>,
        connection: Connection,
        permit: OwnedSemaphorePermit,
        wait: &ConnectionWait,
    ) -> Self {
        let span = Span::of_statement("statement");
        span.set("db.query.summary", statement::name());
        span.set("compliance.connection_wait_ms", milliseconds(wait.elapsed()));
        statement::begin_attempt();
        Self { connections, borrowed: Some((connection, permit)), in_transaction: false, span }
    }

    /// The connection, for one statement, and what ends the wait for it if the connection hangs.
    pub fn connection(&mut self) -> Result<(&mut PgConnection, &Generation), sqlx::Error> {
        let (connection, _) = self.borrowed.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        Ok((&mut connection.raw, &connection.generation))
    }

    pub(super) async fn set_lock_timeout(&mut self, lock_timeout: &'static str) -> Result<(), sqlx::Error> {
        let (connection, _) = self.borrowed.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        connection.lock_timeout = None;
        let set = sqlx::query("select set_config('lock_timeout', $1, false)").bind(lock_timeout);
        connection.generation.unless_hung(set.execute(&mut connection.raw)).await??;
        connection.lock_timeout = Some(lock_timeout);
        Ok(())
    }

    /// Waits until the replica has replayed what is required. What it had replayed is known for this connection alone: a server
    /// that was restarted begins behind that, and has closed its connections.
    pub(super) async fn wait_for_replay(&mut self, required: Position) -> Result<(), sqlx::Error> {
        let (connection, _) = self.borrowed.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        let Some(follower) = &self.connections.current.follower else { return Ok(()) };
        let waiting = follower.wait_for_replay(&mut connection.raw, &mut connection.replayed, required);
        connection.generation.unless_hung(waiting).await?
    }

    /// Returns the connection to a replica that cannot serve a read. One that is silent is abandoned.
    pub(super) fn refused(self, error: sqlx::Error) -> sqlx::Error {
        match Unavailable::of(&error) {
            Some(Unavailable::Hung) => error,
            Some(_) => {
                self.unused();
                error
            }
            None => self.done::<()>(Err(error)).err().unwrap_or(sqlx::Error::PoolClosed),
        }
    }

    /// The connection, for a transaction. If the lease is abandoned, the connection is closed: a transaction whose `begin` was
    /// abandoned could still be open.
    pub fn transaction(&mut self) -> Result<(&mut PgConnection, &Generation), sqlx::Error> {
        self.in_transaction = true;
        self.connection()
    }

    /// Returns the connection without having sent anything, which says nothing about the server.
    pub fn unused(mut self) {
        if let Some((connection, _permit)) = self.borrowed.take() {
            self.connections.take_back(connection);
        }
    }

    /// Reports how a statement ended. A connection that was lost takes those with it that were not in use: a server that
    /// went away has closed them all.
    pub fn done<T>(mut self, result: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        let Some((mut connection, _permit)) = self.borrowed.take() else { return result };
        if result.is_err() {
            self.span.fail("the statement failed");
        }
        match &result {
            Err(error) if is_disconnected(error) && !is_of_other_node(error) => {
                self.connections.drop_idle();
                self.connections.check_soon.notify_one();
            }
            // All connections that are open know the same, so the next statement is sent on a new one.
            Err(error) if is_stale(error) => {
                connection.generation.record_response();
                self.connections.drop_idle();
                self.connections.check_soon.notify_one();
            }
            // The rest of the response was not read.
            Err(_) if self.in_transaction => {}
            _ => {
                connection.generation.record_response();
                connection.worked = std::time::Instant::now();
                self.connections.take_back(connection);
            }
        }
        result
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some((connection, permit)) = self.borrowed.take() else { return };
        // A connection that hangs does not respond any better now.
        if connection.generation.hung.is_cancelled() || self.connections.shares_sessions() {
            return;
        }
        // Without a runtime the service has ended, and the connection ends with it.
        if let Ok(runtime) = Handle::try_current() {
            let connections = Arc::clone(&self.connections);
            runtime.spawn(clean_up(connections, connection, permit, self.in_transaction));
        }
    }
}

/// Ends an abandoned statement, and returns its connection if it is known to be clean.
async fn clean_up(
    connections: Arc<SharedConnections>,
    mut connection: Connection,
    _permit: OwnedSemaphorePermit,
    in_transaction: bool,
) {
    // A part of the statement was not sent: the server would wait for the rest.
    if connection.raw.should_flush() {
        return;
    }
    let deadline = Instant::now() + CLEANUP_TIMEOUT;
    let settled = timeout_at(deadline, async {
        loop {
            // It comes before the wait: a cancellation that is sent while the connection is ready has no effect on the next
            // statement.
            if let Err(error) = connections.reserve.cancel(connection.backend).await {
                tracing::debug!("an abandoned statement could not be cancelled: {error}");
            }
            if let Ok(settled) = timeout(CANCEL_INTERVAL, connection.settle()).await {
                return settled.is_ok();
            }
        }
    });
    if settled.await.unwrap_or(false) && !in_transaction {
        connection.worked = std::time::Instant::now();
        connections.take_back(connection);
    }
}
