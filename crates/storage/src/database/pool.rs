//! The service's connection pool. Each statement or transaction borrows one connection.

use std::sync::Arc;

use deadpool::managed::{self, Object, PoolError, QueueMode};
use sqlx::PgConnection;
use telemetry::trace::Span;
use tokio::{
    sync::{Notify, watch},
    time::timeout,
};

use super::{manager::Manager, open::Database};
use crate::{
    error::{Unavailable, is_disconnected, is_of_other_node, is_stale},
    limits::ACQUIRE_TIMEOUT,
    statement_context::ConnectionWait,
    table::Inputs,
};

/// Connections that statements cannot borrow: one for the probe and one for schema queries.
const NOT_BORROWED: usize = 2;

/// Connections to the database.
#[derive(Debug)]
pub(super) struct Pool {
    connections: managed::Pool<Manager>,
    /// Whether the database responds. The probe sets this flag, and every statement reads it.
    pub(super) responds: watch::Sender<bool>,
    /// Tells the probe to check the database immediately, after a lost connection.
    pub(super) check_now: Notify,
    pub(super) inputs: Arc<Inputs>,
}

impl Pool {
    /// Creates a pool within the limit of the database's sqlx pool.
    pub(super) fn new(database: &Database, inputs: Inputs) -> Arc<Self> {
        let manager = Manager::new(database);
        let limit = (manager.most() as usize).saturating_sub(NOT_BORROWED).max(1);
        let connections = managed::Pool::builder(manager).max_size(limit).queue_mode(QueueMode::Lifo);
        #[allow(clippy::expect_used, reason = "only pool timeouts need a runtime")]
        let connections = connections.build().expect("the pool has no timeouts");
        let responds = watch::Sender::new(true);
        Arc::new(Self { connections, responds, check_now: Notify::new(), inputs: Arc::new(inputs) })
    }

    pub(super) fn manager(&self) -> &Manager {
        self.connections.manager()
    }

    pub(super) fn responds(&self) -> bool {
        *self.responds.borrow()
    }

    /// Returns the number of borrowed connections.
    pub(super) fn in_use(&self) -> usize {
        let status = self.connections.status();
        status.size - status.available
    }

    pub(super) fn idle_count(&self) -> usize {
        self.connections.status().available
    }

    /// Closes idle connections now, and borrowed ones after their statement.
    ///
    /// If one connection was lost, the server has probably closed them all.
    pub(super) fn replace_all(&self) {
        self.manager().begin_generation();
        drop(self.connections.retain(|_, _| false));
    }

    async fn get(&self) -> Result<Object<Manager>, sqlx::Error> {
        let mut responds = self.responds.subscribe();
        let connection = tokio::select! {
            biased;
            connection = timeout(ACQUIRE_TIMEOUT, self.connections.get()) => connection,
            _ = responds.wait_for(|responds| !responds) => return Err(Unavailable::Down.into()),
        };
        match connection {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(PoolError::Backend(error))) => {
                self.check_now.notify_one();
                Err(error)
            }
            Ok(Err(_)) => Err(sqlx::Error::PoolClosed),
            Err(_) => Err(sqlx::Error::PoolTimedOut),
        }
    }
}

/// A connection borrowed for one statement or transaction.
///
/// The borrower reports the result with [`done`](Self::done). If it drops the value without a report, the caller has disconnected. The connection
/// then closes, because it may still receive the statement's response. The server notices within a second and ends the statement.
pub struct BorrowedConnection {
    pool: Arc<Pool>,
    connection: Option<Object<Manager>>,
    pub(super) in_transaction: bool,
    span: Span,
}

impl BorrowedConnection {
    /// Borrows a connection.
    ///
    /// Waits for a bounded time, or fails immediately while the database does not respond.
    pub(super) async fn of(pool: &Arc<Pool>) -> Result<Self, sqlx::Error> {
        let wait = ConnectionWait::start();
        if !pool.responds() {
            return Err(Unavailable::Down.into());
        }
        if pool.manager().is_closed() {
            return Err(sqlx::Error::PoolClosed);
        }
        let connection = Some(pool.get().await?);
        Ok(Self { pool: Arc::clone(pool), connection, in_transaction: false, span: wait.end() })
    }

    /// Returns the connection, and the [`Outage`] that ends waits for its statements.
    pub fn connection(&mut self) -> Result<(&mut PgConnection, Outage), sqlx::Error> {
        let outage = Outage(self.pool.responds.subscribe());
        let connection = self.connection.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        Ok((&mut connection.raw, outage))
    }

    /// Returns the connection for a transaction. A failed transaction closes the connection, unless it was rolled back.
    pub fn transaction(&mut self) -> Result<(&mut PgConnection, Outage), sqlx::Error> {
        self.in_transaction = true;
        self.connection()
    }

    /// Returns an unused connection to the pool.
    pub fn unused(mut self) {
        drop(self.connection.take());
    }

    /// Reports a statement's result and returns the connection to the pool.
    pub fn done<T>(mut self, result: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        if result.is_err() {
            self.span.fail("the statement failed");
        }
        match &result {
            // All open connections refer to the same objects, so the next statement needs a new connection.
            Err(error) if is_disconnected(error) && !is_of_other_node(error) || is_stale(error) => {
                self.pool.replace_all();
                self.pool.check_now.notify_one();
            }
            // The rest of the response is still unread.
            Err(_) if self.in_transaction => {}
            _ => drop(self.connection.take()),
        }
        result
    }
}

impl Drop for BorrowedConnection {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(Object::take(connection));
        }
    }
}

/// Ends waits for statements when the database stops responding.
#[derive(Debug)]
pub struct Outage(watch::Receiver<bool>);

impl Outage {
    /// Waits until a statement ends. Fails if the database stops responding.
    pub async fn or_end<F: Future>(mut self, statement: F) -> Result<F::Output, sqlx::Error> {
        tokio::select! {
            biased;
            ended = statement => Ok(ended),
            _ = self.0.wait_for(|responds| !responds) => Err(Unavailable::Hung.into()),
        }
    }
}
