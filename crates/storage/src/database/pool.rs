//! The connections to one server. Each is borrowed for one statement at a time.
//!
//! A connection whose statement has ended is borrowed again without a check, which would be a round trip for every statement. The probe
//! detects a server that hangs, another host or another password, and replaces all connections together.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use sqlx::{PgConnection, PgPool};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{current::Current, open::Database, reserve::Reserve, session::Sessions};
use crate::{
    error::Unavailable,
    limits::{ACQUIRE_TIMEOUT, LOCK_TIMEOUT},
    table::Inputs,
};

/// Connections that no statement borrows: the reserved one, and one for questions about the schema.
const NOT_BORROWED: usize = 2;
/// Age at which a connection is replaced. No connection keeps its memory, or the server that a name resolved to, forever.
const CONNECTION_LIFETIME: Duration = Duration::from_mins(30);
/// Connections that were idle for longer are checked before a statement needs them.
const CONNECTION_UNCHECKED: Duration = Duration::from_secs(2);

/// The connections to one server.
#[derive(Debug)]
pub(super) struct Pool {
    /// Options and limit of connections. This pool opens none once the service runs.
    pub(super) options: PgPool,
    pub(super) current: Arc<Current>,
    pub(super) permits: Arc<Semaphore>,
    limit: usize,
    /// Idle connections, in the order of their last use.
    idle: Mutex<Vec<Connection>>,
    pub(super) reserve: Reserve,
    /// Whether the server responds. The probe sets it, and every statement reads it.
    pub(super) responds: watch::Sender<bool>,
    /// Epoch of new connections.
    epoch: watch::Sender<Arc<Epoch>>,
    /// Makes the probe check the server soon, because a connection was lost.
    pub(super) check_soon: Notify,
    pub(super) inputs: Arc<Inputs>,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) raw: PgConnection,
    /// Process ID of the server. Without meaning in shared sessions.
    pub(super) backend: i32,
    pub(super) epoch: Arc<Epoch>,
    opened: Instant,
    /// When it last worked.
    pub(super) worked: Instant,
    /// Lock timeout of its session, if known.
    pub(super) lock_timeout: Option<&'static str>,
}

impl Pool {
    /// Creates the pool of a server, with the limit of its sqlx pool.
    pub(super) fn new(server: &Database, inputs: Arc<Inputs>, responds: bool) -> Arc<Self> {
        let current = Arc::new(Current::new(server));
        let limit = (server.pool.options().get_max_connections() as usize).saturating_sub(NOT_BORROWED).max(1);
        Arc::new(Self {
            options: server.pool.clone(),
            permits: Arc::new(Semaphore::new(limit)),
            limit,
            idle: Mutex::default(),
            reserve: Reserve::new(Arc::clone(&current)),
            responds: watch::Sender::new(responds),
            epoch: watch::Sender::default(),
            check_soon: Notify::new(),
            current,
            inputs,
        })
    }

    /// Maximum number of connections.
    pub(super) fn most(&self) -> u32 {
        self.options.options().get_max_connections()
    }

    pub(super) fn responds(&self) -> bool {
        *self.responds.borrow()
    }

    pub(super) fn in_use(&self) -> usize {
        self.limit.saturating_sub(self.permits.available_permits())
    }

    pub(super) fn idle_count(&self) -> usize {
        self.idle.lock().len()
    }

    pub(super) fn shares_sessions(&self) -> bool {
        self.current.sessions == Sessions::Shared
    }

    /// Returns whether a connection has this lock timeout. In shared sessions, all have the same.
    pub(super) fn waits_as_long(&self, connection: &Connection, lock_timeout: &'static str) -> bool {
        self.shares_sessions() || connection.lock_timeout == Some(lock_timeout)
    }

    /// Takes the connection with this lock timeout that was used last.
    ///
    /// Another one costs a round trip, so it is taken only if no more connections may be opened.
    pub(super) fn take_idle(&self, lock_timeout: &'static str) -> Option<Connection> {
        let mut idle = self.idle.lock();
        let fitting = idle.iter().rposition(|connection| self.waits_as_long(connection, lock_timeout));
        let last = idle.len().checked_sub(1).filter(|last| last + 1 + self.in_use() > self.limit);
        fitting.or(last).map(|index| idle.remove(index))
    }

    /// Takes the connection that was idle for the longest time, if it needs a check. The permit keeps it within the limit.
    pub(super) fn oldest_idle(&self) -> Option<(Connection, OwnedSemaphorePermit)> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        let mut idle = self.idle.lock();
        let (index, oldest) = idle.iter().enumerate().min_by_key(|(_, connection)| connection.worked)?;
        (oldest.worked.elapsed() >= CONNECTION_UNCHECKED).then(|| (idle.remove(index), permit))
    }

    /// Waits a bounded time. Fails as soon as the server does not respond.
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

    /// Opens a connection with [`LOCK_TIMEOUT`].
    pub(super) async fn open(&self) -> Result<Connection, sqlx::Error> {
        let epoch = self.epoch();
        let opened = self.current.open().await.inspect_err(|_| self.check_soon.notify_one());
        let ((raw, backend), now) = (opened?, Instant::now());
        Ok(Connection { raw, backend, epoch, opened: now, worked: now, lock_timeout: Some(LOCK_TIMEOUT) })
    }

    pub(super) fn epoch(&self) -> Arc<Epoch> {
        Arc::clone(&self.epoch.borrow())
    }

    pub(super) fn is_current(&self, epoch: &Arc<Epoch>) -> bool {
        Arc::ptr_eq(epoch, &self.epoch.borrow())
    }

    /// Begins a new epoch and closes all idle connections. Returns the previous epoch.
    pub(super) fn suspect(&self) -> Arc<Epoch> {
        let suspected = self.epoch.send_replace(Arc::default());
        self.drop_idle();
        suspected
    }

    pub(super) fn drop_idle(&self) {
        let dropped = mem::take(&mut *self.idle.lock());
        drop(dropped);
    }

    /// Closes idle connections after one was lost, because the server has probably closed them all.
    pub(super) fn lost(&self) {
        self.drop_idle();
        self.check_soon.notify_one();
    }

    pub(super) fn take_back(&self, connection: Connection) {
        if !connection.is_old() && self.is_current(&connection.epoch) && !self.options.is_closed() {
            self.idle.lock().push(connection);
        }
    }
}

impl Connection {
    pub(super) fn is_old(&self) -> bool {
        self.opened.elapsed() > CONNECTION_LIFETIME
    }
}

/// Connections that were opened in the same period.
///
/// The period ends when they are suspected to hang.
#[derive(Debug, Default)]
pub struct Epoch {
    responses: AtomicU64,
    /// Cancelled when these connections are abandoned.
    pub(super) hung: CancellationToken,
}

impl Epoch {
    /// Counts a response of the server.
    pub(super) fn record_response(&self) {
        self.responses.fetch_add(1, Ordering::Relaxed);
    }

    /// Number of responses on these connections.
    pub(super) fn responses(&self) -> u64 {
        self.responses.load(Ordering::Relaxed)
    }

    /// Waits until a statement ends. Fails if the connection hangs.
    pub async fn unless_hung<F: Future>(&self, statement: F) -> Result<F::Output, sqlx::Error> {
        self.hung.run_until_cancelled(statement).await.ok_or_else(|| Unavailable::Hung.into())
    }
}
