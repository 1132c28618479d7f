//! Connections that are lent for one statement at a time.
//!
//! A pool of sqlx asks the server for a sign of life whenever a connection comes back, which is a round trip for every
//! statement, and waits for it without a time limit. Here a connection whose statement came to its end is simply lent again;
//! [`Lease`] describes what happens to one that was let go half way.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use admission::{Full, Reservation};
use futures::{
    StreamExt as _, TryStreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use sqlx::{
    Describe, Either, Execute, Executor, PgPool, Postgres, Row as _, SqlStr,
    postgres::{PgConnectOptions, PgQueryResult, PgRow, PgStatement, PgTypeInfo},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::timeout,
};

use super::{
    availability::{Availability, Unavailable},
    connection::Connection,
    lease::Lease,
    reserve::Reserve,
};
use crate::{
    deadline::check_caller,
    error::is_disconnected,
    table::{Expected, Inputs, Layouts, SchemaError},
};

/// How long a request waits for a connection: well below its deadline, so that a lack of connections is reported as such.
pub(super) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a write is tried that conflicts with another one.
pub(crate) const MAX_TRIES: u32 = 5;
/// Connections that are not lent: the one in reserve, and one of the pool for questions about the schema.
const NOT_LENT: usize = 2;
/// How long a read waits for a lock. It holds a connection meanwhile, so it then returns that and runs again.
pub(super) const LOCK_TIMEOUT: &str = "1s";
/// The same for a statement that writes for several companies: longer than another one usually takes, and not so long that
/// they notice.
pub(crate) const SHARED_LOCK_TIMEOUT: &str = "50ms";
/// The same for the first try of a write of one company. If the lock is not free by then, it waits in turn.
pub(crate) const FIRST_LOCK_TIMEOUT: &str = "5ms";
/// Rows that take no more than this are not reserved: the calls in flight bound their number.
pub(crate) const SMALL: usize = 16 << 10;
/// A row is held as it was received, as a record, and as a part of the response.
pub(crate) const COPIES: usize = 3;

/// Rows that a statement returned.
pub(crate) struct Fetched {
    pub(crate) rows: Vec<PgRow>,
    pub(crate) end: End,
    /// What they take, and what is made of them.
    pub(crate) memory: Reservation,
}

/// Why there are no more rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// These are all.
    Complete,
    /// More would take too many bytes.
    TooLarge,
    /// There is no memory for more.
    Full(Full),
}

/// What the connections are doing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionsState {
    /// Whether the database answers.
    pub(crate) answers: bool,
    /// Connections that are in use.
    pub(crate) in_use: usize,
    /// Connections that are open and idle.
    pub(crate) idle: usize,
}

/// The connections of a service. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    inner: Arc<Inner>,
    /// How long a statement waits for each lock.
    lock_timeout: &'static str,
    /// Whether the statements are writes of a call that runs here.
    of_call: bool,
}

#[derive(Debug)]
pub(super) struct Inner {
    pool: PgPool,
    options: Arc<PgConnectOptions>,
    /// One for each connection that may be lent at the same time.
    permits: Arc<Semaphore>,
    /// Connections that may be lent.
    lent: usize,
    /// Connections that are not lent, the last used last.
    idle: Mutex<Vec<Connection>>,
    pub(super) reserve: Reserve,
    pub(super) availability: Availability,
    inputs: Inputs,
}

impl Connections {
    /// The connections to the database of a pool, which must have the tables and input types that are expected. They are as
    /// many as those of the pool may be; of the pool itself, at most one is used at a time.
    pub(crate) async fn open(pool: &PgPool, expected: Expected) -> Result<Self, SchemaError> {
        let inputs = Inputs::open(pool, expected).await?;
        let lent = (pool.options().get_max_connections() as usize).saturating_sub(NOT_LENT).max(1);
        let options = Arc::new((*pool.connect_options()).clone().options([("lock_timeout", LOCK_TIMEOUT)]));
        let inner = Inner {
            pool: pool.clone(),
            permits: Arc::new(Semaphore::new(lent)),
            lent,
            idle: Mutex::default(),
            reserve: Reserve::new((*options).clone()),
            availability: Availability::new(),
            options,
            inputs,
        };
        Ok(Self { inner: Arc::new(inner), lock_timeout: LOCK_TIMEOUT, of_call: false })
    }

    /// The same, for the writes of a call: none of them begins once its caller has left.
    pub(crate) fn of_call(&self) -> Self {
        Self { of_call: true, ..self.with_lock_timeout(FIRST_LOCK_TIMEOUT) }
    }

    /// The same, for statements that wait this long for each lock.
    pub(crate) fn with_lock_timeout(&self, lock_timeout: &'static str) -> Self {
        Self { lock_timeout, ..self.clone() }
    }

    /// Whether its writes may wait for locks longer than others.
    pub(crate) fn waits_for_locks(&self) -> bool {
        self.lock_timeout != FIRST_LOCK_TIMEOUT
    }

    /// How batches are written at present.
    pub(crate) fn layouts(&self) -> Arc<Layouts> {
        self.inner.inputs.layouts()
    }

