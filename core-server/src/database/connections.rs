//! Connections that are lent for one statement at a time.
//!
//! A pool of sqlx asks the server for a sign of life whenever a connection comes back, which is a round trip for every
//! statement. Here a connection whose statement came to its end is simply lent again; only one that was let go half
//! way, because its caller went away, goes back to the pool, which sees to it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use compliance_api::error::Error;
use futures::{
    StreamExt as _, TryStreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use sqlx::{
    Describe, Either, Execute, Executor, PgConnection, PgPool, Postgres, SqlStr,
    pool::PoolConnection,
    postgres::{PgQueryResult, PgRow, PgStatement, PgTypeInfo},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    error::{from_database, is_disconnected},
    table::{Expected, Inputs, Layouts, SchemaError},
};

/// How long a request waits for a connection: well below its deadline, so that a full pool is reported as such.
pub(super) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a write is tried that conflicts with another one.
pub(crate) const MAX_TRIES: u32 = 5;
/// How long a connection is lent again and again before the pool may look after it.
const LIFETIME: Duration = Duration::from_mins(5);
/// Connections of the pool that are left to other users of the pool.
const RESERVE: usize = 2;

/// The connections of a pool. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Connections(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pool: PgPool,
    /// One for each connection that may be lent at the same time.
    permits: Arc<Semaphore>,
    /// Connections that are not lent, the last used last.
    idle: Mutex<Vec<Idle>>,
    inputs: Inputs,
}

#[derive(Debug)]
struct Idle {
    connection: PoolConnection<Postgres>,
    taken: Instant,
}

/// A connection that is lent. It is lent again only if the borrower says that it is [`done`](Self::done); otherwise it
/// goes back to the pool.
pub(crate) struct Lease {
    lender: Arc<Inner>,
    idle: Idle,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    /// The connections of a pool to a database that has the tables and input types that are expected.
    pub(crate) async fn open(pool: &PgPool, expected: Expected) -> Result<Self, SchemaError> {
        let inputs = Inputs::open(pool, expected).await?;
        let most = pool.options().get_max_connections() as usize;
        let lent = if most > 2 * RESERVE { most - RESERVE } else { most };
        let (pool, permits) = (pool.clone(), Arc::new(Semaphore::new(lent)));
        Ok(Self(Arc::new(Inner { pool, permits, idle: Mutex::new(Vec::new()), inputs })))
    }

    /// Runs a write that may send batches, and runs it again, a bounded number of times, after an error that
    /// `can_retry` lets pass.
    pub(crate) async fn write<T, F: Future<Output = Result<T, sqlx::Error>>>(
        &self,
        can_retry: fn(&sqlx::Error) -> bool,
        run: impl Fn(Arc<Layouts>) -> F,
    ) -> Result<T, Error> {
        let mut tries = 1;
        loop {
            let Inner { inputs, .. } = &*self.0;
            match run(inputs.layouts()).await {
                Err(error) if tries < MAX_TRIES && (can_retry(&error) || inputs.changed(&error).await) => {
                    tracing::debug!("a write is retried: {error}");
                    tries += 1;
                }
                result => return result.map_err(|error| from_database(&error)),
            }
        }
    }

    /// Connections that there may be.
    pub(crate) fn most(&self) -> u32 {
        self.0.pool.options().get_max_connections()
    }

    /// Borrows a connection; waits a bounded time for one to become free.
    pub(crate) async fn lease(&self) -> Result<Lease, sqlx::Error> {
        let permit = tokio::time::timeout(ACQUIRE_TIMEOUT, Arc::clone(&self.0.permits).acquire_owned()).await;
        let permit = permit.map_err(|_| sqlx::Error::PoolTimedOut)?.map_err(|_| sqlx::Error::PoolClosed)?;
        let idle = self.0.idle().pop();
        let idle = match idle {
            Some(idle) => idle,
            None => Idle { connection: self.0.pool.acquire().await?, taken: Instant::now() },
        };
        Ok(Lease { lender: Arc::clone(&self.0), idle, _permit: permit })
    }
}

impl Inner {
    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// The connection.
    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.idle.connection
    }

    /// Says how a statement ended. A connection that was lost takes those with it that were not in use: a server that
    /// went away has closed them all.
    pub(crate) fn done<T>(self, result: &Result<T, sqlx::Error>) {
        match result {
            Err(error) if is_disconnected(error) => {
                let lost = std::mem::take(&mut *self.lender.idle());
                drop(lost);
            }
            _ if self.idle.taken.elapsed() < LIFETIME && !self.lender.pool.is_closed() => {
                self.lender.idle().push(self.idle);
            }
            _ => {}
        }
    }
}

/// Runs a statement on a connection of its own, and says how it ended.
macro_rules! run_on_lease {
    ($connections:expr, |$lease:ident| $run:expr) => {{
        let connections = $connections.clone();
        Box::pin(async move {
            let mut $lease = connections.lease().await?;
            let result = $run.await;
            $lease.done(&result);
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
        let rows = run_on_lease!(self, |lease| lease.connection().fetch_many(query).try_collect::<Vec<_>>());
        Box::pin(stream::once(rows).map_ok(|rows| stream::iter(rows).map(Ok)).try_flatten())
    }

    fn fetch_all<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Vec<PgRow>, sqlx::Error>>
    where
        E: 'q + Execute<'q, Postgres>,
    {
        run_on_lease!(self, |lease| lease.connection().fetch_all(query))
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, sqlx::Error>>
    where
        E: 'q + Execute<'q, Postgres>,
    {
        run_on_lease!(self, |lease| lease.connection().fetch_optional(query))
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, Result<PgStatement, sqlx::Error>>
    where
        'p: 'e,
    {
        run_on_lease!(self, |lease| lease.connection().prepare_with(sql, parameters))
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<Postgres>, sqlx::Error>>
    where
        'p: 'e,
    {
        run_on_lease!(self, |lease| lease.connection().describe(sql))
    }
}
