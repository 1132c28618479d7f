//! Manages a service's connections to its database.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use sqlx::{Execute, Executor as _, PgConnection, Postgres, postgres::PgRow};
use telemetry::background::supervise;
use tokio::{sync::watch, task::JoinSet, time::timeout};

use super::{
    citus::{Calls, Scope, Session},
    open::Database,
    pool::{BorrowedConnection, Pool},
    probe::probe,
};
use crate::{
    Schema,
    deadline::check_caller,
    error::{is_disconnected, is_lock_timeout, is_moved, is_stale},
    limits::LOCK_WAIT,
    metrics::{RETRY_CONNECTION, RETRY_LOCK, RETRY_SILENCE, count_retry},
    statement_context::Watch,
    table::{Expected, Inputs, Layouts, SchemaError},
};

/// Timeout for the first attempt of a read by key, which usually takes milliseconds.
const SHORT_READ_TIMEOUT: Duration = Duration::from_secs(3);

/// A service's connections. Clones share them.
#[derive(Clone, Debug)]
pub struct Connections {
    pub(super) pool: Arc<Pool>,
    /// On Citus, the functions that run statements.
    calls: Option<Arc<Calls>>,
    /// Whether statements are a call's writes, which must not begin after the caller has disconnected.
    of_call: bool,
    /// On Citus, the statement's company.
    company_id: i64,
    /// Maximum number of records of a kind that a statement creates.
    new_records: usize,
}

impl Connections {
    /// Checks a database's tables and types, and returns connections to it.
    ///
    /// The database's pool determines the connection limit.
    pub async fn open(database: &Database, expected: Expected, schema: &Schema) -> Result<Self, SchemaError> {
        let inputs = Inputs::open(&database.pool, expected).await?;
        let calls = database.on_citus.then(|| Arc::new(Calls::new(schema)));
        Ok(Self { pool: Pool::new(database, inputs), calls, of_call: false, company_id: 0, new_records: 0 })
    }

    /// Starts the task that checks whether the database responds.
    pub fn watch_database(&self, tasks: &mut JoinSet<()>) {
        let pool = Arc::clone(&self.pool);
        tasks.spawn(supervise("database probe", move |task| probe(Arc::clone(&pool), task)));
    }

    /// Returns connections for a call's writes. No write begins after the caller has disconnected.
    #[must_use]
    pub fn of_call(&self) -> Self {
        Self { of_call: true, ..self.clone() }
    }

    /// Returns connections for one company's statements.
    #[must_use]
    pub fn of_company(&self, company_id: i64) -> Self {
        Self { company_id, ..self.clone() }
    }

    /// Returns connections for statements that create up to `new_records` records of a kind.
    #[must_use]
    pub fn creating(&self, new_records: usize) -> Self {
        Self { new_records, ..self.clone() }
    }

    /// Returns whether each statement serves a single company, as on Citus.
    pub fn is_divided(&self) -> bool {
        self.calls.is_some()
    }

    /// Prepares a borrowed connection for a statement.
    pub fn session<'c>(&'c self, connection: &'c mut PgConnection) -> Session<'c> {
        let scope = Scope { company_id: self.company_id, new_records: self.new_records };
        Session::new(connection, self.calls.as_deref(), scope)
    }

    /// Returns the input types' layouts.
    pub fn layouts(&self) -> Arc<Layouts> {
        self.pool.inputs.layouts()
    }

    /// Returns the maximum number of connections.
    pub fn most(&self) -> u32 {
        self.pool.manager().most()
    }

    /// Returns a receiver that tracks whether the database responds.
    pub fn responds(&self) -> watch::Receiver<bool> {
        self.pool.responds.subscribe()
    }

    /// Borrows a connection. Waits for a bounded time, or fails immediately while the database does not respond.
    pub async fn borrow_connection(&self) -> Result<BorrowedConnection, sqlx::Error> {
        let borrowed = BorrowedConnection::of(&self.pool).await?;
        if self.of_call {
            check_caller().await;
        }
        Ok(borrowed)
    }

    /// Divides items into groups that can share a statement: one group per company on Citus, otherwise a single group.
    pub fn divided<T>(&self, items: Vec<T>, company_of: impl Fn(&T) -> i64) -> Vec<Vec<T>> {
        if !self.is_divided() {
            return vec![items];
        }
        let mut groups: BTreeMap<i64, Vec<T>> = BTreeMap::new();
        for item in items {
            groups.entry(company_of(&item)).or_default().push(item);
        }
        groups.into_values().collect()
    }

    /// Returns a statement's rows.
    pub(crate) async fn rows<'q, E: 'q + Execute<'q, Postgres>>(&self, query: E) -> Result<Vec<PgRow>, sqlx::Error> {
        let mut borrowed = self.borrow_connection().await?;
        let (connection, outage) = borrowed.connection()?;
        let result = match self.calls {
            Some(_) => outage.or_end(self.session(connection).rows(query)).await?,
            None => outage.or_end(connection.fetch_all(query)).await?,
        };
        borrowed.done(result)
    }
}

/// Runs a read like [`retried`], and logs it if it is slow.
pub async fn read<T, F: Future<Output = Result<T, sqlx::Error>>>(
    from: &Connections,
    run: impl Fn(Connections) -> F,
) -> Result<T, sqlx::Error> {
    let _watch = Watch::start();
    retried(from, run).await
}

/// Runs a read and retries it once if its connection is dead.
///
/// A read that waits too long for a lock, such as during a schema change, returns its connection and retries.
pub async fn retried<T, F: Future<Output = Result<T, sqlx::Error>>>(
    from: &Connections,
    run: impl Fn(Connections) -> F,
) -> Result<T, sqlx::Error> {
    let (mut disconnected, mut stale, start) = (false, false, Instant::now());
    loop {
        match run(from.clone()).await {
            Err(error) if is_disconnected(&error) && !disconnected => {
                count_retry(RETRY_CONNECTION);
                disconnected = true;
            }
            Err(error) if is_stale(&error) && !stale => {
                count_retry(RETRY_CONNECTION);
                stale = true;
            }
            Err(error) if (is_lock_timeout(&error) || is_moved(&error)) && start.elapsed() < LOCK_WAIT => {
                count_retry(RETRY_LOCK);
            }
            result => return result,
        }
    }
}

/// Runs a short read by key and retries it once if its connection is dead or hangs.
pub async fn short_read<T, F: Future<Output = Result<T, sqlx::Error>>>(
    from: &Connections,
    run: impl Fn(Connections) -> F,
) -> Result<T, sqlx::Error> {
    if let Ok(result) = timeout(SHORT_READ_TIMEOUT, retried(from, &run)).await {
        return result;
    }
    count_retry(RETRY_SILENCE);
    tracing::warn!("a read by key received no response within {} s; retrying it", SHORT_READ_TIMEOUT.as_secs());
    run(from.clone()).await
}
