//! The connections to one server. Each is borrowed for one statement at a time.
//!
//! A connection whose statement came to its end is borrowed again without a question to the server, which would be a round trip for
//! every statement. A server that hangs, another host and another password are noticed by the probe, which replaces all connections at
//! once.

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
/// Age at which a connection is replaced. None keeps its memory, or the server that a name resolved to, for ever.
const CONNECTION_LIFETIME: Duration = Duration::from_mins(30);
/// Errors of abandoned statements that a connection may report before it is ready, one for each statement.
const LATE_ERRORS: usize = 16;
/// Connections that were idle for longer are checked before a statement needs them.
const CONNECTION_UNCHECKED: Duration = Duration::from_secs(2);

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

/// Connections that were opened in the same period. A period ends when they are suspected to hang.
#[derive(Debug, Default)]
pub struct Generation {
    responses: AtomicU64,
    /// Cancelled when these connections are abandoned.
    pub(super) hung: CancellationToken,
}

impl Generation {
    /// Records that the database has responded to a statement.
    pub(super) fn record_response(&self) {
        self.responses.fetch_add(1, Ordering::Relaxed);
    }

    /// Statements that the database has responded to on these connections.
    pub(super) fn responses(&self) -> u64 {
        self.responses.load(Ordering::Relaxed)
    }

    /// Waits for the end of a statement, unless the connection hangs.
    pub async fn unless_hung<F: Future>(&self, statement: F) -> Result<F::Output, sqlx::Error> {
        self.hung.run_until_cancelled(statement).await.ok_or_else(|| Unavailable::Hung.into())
    }
}

/// The process of the server, and whether it takes writes.
const OPENED: &str = "select pg_backend_pid(),
    not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean";
/// The same of a primary, and whether it is the database that was served last.
const OPENED_PRIMARY: &str = "select pg_backend_pid(),
    not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean,
    is_database_known()";

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) raw: PgConnection,
    /// The process of the server that serves it, if it is always the same.
    pub(super) backend: i32,
    pub(super) generation: Arc<Generation>,
    /// When it was last known to work.
    pub(super) worked: Instant,
    /// How long its statements wait for each lock, if that is known.
    pub(super) lock_timeout: Option<&'static str>,
    /// What the replica had replayed when this connection last asked.
    pub(super) replayed: Option<Position>,
    opened: Instant,
}

impl Connection {
    /// Its statements wait for locks for [`LOCK_TIMEOUT`]. A server that takes no writes, as after a fail-over, serves as a replica only.
    pub(super) async fn open(current: &Current, generation: Arc<Generation>) -> Result<Self, sqlx::Error> {
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
        Ok(Self { raw, backend, generation, worked: now, lock_timeout, replayed: None, opened: now })
    }

    pub(super) fn is_old(&self) -> bool {
        self.opened.elapsed() > CONNECTION_LIFETIME
    }

    /// Reads what abandoned statements have still to send, until the server is ready for the next one.
    pub(super) async fn settle(&mut self) -> Result<(), sqlx::Error> {
        for _ in 0..LATE_ERRORS {
            match self.raw.ping().await {
                // The error belongs to the statement that was abandoned.
                Err(error @ sqlx::Error::Database(_)) if !is_disconnected(&error) => {}
                settled => return settled,
            }
        }
        Err(sqlx::Error::Protocol("too many statements were abandoned".to_owned()))
    }
}
