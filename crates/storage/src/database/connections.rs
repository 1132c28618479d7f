//! Connections that are borrowed for one statement at a time.
//!
//! A pool of sqlx asks the server for a sign of life whenever a connection comes back, which is a round trip for every
//! statement. Here a connection whose statement came to its end is simply borrowed again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use admission::{Full, Reservation, SMALL};
use futures::{TryStreamExt as _, future::ready};
use sqlx::{
    AssertSqlSafe, Connection as _, Execute, PgConnection, PgPool, Postgres, Row as _,
    postgres::{PgConnectOptions, PgRow},
};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, watch},
    time::timeout,
};

use super::{
    Database,
    citus::{Calls, Locations, NodeConnections, Scope, Session},
    connection::{Connection, Generation, Unavailable},
    current::Current,
    lease::Lease,
    pooler::Sessions,
    replicas::{Follower, Position, Replicas},
    reserve::Reserve,
};
use crate::{
    Schema,
    deadline::check_caller,
    error::{is_disconnected, is_unique_violation},
    limits::{
        ACQUIRE_TIMEOUT, CONNECTION_UNCHECKED, COPIES, FIRST_LOCK_TIMEOUT, LOCK_TIMEOUT, MAX_TRIES, NOT_BORROWED,
    },
    metrics::{RETRY_CONFLICT, RETRY_CONNECTION, count_retry},
    statement::{self, ConnectionWait, Purpose},
    table::{Expected, Inputs, Layouts, Rows, SchemaError},
};

pub struct Fetched {
    pub rows: Vec<PgRow>,
    pub end: End,
    pub memory: Reservation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Complete,
    TooLarge,
    Full(Full),
}

/// The connections of a service. Clones share them.
#[derive(Clone, Debug)]
pub struct Connections {
    pub(super) inner: Arc<SharedConnections>,
    /// How long a statement waits for each lock.
    pub(super) lock_timeout: &'static str,
    /// Whether the statements are writes of a call: none begins once its caller has left.
    pub(super) of_call: bool,
    /// On Citus: the only company of the statements, or the first of those of one node. 0 if there are others.
    pub(super) company_id: i64,
    /// How many records of a kind a statement may create.
    pub(super) new_records: usize,
    /// Where reads may run instead.
    pub(super) replicas: Option<Arc<Replicas>>,
    /// What a replica must have replayed before a statement.
    pub(super) required: Option<Position>,
}

#[derive(Debug)]
pub struct SharedConnections {
    pool: PgPool,
    pub(super) current: Arc<Current>,
    permits: Arc<Semaphore>,
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
    calls: Arc<Calls>,
    pub(super) locations: Locations,
    pub(super) nodes: NodeConnections,
}

impl Connections {
    /// The connections to the database of a pool, which must have the tables and input types that are expected. They are as
    /// many as those of the pool may be; of the pool itself, at most one is used at a time.
    pub async fn open(database: &Database, expected: Expected, schema: &Schema) -> Result<Self, SchemaError> {
        let pool = &database.pool;
        let inputs = Inputs::open(pool, expected).await?;
        let current = Arc::new(Current::new(database, None));
        let calls = if database.on_citus { Calls::of_citus(schema) } else { Calls::default() };
        Ok(SharedConnections::new(pool.clone(), current, Arc::new(inputs), Arc::new(calls), true).into())
    }

    /// Connections to another server, which is not used until it is found to serve. A replica has a `follower`.
    pub(super) fn to_server(&self, server: &Database, inputs: Arc<Inputs>, follower: Option<Follower>) -> Self {
        let current = Arc::new(Current::new(server, follower));
        SharedConnections::new(server.pool.clone(), current, inputs, Arc::clone(&self.inner.calls), false).into()
    }

    pub fn of_call(&self) -> Self {
        Self { of_call: true, ..self.with_lock_timeout(FIRST_LOCK_TIMEOUT) }
    }

    pub fn with_lock_timeout(&self, lock_timeout: &'static str) -> Self {
        Self { lock_timeout, ..self.clone() }
    }

    /// For statements of one company only.
    pub fn of_company(&self, company_id: i64) -> Self {
        Self { company_id, ..self.clone() }
    }

