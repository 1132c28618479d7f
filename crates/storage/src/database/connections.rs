//! The connections of a service to its database.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sqlx::{Execute, Executor as _, PgConnection, Postgres, postgres::PgRow};
use telemetry::background::supervise;
use tokio::{sync::watch, task::JoinSet, time::timeout};

use super::{
    borrowed::BorrowedConnection,
    citus::{Citus, Scope, Session},
    open::Database,
    pool::Pool,
    probe::{probe, report_failure},
};
use crate::{
    Schema,
    deadline::check_caller,
    error::{is_disconnected, is_lock_timeout, is_moved, is_stale},
    limits::{FIRST_LOCK_TIMEOUT, LOCK_TIMEOUT, LOCK_WAIT},
    metrics::{RETRY_CONNECTION, RETRY_LOCK, RETRY_NODE, RETRY_SILENCE, count_read, count_retry},
    statement::Watch,
    table::{Expected, Inputs, Layouts, SchemaError},
};

/// Timeout of the first attempt of a read by key, which takes milliseconds.
const SHORT_READ_TIMEOUT: Duration = Duration::from_secs(3);

/// The connections of a service. Clones share them.
#[derive(Clone, Debug)]
pub struct Connections {
    pub(super) pool: Arc<Pool>,
    citus: Option<Arc<Citus>>,
    /// Lock timeout of statements.
    lock_timeout: &'static str,
    /// Whether statements are writes of a call, which must not begin after its caller has left.
    of_call: bool,
    /// On Citus, the first company of a statement, which runs on its node. 0 for companies on several nodes.
    company_id: i64,
    /// Number of records of a kind that a statement may create.
    new_records: usize,
    /// For a Citus node: the coordinator, which draws new IDs.
    coordinator: Option<Arc<Pool>>,
}

impl Connections {
    /// Checks a database's tables and types, and returns connections to it.
    ///
    /// The limit is the limit of its pool.
    pub async fn open(database: &Database, expected: Expected, schema: &Schema) -> Result<Self, SchemaError> {
        let inputs = Inputs::open(&database.pool, expected).await?;
        Ok(Self {
            pool: Pool::new(database, Arc::new(inputs), true),
            citus: database.on_citus.then(|| Arc::new(Citus::new(schema))),
            lock_timeout: LOCK_TIMEOUT,
            of_call: false,
            company_id: 0,
            new_records: 0,
            coordinator: None,
        })
    }

    /// Adds the tasks that check which servers respond: the database, and if `with_nodes` the Citus nodes.
    pub fn watch_servers(&self, tasks: &mut JoinSet<()>, with_nodes: bool) {
        let pool = Arc::clone(&self.pool);
        if let Some(citus) = self.citus.clone().filter(|_| with_nodes) {
            let coordinator = Arc::clone(&pool);
            let watch = move |task| Arc::clone(&citus).watch(Arc::clone(&coordinator), task);
            tasks.spawn(supervise("node watch", watch));
        }
        tasks.spawn(supervise("database probe", move |task| probe(Arc::clone(&pool), task)));
    }

    /// For writes of a call. None begins after its caller has left, and each waits for locks only briefly.
    #[must_use]
    pub fn of_call(&self) -> Self {
        Self { of_call: true, ..self.with_lock_timeout(FIRST_LOCK_TIMEOUT) }
    }

    /// For statements with this lock timeout, such as `50ms`.
    #[must_use]
    pub fn with_lock_timeout(&self, lock_timeout: &'static str) -> Self {
        Self { lock_timeout, ..self.clone() }
    }

    /// For statements of one company.
    #[must_use]
    pub fn of_company(&self, company_id: i64) -> Self {
        Self { company_id, ..self.clone() }
    }

    /// For statements that may create this many records of a kind.
    #[must_use]
    pub fn creating(&self, new_records: usize) -> Self {
        Self { new_records, ..self.clone() }
    }

    /// Returns whether each statement runs on its company's node, as on Citus.
    pub fn is_divided(&self) -> bool {
        self.citus.is_some()
    }

    /// Prepares a borrowed connection for a statement.
    pub fn session<'c>(&'c self, connection: &'c mut PgConnection) -> Session<'c> {
        let Self { company_id, new_records, lock_timeout, .. } = *self;
        let (calls, scope) =
            (self.citus.as_ref().map(|citus| &citus.calls), Scope { company_id, new_records, lock_timeout });
        Session::new(connection, calls, scope, self.coordinator.as_ref())
    }

    /// Returns whether writes may wait for locks longer than a first attempt.
    pub fn waits_for_locks(&self) -> bool {
        self.lock_timeout != FIRST_LOCK_TIMEOUT
    }

    /// Returns the layouts of the input types.
    pub fn layouts(&self) -> Arc<Layouts> {
        self.pool.inputs.layouts()
    }

    /// Maximum number of connections.
    pub fn most(&self) -> u32 {
        self.pool.most()
    }