    /// Runs a write that may send batches, and runs it again, a bounded number of times, after an error that `can_retry` lets
    /// pass.
    pub(crate) async fn try_write<T, F: Future<Output = Result<T, sqlx::Error>>>(
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

    /// Whether a write that ended with an error after so many tries is tried again.
    pub(crate) async fn may_retry(
        &self,
        error: &sqlx::Error,
        can_retry: fn(&sqlx::Error) -> bool,
        tries: &mut u32,
    ) -> bool {
        let may_retry = *tries < MAX_TRIES
            && Unavailable::of(error).is_none()
            && (can_retry(error) || self.inner.inputs.changed(error).await);
        if may_retry {
            tracing::debug!("a write is retried: {error}");
            *tries += 1;
        }
        may_retry
    }

    /// The rows of a statement, as long as they take no more than `most` bytes; the first one in any case. What they take is
    /// reserved for the company of `memory`. A statement that has more rows is abandoned.
    pub(crate) async fn fetch_at_most<'q, E: 'q + Execute<'q, Postgres>>(
        &self,
        query: E,
        most: usize,
        memory: &Reservation,
    ) -> Result<Fetched, sqlx::Error> {
        let (mut rows, mut bytes, mut memory) = (Vec::new(), 0, memory.empty());
        let mut end = End::Complete;
        self.fetch_while(query, |row| {
            bytes += size(&row);
            if bytes > most && !rows.is_empty() {
                end = End::TooLarge;
            } else if bytes > SMALL
                && let Err(full) = memory.grow_to(bytes * COPIES)
            {
                end = End::Full(full);
            } else {
                rows.push(row);
            }
            end == End::Complete
        })
        .await?;
        Ok(Fetched { rows, end, memory })
    }

