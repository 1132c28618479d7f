//! The connections to one server. Each is borrowed for one statement at a time.
//!
//! A connection whose statement came to its end is borrowed again without a question to the server, which would be a round trip for
//! every statement. A server that hangs, another host and another password are noticed by the probe, which replaces all connections at
//! once.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use sqlx::{PgPool, postgres::PgConnectOptions};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, watch},
    time::timeout,
};

use super::{
    connection::{Connection, Generation},
    current::Current,
    open::Database,
    pooler::Sessions,
    reserve::Reserve,
};
use crate::{
    error::Unavailable,
    limits::{ACQUIRE_TIMEOUT, CONNECTION_UNCHECKED, NOT_BORROWED},
    table::Inputs,
};

/// The connections to one server.
#[derive(Debug)]
pub(super) struct Pool {
    /// Says how connections are opened, and how many. It opens none itself once the service runs.
    options: PgPool,
    pub(super) current: Arc<Current>,
    pub(super) permits: Arc<Semaphore>,
    limit: usize,
    /// Connections that are not in use, the last used last.
    idle: Mutex<Vec<Connection>>,
    pub(super) reserve: Reserve,
    /// Whether the database responds. The probe writes it; every statement reads it.
    pub(super) responds: watch::Sender<bool>,
    /// Of connections that are opened now.
    generation: watch::Sender<Arc<Generation>>,
    /// Makes the probe check the database now, because a connection was lost.
    pub(super) check_soon: Notify,
    pub(super) inputs: Arc<Inputs>,
}

impl Pool {
    /// Returns the connections to a server, with the limit of its pool. The pool itself uses at most one connection at a time. A replica
    /// has a `max_lag`.
    pub(super) fn new(server: &Database, inputs: Arc<Inputs>, max_lag: Option<Duration>, responds: bool) -> Arc<Self> {
        let current = Arc::new(Current::new(server, max_lag));
        let limit = (server.pool.options().get_max_connections() as usize).saturating_sub(NOT_BORROWED).max(1);
        Arc::new(Self {
            options: server.pool.clone(),
            permits: Arc::new(Semaphore::new(limit)),
            limit,
            idle: Mutex::default(),
            reserve: Reserve::new(Arc::clone(&current)),
            responds: watch::Sender::new(responds),
            generation: watch::Sender::default(),
            check_soon: Notify::new(),
            current,
            inputs,
        })
    }

    /// How many connections there may be.
    pub(super) fn most(&self) -> u32 {
        self.options.options().get_max_connections()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.options.is_closed()
    }

    pub(super) fn responds(&self) -> bool {
        *self.responds.borrow()
    }

    /// Of new connections. They are others once another host or password is used.
    pub(super) fn options(&self) -> Arc<PgConnectOptions> {
        self.options.connect_options()
    }

    pub(super) fn in_use(&self) -> usize {
        self.limit.saturating_sub(self.permits.available_permits())
    }

    pub(super) fn idle_count(&self) -> usize {
        self.idle.lock().len()
    }

    /// Whether the statements of a connection wait for locks this long. In sessions that are shared, all wait as long.
    pub(super) fn waits_as_long(&self, connection: &Connection, lock_timeout: &'static str) -> bool {
        self.shares_sessions() || connection.lock_timeout == Some(lock_timeout)
    }

    pub(super) fn shares_sessions(&self) -> bool {
        self.current.sessions == Sessions::Shared
    }

    /// Takes out the connection that was used last, of those whose statements wait for locks this long. Any other is only
    /// taken if no more may be opened: it costs a round trip each time.
    pub(super) fn take_idle(&self, lock_timeout: &'static str) -> Option<Connection> {
        let mut idle = self.idle.lock();
        let fitting = idle.iter().rposition(|connection| self.waits_as_long(connection, lock_timeout));
        let last = idle.len().checked_sub(1).filter(|last| last + 1 + self.in_use() > self.limit);
        fitting.or(last).map(|index| idle.remove(index))
    }

    /// Takes the connection that was idle for the longest time, if it needs a check. The permit keeps the number of
    /// connections within its limit.
    pub(super) fn oldest_idle(&self) -> Option<(Connection, OwnedSemaphorePermit)> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        let mut idle = self.idle.lock();
        let (index, oldest) = idle.iter().enumerate().min_by_key(|(_, connection)| connection.worked)?;
        (oldest.worked.elapsed() >= CONNECTION_UNCHECKED).then(|| (idle.remove(index), permit))
    }

    /// Waits a bounded time. Fails as soon as the database is known not to respond.
    pub(super) async fn wait<T>(
        &self,
        waiting: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        let mut responds = self.responds.subscribe();
        tokio::select! {
            biased;
            result = timeout(ACQUIRE_TIMEOUT, waiting) => result.unwrap_or(Err(sqlx::Error::PoolTimedOut)),
            _ = responds.wait_for(|responds| !responds) => Err(Unavailable::Down.into()),
        }
    }

    pub(super) async fn open(&self) -> Result<Connection, sqlx::Error> {
        let opened = Connection::open(&self.current, self.generation()).await;
        opened.inspect_err(|_| self.check_soon.notify_one())
    }

    pub(super) fn generation(&self) -> Arc<Generation> {
        Arc::clone(&self.generation.borrow())
    }

    pub(super) fn is_current(&self, generation: &Arc<Generation>) -> bool {
        Arc::ptr_eq(generation, &self.generation.borrow())
    }

    /// Suspects all connections that are open now, and closes all idle ones. Returns their generation.
    pub(super) fn suspect(&self) -> Arc<Generation> {
        let suspected = self.generation.send_replace(Arc::default());
        self.drop_idle();
        suspected
    }

    pub(super) fn drop_idle(&self) {
        let dropped = std::mem::take(&mut *self.idle.lock());
        drop(dropped);
    }

    pub(super) fn take_back(&self, connection: Connection) {
        if !connection.is_old() && self.is_current(&connection.generation) && !self.is_closed() {
            self.idle.lock().push(connection);
        }
    }
}