    /// For statements that may create so many records of a kind.
    pub fn creating(&self, new_records: usize) -> Self {
        Self { new_records, ..self.clone() }
    }

    /// Whether a statement is of one company, since companies are on different nodes.
    pub fn is_divided(&self) -> bool {
        !self.inner.calls.is_empty()
    }

    /// A borrowed connection for a statement.
    pub fn session<'c>(&'c self, connection: &'c mut PgConnection) -> Session<'c> {
        let Self { company_id, new_records, lock_timeout, .. } = *self;
        Session::new(connection, &self.inner.calls, Scope { company_id, new_records, lock_timeout })
    }

    /// Whether its writes may wait for locks longer than others.
    pub fn waits_for_locks(&self) -> bool {
        self.lock_timeout != FIRST_LOCK_TIMEOUT
    }

    pub fn layouts(&self) -> Arc<Layouts> {
        self.inner.inputs.layouts()
    }

    /// Runs a write that may send batches, and runs it again, a bounded number of times, after an error that `can_retry` lets
    /// pass.
    pub async fn try_write<T, F: Future<Output = Result<T, sqlx::Error>>>(
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
    pub async fn may_retry(&self, error: &sqlx::Error, can_retry: fn(&sqlx::Error) -> bool, tries: &mut u32) -> bool {
        let may_retry = *tries < MAX_TRIES
            && Unavailable::of(error).is_none()
            && (can_retry(error) || self.inner.inputs.changed(error).await);
        if may_retry {
            self.advance_ids(error).await;
            count_retry(if is_disconnected(error) { RETRY_CONNECTION } else { RETRY_CONFLICT });
            tracing::debug!("a write is retried: {error}");
            *tries += 1;
        }
        may_retry
    }

    /// Lets the IDs of a table go on after the greatest of them, if a new record had one that is taken: its sequence is behind, as after a
    /// copy of the records alone.
    async fn advance_ids(&self, error: &sqlx::Error) {
        let Some(database) = error.as_database_error().filter(|_| is_unique_violation(error)) else { return };
        let Some(table) = database.table().filter(|table| database.constraint() == Some(&format!("{table}_pkey")))
        else {
            return;
        };
        let advance = sqlx::query_scalar("select advance_ids($1)").bind(table).fetch_one(self);
        match Purpose::of("IDs").run(advance).await {
            Ok(true) => {
                tracing::warn!(table, "the sequence of IDs was behind the table, and goes on after its greatest ID");
            }
            Ok(false) => {}
            Err(error) => tracing::error!(
                table,
                "a new ID is taken, and the sequence cannot be advanced: run `compliance doctor --counts --repair`: {error}"
            ),
        }
    }

    /// The rows of a statement, as long as they take no more than `most` bytes; the first one in any case. What they take is
    /// reserved for the company of `memory`. A statement that has more rows is abandoned.
    pub async fn fetch_at_most<'q, E: 'q + Execute<'q, Postgres>>(
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
            ready(end == End::Complete)
        })
        .await?;
        Ok(Fetched { rows, end, memory })
    }

    /// Passes the rows of a statement to `take`, each when it has taken the one before, until it returns false. The rest of the
    /// statement is then abandoned.
    pub async fn fetch_while<'q, E: 'q + Execute<'q, Postgres>, F: Future<Output = bool>>(
        &self,
        query: E,
        mut take: impl FnMut(PgRow) -> F,
    ) -> Result<(), sqlx::Error> {
        let mut lease = self.lease().await?;
        let (connection, generation) = lease.connection()?;
        let reading = async {
            let mut returned = self.session(connection).stream(query);
            while let Some(row) = returned.try_next().await? {
                if !take(row).await {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        match generation.unless_hung(reading).await? {
            Ok(false) => Ok(()),
            result => lease.done(result).map(drop),
        }
    }

    pub(super) async fn rows<'q, E: 'q + Execute<'q, Postgres>>(self, query: E) -> Result<Vec<PgRow>, sqlx::Error> {
        let mut lease = self.lease().await?;
        let (connection, generation) = lease.connection()?;
        let result = generation.unless_hung(self.session(connection).rows(query)).await?;
        lease.done(result)
    }

    /// Runs work in a transaction whose changes are recorded as those of the request that runs here. It is rolled back unless what the
    /// work returns `is_kept`.
    pub async fn in_transaction<T>(
        &self,
        is_kept: impl FnOnce(&T) -> bool,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let mut lease = self.lease().await?;
        let (connection, generation) = lease.transaction()?;
        // Then the server's whole response was read, and the connection can be used again.
        let mut is_rolled_back = false;
        let working = async {
            let mut transaction = connection.begin_with(self.begin_as_writer()).await?;
            match work(&mut transaction).await {
                Ok(result) if is_kept(&result) => {
                    check_caller().await;
                    transaction.commit().await.and(Ok(result))
                }
                result @ (Ok(_) | Err(sqlx::Error::Database(_))) => {
                    transaction.rollback().await?;
                    is_rolled_back = true;
                    result
                }
                Err(error) => Err(error),
            }
        };
        let result = generation.unless_hung(working).await?;
        lease.in_transaction &= !is_rolled_back;
        lease.done(result)
    }

    fn begin_as_writer(&self) -> AssertSqlSafe<String> {
        let writer = statement::writer().replace('\'', "''");
        // Citus sends settings to its nodes if it is asked to.
        let propagate = if self.is_divided() { "set local citus.propagate_set_commands = 'local';" } else { "" };
        AssertSqlSafe(format!("begin;{propagate}set local compliance.changed_by = '{writer}'"))
    }

    pub fn most(&self) -> u32 {
        self.inner.pool.options().get_max_connections()
    }

    /// Whether the database responds, now and whenever that changes.
    pub fn responds(&self) -> watch::Receiver<bool> {
        self.inner.responds.subscribe()
    }

    /// Measures the connections until they are dropped.
    pub fn measure(&self, measure: fn(&SharedConnections) -> usize) -> impl Fn() -> Option<f64> + Send + use<> {
        let inner = Arc::downgrade(&self.inner);
        move || Some(measure(&*inner.upgrade()?) as f64)
    }

    /// Borrows a connection. Waits a bounded time for one to become free, and not at all while the database is known not
    /// to respond.
    pub async fn lease(&self) -> Result<Lease, sqlx::Error> {
        let (inner, wait) = (&self.inner, ConnectionWait::start());
        if !inner.responds() {
            return Err(Unavailable::Down.into());
        }
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
        let waits_as_long = inner.waits_as_long(&connection, self.lock_timeout);
        let mut lease = Lease::new(Arc::clone(inner), connection, permit, &wait);
        drop(wait);
        if !waits_as_long && let Err(error) = Box::pin(lease.set_lock_timeout(self.lock_timeout)).await {
            return lease.done(Err(error));
        }
        if let Some(required) = self.required
            && let Err(error) = Box::pin(lease.wait_for_replay(required)).await
        {
            return Err(lease.refused(error));
        }
        if self.of_call {
            check_caller().await;
        }
        Ok(lease)
    }
}

/// Copies rows into a table in a transaction that is open.
pub async fn copy_within<'r, T: 'static>(
    connection: &mut PgConnection,
    mut rows: Rows<'r, T, impl Iterator<Item = ([i64; 2], &'r T)>>,
) -> Result<(), sqlx::Error> {
    let mut copy = connection.copy_in_raw(&rows.statement.clone()).await?;
    while let Some(part) = rows.next_part()? {
        copy.send(part).await?;
    }
    copy.finish().await.map(drop)
}