    /// Passes the rows of a statement to `take` until it returns false. The rest of the statement is then abandoned.
    pub(crate) async fn fetch_while<'q, E: 'q + Execute<'q, Postgres>>(
        &self,
        query: E,
        mut take: impl FnMut(PgRow) -> bool + Send,
    ) -> Result<(), sqlx::Error> {
        let mut lease = self.lease().await?;
        let given_up = lease.given_up();
        let connection = lease.connection()?;
        let reading = async {
            let mut returned = connection.fetch(query);
            while let Some(row) = returned.try_next().await? {
                if !take(row) {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let result = tokio::select! {
            biased;
            result = reading => result,
            () = given_up => return Err(Unavailable::Hung.into()),
        };
        if let Ok(false) = result {
            return Ok(());
        }
        lease.done(&result);
        result.map(|_| ())
    }

    /// Sends the rows of a statement as they are taken. If the receiver is dropped, the rest of the statement is abandoned.
    pub(crate) async fn send_rows<'q, E: 'q + Execute<'q, Postgres>>(
        &self,
        query: E,
        rows: mpsc::Sender<PgRow>,
    ) -> Result<(), sqlx::Error> {
        let mut lease = self.lease().await?;
        let given_up = lease.given_up();
        let connection = lease.connection()?;
        let sending = async {
            let mut returned = connection.fetch(query);
            while let Some(row) = returned.try_next().await? {
                if rows.send(row).await.is_err() {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let result = tokio::select! {
            biased;
            result = sending => result,
            () = given_up => return Err(Unavailable::Hung.into()),
        };
        if let Ok(false) = result {
            return Ok(());
        }
        lease.done(&result);
        result.map(|_| ())
    }

    /// Connections that there may be.
    pub(crate) fn most(&self) -> u32 {
        self.inner.pool.options().get_max_connections()
    }

    /// A function that returns the state of the connections, or `None` once these are dropped.
    pub(crate) fn state(&self) -> impl Fn() -> Option<ConnectionsState> + Send + use<> {
        let inner = Arc::downgrade(&self.inner);
        move || {
            let inner = inner.upgrade()?;
            let in_use = inner.lent.saturating_sub(inner.permits.available_permits());
            Some(ConnectionsState { answers: inner.availability.answers(), in_use, idle: inner.idle().len() })
        }
    }

    /// Whether the database answers.
    pub(crate) fn availability(&self) -> &Availability {
        &self.inner.availability
    }

    /// Borrows a connection. Waits a bounded time for one to become free, and not at all while the database is known not
    /// to answer.
    pub(crate) async fn lease(&self) -> Result<Lease, sqlx::Error> {
        let inner = &self.inner;
        inner.availability.check()?;
        let permits = Arc::clone(&inner.permits);
        let permit = match Arc::clone(&permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => inner.wait(async { permits.acquire_owned().await.map_err(|_| sqlx::Error::PoolClosed) }).await?,
        };
        if inner.pool.is_closed() {
            return Err(sqlx::Error::PoolClosed);
        }
        let idle = inner.take_idle(self.lock_timeout);
        let connection = match idle {
            Some(idle) => idle,
            // Boxed: it is rare, and too large to be a part of every statement.
            None => Box::pin(inner.wait(inner.open())).await?,
        };
        let mut lease = Lease::new(Arc::clone(inner), connection, permit);
        if !lease.has_lock_timeout(self.lock_timeout) {
            match Box::pin(lease.set_lock_timeout(self.lock_timeout)).await {
                // The others that are idle are lost, too.
                Err(error) if is_disconnected(&error) => {
                    let lost: Result<Infallible, _> = Err(error);
                    lease.done(&lost);
                    let Err(error) = lost;
                    return Err(error);
                }
                set => set?,
            }
        }
        if self.of_call {
            check_caller().await;
        }
        Ok(lease)
    }

    pub(super) fn reserve(&self) -> &Reserve {
        &self.inner.reserve
    }

    pub(super) fn drop_idle(&self) {
        self.inner.drop_idle();
    }

    pub(super) fn take_back(&self, connection: Connection) {
        self.inner.take_back(connection);
    }

    /// Takes out the connection that was not used for the longest time, if it has not been known to work for `unchecked`,
    /// with a permit: together with those that are lent, there are no more than there may be.
    pub(super) fn oldest_idle(&self, unchecked: Duration) -> Option<(Connection, OwnedSemaphorePermit)> {
        let permit = Arc::clone(&self.inner.permits).try_acquire_owned().ok()?;
        let mut idle = self.inner.idle();
        let (index, oldest) = idle.iter().enumerate().min_by_key(|(_, connection)| connection.worked)?;
        if oldest.worked.elapsed() < unchecked {
            return None;
        }
        let oldest = idle.remove(index);
        drop(idle);
        Some((oldest, permit))
    }
}

/// The bytes of a row's values.
pub(crate) fn size(row: &PgRow) -> usize {
    let value = |index| row.try_get_raw(index).ok().and_then(|value| value.as_bytes().ok()).map_or(0, <[u8]>::len);
    (0..row.len()).map(value).sum()
}

impl Inner {
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out the connection that was used last, of those whose statements wait for locks this long. Any other is only
    /// taken if no more may be opened: it costs a round trip each time.
    fn take_idle(&self, lock_timeout: &'static str) -> Option<Connection> {
        let mut idle = self.idle();
        let in_use = self.lent.saturating_sub(self.permits.available_permits());
        let fitting = idle.iter().rposition(|connection| connection.lock_timeout == Some(lock_timeout));
        let last = idle.len().checked_sub(1).filter(|last| last + 1 + in_use > self.lent);
        fitting.or(last).map(|index| idle.remove(index))
    }

    /// Waits a bounded time for a connection.
    async fn wait<T>(&self, waiting: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
        let bounded = async { timeout(ACQUIRE_TIMEOUT, waiting).await.unwrap_or(Err(sqlx::Error::PoolTimedOut)) };
        self.availability.unless_down(bounded).await
    }

    async fn open(&self) -> Result<Connection, sqlx::Error> {
        let opened = Connection::open(&self.options, self.availability.generation(), LOCK_TIMEOUT).await;
        opened.inspect_err(|_| self.availability.check_soon())
    }

    /// Closes the connections that are not lent.
    pub(super) fn drop_idle(&self) {
        let dropped = std::mem::take(&mut *self.idle());
        drop(dropped);
    }

    /// Takes back a connection that is ready for the next statement.
    pub(super) fn take_back(&self, connection: Connection) {
        if !connection.is_old() && connection.generation.is_current(&self.availability) && !self.pool.is_closed() {
            self.idle().push(connection);
        }
    }
}

/// Runs a statement on a connection of its own, and reports how it ended. A connection that is given up is let go.
macro_rules! run_on_lease {
    ($connections:expr, |$connection:ident| $run:expr) => {{
        let connections = $connections.clone();
        Box::pin(async move {
            let mut lease = connections.lease().await?;
            let given_up = lease.given_up();
            let $connection = lease.connection()?;
            let result = tokio::select! {
                biased;
                result = $run => result,
                () = given_up => return Err(Unavailable::Hung.into()),
            };
            lease.done(&result);
            result
        })
    }};
}

impl<'p> Executor<'p> for &'_ Connections {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Either<PgQueryResult, PgRow>, sqlx::Error>>
    where
        E: 'q + Execute<'q, Postgres>,
    {
        // A statement has few rows, and its caller takes all of them.
        let rows = run_on_lease!(self, |connection| connection.fetch_many(query).try_collect::<Vec<_>>());
        Box::pin(stream::once(rows).map_ok(|rows| stream::iter(rows).map(Ok)).try_flatten())
    }

    fn fetch_all<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Vec<PgRow>, sqlx::Error>>
    where
        E: 'q + Execute<'q, Postgres>,
    {
        run_on_lease!(self, |connection| connection.fetch_all(query))
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, sqlx::Error>>
    where
        E: 'q + Execute<'q, Postgres>,
    {
        run_on_lease!(self, |connection| connection.fetch_optional(query))
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, Result<PgStatement, sqlx::Error>>
    where
        'p: 'e,
    {
        run_on_lease!(self, |connection| connection.prepare_with(sql, parameters))
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<Postgres>, sqlx::Error>>
    where
        'p: 'e,
    {
        run_on_lease!(self, |connection| connection.describe(sql))
    }
}