    /// Returns whether the database responds, now and after each change.
    pub fn responds(&self) -> watch::Receiver<bool> {
        self.pool.responds.subscribe()
    }

    /// Borrows a connection. Waits a bounded time for one, and not at all while the database does not respond.
    pub async fn borrow_connection(&self) -> Result<BorrowedConnection, sqlx::Error> {
        let borrowed = BorrowedConnection::of(&self.pool, self.lock_timeout).await?;
        if self.of_call {
            check_caller().await;
        }
        Ok(borrowed)
    }

    /// Divides items into groups that can share a statement. On Citus, each node has a group; otherwise there is one.
    pub async fn divided<T>(&self, items: Vec<T>, company_of: impl Fn(&T) -> i64) -> Vec<Vec<T>> {
        match &self.citus {
            Some(citus) => citus.divide(&self.pool, items, company_of).await,
            None => vec![items],
        }
    }

    /// Forgets the nodes of companies, because one of them has moved.
    pub fn forget_locations(&self, companies: impl IntoIterator<Item = i64>) {
        if let Some(citus) = &self.citus {
            citus.forget(companies);
        }
    }

    /// Returns the connections to the company's node, if it responds.
    ///
    /// `None` also if the node is unknown.
    pub fn node(&self) -> Option<Self> {
        let (pool, coordinator) = (self.citus.as_ref()?.node(self.company_id)?, Some(Arc::clone(&self.pool)));
        Some(Self { pool, coordinator, ..self.clone() })
    }

    /// Reports that a statement failed, if it ran on a node.
    ///
    /// Until the company is located again, its statements go through the coordinator, which waits until a move has ended.
    pub async fn node_failed(&self, server: &Self, error: &sqlx::Error) {
        if server.coordinator.is_some() {
            self.report_failure(server, error);
            server.pool.inputs.changed(error).await;
        }
    }

    fn report_failure(&self, server: &Self, error: &sqlx::Error) {
        self.forget_locations([self.company_id]);
        report_failure(&server.pool, error);
    }

    /// Chooses the Citus node of the [company](Self::of_company) for a read that begins now.
    async fn node_for_read(&self, citus: &Citus) -> Option<Self> {
        if self.company_id > 0 {
            citus.locate(&self.pool, &[self.company_id]).await;
        }
        self.node()
    }

    /// Returns the rows of a statement.
    pub(crate) async fn rows<'q, E: 'q + Execute<'q, Postgres>>(&self, query: E) -> Result<Vec<PgRow>, sqlx::Error> {
        let mut borrowed = self.borrow_connection().await?;
        let (connection, epoch) = borrowed.connection()?;
        let result = match self.citus {
            Some(_) => epoch.unless_hung(self.session(connection).rows(query)).await?,
            None => epoch.unless_hung(connection.fetch_all(query)).await?,
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

/// Runs a read, on Citus on the company's node if it responds.
///
/// A read that fails on a node runs again through the coordinator. It is retried once if its connection is dead. If it waits too long
/// for a lock, such as that of a schema change, it returns its connection and is retried.
pub async fn retried<T, F: Future<Output = Result<T, sqlx::Error>>>(
    from: &Connections,
    run: impl Fn(Connections) -> F,
) -> Result<T, sqlx::Error> {
    let mut node = match &from.citus {
        Some(citus) => Box::pin(from.node_for_read(citus)).await,
        None => None,
    };
    let (mut disconnected, mut stale, start) = (false, false, Instant::now());
    loop {
        let result = run(node.as_ref().unwrap_or(from).clone()).await;
        let Err(error) = result else {
            if from.citus.is_some() {
                count_read(node.is_some());
            }
            return result;
        };
        if let Some(failed) = node.take() {
            from.report_failure(&failed, &error);
            count_retry(RETRY_NODE);
        } else if is_disconnected(&error) && !disconnected {
            count_retry(RETRY_CONNECTION);
            disconnected = true;
        } else if is_stale(&error) && !stale {
            count_retry(RETRY_CONNECTION);
            stale = true;
        } else if (is_lock_timeout(&error) || is_moved(&error)) && start.elapsed() < LOCK_WAIT {
            count_retry(RETRY_LOCK);
        } else {
            return Err(error);
        }
    }
}

/// Runs a short read by key, and retries it once.
///
/// It is retried if its connection is dead or hangs.
pub async fn short_read<T, F: Future<Output = Result<T, sqlx::Error>>>(
    from: &Connections,
    run: impl Fn(Connections) -> F,
) -> Result<T, sqlx::Error> {
    if let Ok(result) = timeout(SHORT_READ_TIMEOUT, retried(from, &run)).await {
        return result;
    }
    count_retry(RETRY_SILENCE);
    tracing::warn!("a read by key got no response within {} s and is retried", SHORT_READ_TIMEOUT.as_secs());
    run(from.clone()).await
}
