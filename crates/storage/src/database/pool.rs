//! The connections to one server. Each is borrowed for one statement at a time.
//!
//! A connection whose statement has ended is borrowed again without a check, which would be a round trip for every statement. The probe
//! detects a server that hangs, another host or another password, and replaces all connections together.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use sqlx::{Connection as _, PgConnection, PgPool, Row as _, postgres::PgConnectOptions};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{current::Current, open::Database, pooler::Sessions, replay::Position, reserve::Reserve};
use crate::{
    error::{Unavailable, is_disconnected, is_missing_object},
    limits::{ACQUIRE_TIMEOUT, LOCK_TIMEOUT},
    table::Inputs,
};

/// Connections that no statement borrows: the reserved one, and one for questions about the schema.
const NOT_BORROWED: usize = 2;
/// Age at which a connection is replaced. No connection keeps its memory, or the server that a name resolved to, forever.
const CONNECTION_LIFETIME: Duration = Duration::from_mins(30);
/// Errors of abandoned statements that a connection may report before it is ready, one for each statement.
const LATE_ERRORS: usize = 16;
/// Connections that were idle for longer are checked before a statement needs them.
const CONNECTION_UNCHECKED: Duration = Duration::from_secs(2);

/// The connections to one server.
#[derive(Debug)]
pub(super) struct Pool {
    /// Options and limit of connections. This pool opens none once the service runs.
    options: PgPool,
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

impl Pool {
    /// Creates the pool of a server, with the limit of its sqlx pool. A replica has a `max_lag`.
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

    pub(super) fn is_closed(&self) -> bool {
        self.options.is_closed()
    }

    pub(super) fn responds(&self) -> bool {
        *self.responds.borrow()
    }

    /// Options of new connections. They change with the host and the password.
    pub(super) fn options(&self) -> Arc<PgConnectOptions> {
        self.options.connect_options()
    }

    pub(super) fn in_use(&self) -> usize {
        self.limit.saturating_sub(self.permits.available_permits())
    }

    pub(super) fn idle_count(&self) -> usize {
        self.idle.lock().len()
    }

    /// Returns whether a connection has this lock timeout. In shared sessions, all have the same.
    pub(super) fn waits_as_long(&self, connection: &Connection, lock_timeout: &'static str) -> bool {
        self.shares_sessions() || connection.lock_timeout == Some(lock_timeout)
    }

    pub(super) fn shares_sessions(&self) -> bool {
        self.current.sessions == Sessions::Shared
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

    pub(super) async fn open(&self) -> Result<Connection, sqlx::Error> {
        let opened = Connection::open(&self.current, self.epoch()).await;
        opened.inspect_err(|_| self.check_soon.notify_one())
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
        let dropped = std::mem::take(&mut *self.idle.lock());
        drop(dropped);
    }

    pub(super) fn take_back(&self, connection: Connection) {
        if !connection.is_old() && self.is_current(&connection.epoch) && !self.is_closed() {
            self.idle.lock().push(connection);
        }
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

/// Process ID of the server, and whether it takes writes.
const OPENED: &str = "select pg_backend_pid(),
    not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean";
/// The same, and whether it is the database that was last served.
const OPENED_PRIMARY: &str = "select pg_backend_pid(),
    not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean,
    is_database_known()";

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) raw: PgConnection,
    /// Process ID of the server. Without meaning in shared sessions.
    pub(super) backend: i32,
    pub(super) epoch: Arc<Epoch>,
    /// When it last worked.
    pub(super) worked: Instant,
    /// Lock timeout of its session, if known.
    pub(super) lock_timeout: Option<&'static str>,
    /// Position of the replica when this connection last asked.
    pub(super) replayed: Option<Position>,
    opened: Instant,
}

impl Connection {
    /// Opens a connection with [`LOCK_TIMEOUT`]. Fails if the server takes no writes, unless it is a replica.
    pub(super) async fn open(current: &Current, epoch: Arc<Epoch>) -> Result<Self, sqlx::Error> {
        let mut raw = current.connect().await?;
        let is_checked = current.notices_restores();
        let opened = sqlx::raw_sql(if is_checked { OPENED_PRIMARY } else { OPENED }).fetch_one(&mut raw).await;
        let found =
            opened.map_err(|error| if is_missing_object(&error) { Unavailable::Restored.into() } else { error })?;
        let backend = found.try_get(0)?;
        if !current.is_replica() && !found.try_get::<bool, _>(1)? {
            return Err(Unavailable::ReadOnly.into());
        }
        if is_checked && !found.try_get::<bool, _>(2)? {
            return Err(Unavailable::Restored.into());
        }
        let now = Instant::now();
        let lock_timeout = Some(LOCK_TIMEOUT);
        Ok(Self { raw, backend, epoch, worked: now, lock_timeout, replayed: None, opened: now })
    }

    pub(super) fn is_old(&self) -> bool {
        self.opened.elapsed() > CONNECTION_LIFETIME
    }

    /// Reads the rest of abandoned statements, until the server is ready for the next statement.
    pub(super) async fn settle(&mut self) -> Result<(), sqlx::Error> {
        for _ in 0..LATE_ERRORS {
            match self.raw.ping().await {
                // The error of an abandoned statement.
                Err(error @ sqlx::Error::Database(_)) if !is_disconnected(&error) => {}
                settled => return settled,
            }
        }
        Err(sqlx::Error::Protocol("too many statements were abandoned".to_owned()))
    }
}
