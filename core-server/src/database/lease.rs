//! A connection that is lent, and what happens when it is let go.

use std::{sync::Arc, time::Duration};

use sqlx::PgConnection;
use telemetry::trace::Span;
use tokio::{
    runtime::Handle,
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout, timeout_at},
};

use super::{
    availability::{Generation, Unavailable},
    connection::Connection,
    connections::Inner,
};
use crate::error::is_disconnected;

/// How long the clean-up of an abandoned connection may take. Afterwards it is closed.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait before a statement is cancelled again: a cancellation that arrives before the statement has no effect.
const CANCEL_INTERVAL: Duration = Duration::from_millis(100);

/// A connection that is lent for one statement or transaction.
///
/// It is lent again only if the borrower reports the result ([`done`](Self::done)). If it is dropped before, its caller went
/// away: the server is asked to cancel the statement, and the connection is lent again once it has reported that it is ready,
/// or closed if it does not do so in time. Until then it counts as lent, so that the number of connections stays bounded.
pub(crate) struct Lease {
    lender: Arc<Inner>,
    lent: Option<(Connection, OwnedSemaphorePermit)>,
    /// Of the connection.
    generation: Generation,
    in_transaction: bool,
    /// Of the statement or transaction.
    span: Span,
}

impl Lease {
    pub(super) fn new(lender: Arc<Inner>, connection: Connection, permit: OwnedSemaphorePermit) -> Self {
        let generation = connection.generation.clone();
        let span = Span::of_statement("statement");
        Self { lender, lent: Some((connection, permit)), generation, in_transaction: false, span }
    }

    /// The connection, for one statement.
    pub(crate) fn connection(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        self.lent.as_mut().map(|(connection, _)| &mut connection.raw).ok_or(sqlx::Error::PoolClosed)
    }

    /// Whether the connection's statements wait this long for each lock.
    pub(super) fn has_lock_timeout(&self, lock_timeout: &'static str) -> bool {
        self.lent.as_ref().is_some_and(|(connection, _)| connection.lock_timeout == Some(lock_timeout))
    }

    /// Lets the connection's statements wait this long for each lock.
    pub(super) async fn set_lock_timeout(&mut self, lock_timeout: &'static str) -> Result<(), sqlx::Error> {
        let given_up = self.given_up();
        let (connection, _) = self.lent.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        connection.lock_timeout = None;
        let set = sqlx::query("select set_config('lock_timeout', $1, false)").bind(lock_timeout);
        tokio::select! {
            biased;
            set = set.execute(&mut connection.raw) => set?,
            () = given_up => return Err(Unavailable::Hung.into()),
        };
        connection.lock_timeout = Some(lock_timeout);
        Ok(())
    }

    /// The connection, for a transaction. If the lease is abandoned, the connection is closed: a transaction whose `begin` was
    /// abandoned could still be open.
    pub(crate) fn transaction(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        self.in_transaction = true;
        self.connection()
    }

    /// Reports that the server has ended the transaction, and that its whole answer was read. The connection can be lent again.
    pub(super) fn transaction_ended(&mut self) {
        self.in_transaction = false;
    }

    /// Waits until the connection is given up because it hangs.
    pub(crate) fn given_up(&self) -> impl Future<Output = ()> + Send + use<> {
        let generation = self.generation.clone();
        async move { generation.given_up().await }
    }

    /// Returns the connection without having sent anything, which says nothing about the server.
    pub(crate) fn unused(mut self) {
        if let Some((connection, _permit)) = self.lent.take() {
            self.lender.take_back(connection);
        }
    }

    /// Reports how a statement ended. A connection that was lost takes those with it that were not in use: a server that
    /// went away has closed them all.
    pub(crate) fn done<T>(mut self, result: &Result<T, sqlx::Error>) {
        let Some((mut connection, _permit)) = self.lent.take() else { return };
        if result.is_err() {
            self.span.fail("the statement failed");
        }
        match result {
            Err(error) if is_disconnected(error) => {
                self.lender.drop_idle();
                self.lender.availability.check_soon();
            }
            // The rest of the answer was not read.
            Err(_) if self.in_transaction => {}
            _ => {
                connection.generation.answered();
                connection.used();
                self.lender.take_back(connection);
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some((connection, permit)) = self.lent.take() else { return };
        // A connection that hangs does not answer any better now.
        if self.generation.is_given_up() {
            return;
        }
        // Without a runtime the service has ended, and the connection ends with it.
        if let Ok(runtime) = Handle::try_current() {
            let lender = Arc::clone(&self.lender);
            runtime.spawn(clean_up(lender, connection, permit, self.in_transaction));
        }
    }
}

/// Ends an abandoned statement, and lends its connection again if it is known to be clean.
async fn clean_up(lender: Arc<Inner>, mut connection: Connection, _permit: OwnedSemaphorePermit, in_transaction: bool) {
    if connection.is_half_sent() {
        return;
    }
    let deadline = Instant::now() + CLEANUP_TIMEOUT;
    let settled = timeout_at(deadline, async {
        loop {
            // It comes before the wait: a cancellation that is sent while the connection is ready has no effect on the next
            // statement.
            if let Err(error) = lender.reserve.cancel(connection.backend).await {
                tracing::debug!("an abandoned statement could not be cancelled: {error}");
            }
            if let Ok(settled) = timeout(CANCEL_INTERVAL, connection.settle()).await {
                return settled.is_ok();
            }
        }
    });
    if settled.await.unwrap_or(false) && !in_transaction {
        connection.used();
        lender.take_back(connection);
    }
}