pub fn size(row: &PgRow) -> usize {
    let value = |index| row.try_get_raw(index).ok().and_then(|value| value.as_bytes().ok()).map_or(0, <[u8]>::len);
    (0..row.len()).map(value).sum()
}

impl From<SharedConnections> for Connections {
    fn from(inner: SharedConnections) -> Self {
        Self {
            inner: Arc::new(inner),
            lock_timeout: LOCK_TIMEOUT,
            of_call: false,
            company_id: 0,
            new_records: 0,
            replicas: None,
            required: None,
        }
    }
}

impl SharedConnections {
    fn new(pool: PgPool, current: Arc<Current>, inputs: Arc<Inputs>, calls: Arc<Calls>, responds: bool) -> Self {
        let limit = (pool.options().get_max_connections() as usize).saturating_sub(NOT_BORROWED).max(1);
        Self {
            pool,
            permits: Arc::new(Semaphore::new(limit)),
            limit,
            idle: Mutex::default(),
            reserve: Reserve::new(Arc::clone(&current)),
            responds: watch::Sender::new(responds),
            generation: watch::Sender::default(),
            check_soon: Notify::new(),
            current,
            inputs,
            calls,
            locations: Locations::default(),
            nodes: NodeConnections::default(),
        }
    }

    pub fn responds(&self) -> bool {
        *self.responds.borrow()
    }

    /// Of new connections. They are others once another host or password is used.
    pub(super) fn options(&self) -> Arc<PgConnectOptions> {
        self.pool.connect_options()
    }

    pub fn in_use(&self) -> usize {
        self.limit.saturating_sub(self.permits.available_permits())
    }

    pub fn idle_count(&self) -> usize {
        self.idle().len()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the statements of a connection wait for locks this long. In sessions that are shared, all wait as long.
    fn waits_as_long(&self, connection: &Connection, lock_timeout: &'static str) -> bool {
        self.shares_sessions() || connection.lock_timeout == Some(lock_timeout)
    }

    pub(super) fn shares_sessions(&self) -> bool {
        self.current.sessions == Sessions::Shared
    }

    /// Takes out the connection that was used last, of those whose statements wait for locks this long. Any other is only
    /// taken if no more may be opened: it costs a round trip each time.
    fn take_idle(&self, lock_timeout: &'static str) -> Option<Connection> {
        let mut idle = self.idle();
        let fitting = idle.iter().rposition(|connection| self.waits_as_long(connection, lock_timeout));
        let last = idle.len().checked_sub(1).filter(|last| last + 1 + self.in_use() > self.limit);
        fitting.or(last).map(|index| idle.remove(index))
    }

    /// Takes out the connection that was not used for the longest time, if it is to be checked, with a permit:
    /// together with those that are in use, there are no more than there may be.
    pub(super) fn oldest_idle(&self) -> Option<(Connection, OwnedSemaphorePermit)> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        let mut idle = self.idle();
        let (index, oldest) = idle.iter().enumerate().min_by_key(|(_, connection)| connection.worked)?;
        (oldest.worked.elapsed() >= CONNECTION_UNCHECKED).then(|| (idle.remove(index), permit))
    }

    /// Waits a bounded time. Fails as soon as the database is known not to respond.
    async fn wait<T>(&self, waiting: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
        let mut responds = self.responds.subscribe();
        tokio::select! {
            biased;
            result = timeout(ACQUIRE_TIMEOUT, waiting) => result.unwrap_or(Err(sqlx::Error::PoolTimedOut)),
            _ = responds.wait_for(|responds| !responds) => Err(Unavailable::Down.into()),
        }
    }

    async fn open(&self) -> Result<Connection, sqlx::Error> {
        let opened = Connection::open(&self.current, self.generation()).await;
        opened.inspect_err(|_| self.check_soon.notify_one())
    }

    pub(super) fn generation(&self) -> Arc<Generation> {
        Arc::clone(&self.generation.borrow())
    }

    pub(super) fn is_current(&self, generation: &Arc<Generation>) -> bool {
        Arc::ptr_eq(generation, &self.generation.borrow())
    }

    /// Suspects all connections that are open now, and closes those that are not in use. Returns their generation.
    pub(super) fn suspect(&self) -> Arc<Generation> {
        let suspected = self.generation.send_replace(Arc::default());
        self.drop_idle();
        suspected
    }

    pub(super) fn drop_idle(&self) {
        let dropped = std::mem::take(&mut *self.idle());
        drop(dropped);
    }

    pub(super) fn take_back(&self, connection: Connection) {
        if !connection.is_old() && self.is_current(&connection.generation) && !self.pool.is_closed() {
            self.idle().push(connection);
        }
    }
}
