//! The connections of a service to its database: what statements run on, and where reads run.

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
    probe::{probe, probe_other, report_failure},
    replay::Position,
    replicas::Replicas,
};
use crate::{
    Schema,
    deadline::check_caller,
    error::{is_disconnected, is_lock_timeout, is_moved, is_stale},
    limits::{FIRST_LOCK_TIMEOUT, LOCK_TIMEOUT, LOCK_WAIT},
    metrics::{RETRY_CONNECTION, RETRY_LOCK, RETRY_REPLICA, RETRY_SILENCE, count_read, count_retry},
    statement::Watch,
    table::{Expected, Inputs, Layouts, SchemaError},
};

/// Timeout of the first attempt of a read by key, which takes milliseconds.
const SHORT_READ_TIMEOUT: Duration = Duration::from_secs(3);

/// The connections of a service. Clones share them.
#[derive(Clone, Debug)]
pub struct Connections {
    pub(super) pool: Arc<Pool>,
    pub(super) servers: Option<Servers>,
    /// Lock timeout of statements.
    lock_timeout: &'static str,
    /// Whether statements are writes of a call, which must not begin after its caller has left.
    of_call: bool,
    /// On Citus, the first company of a statement, which runs on its node. 0 for companies on several nodes.
    company_id: i64,
    /// Number of records of a kind that a statement may create.
    new_records: usize,
    /// Position that a replica must have replayed before a statement.
    required: Option<Position>,
    /// For a Citus node: the coordinator, which draws new IDs.
    coordinator: Option<Arc<Pool>>,
}

/// Servers other than the primary. Citus has no replicas.
#[derive(Clone, Debug)]
pub(super) enum Servers {
    Citus(Arc<Citus>),
    /// They may serve reads.
    Replicas(Arc<Replicas>),
}

impl Connections {
    /// Checks a database's tables and types, and returns connections to it.
    ///
    /// The limit is the limit of its pool.
    pub async fn open(database: &Database, expected: Expected, schema: &Schema) -> Result<Self, SchemaError> {
        let inputs = Inputs::open(&database.pool, expected).await?;
        Ok(Self {
            pool: Pool::new(database, Arc::new(inputs), None, true),
            servers: database.on_citus.then(|| Servers::Citus(Arc::new(Citus::new(schema)))),
            lock_timeout: LOCK_TIMEOUT,
            of_call: false,
            company_id: 0,
            new_records: 0,
            required: None,
            coordinator: None,
        })
    }

    /// Adds the replicas of the database for reads.
    #[must_use]
    pub fn with_replicas(&self, database: &Database) -> Self {
        let replicas = database.replicas.as_ref().map(|target| Arc::new(Replicas::new(&self.pool, target)));
        Self { servers: replicas.map(Servers::Replicas).or(self.servers.clone()), ..self.clone() }
    }

    /// Adds the tasks that check which servers respond. They check the primary, the replicas, and if `with_nodes` the Citus nodes.
    pub fn watch_servers(&self, tasks: &mut JoinSet<()>, with_nodes: bool) {
        let primary = Arc::clone(&self.pool);
        match self.servers.clone() {
            Some(Servers::Replicas(replicas)) => {
                for replica in replicas.all.clone() {
                    let written = replicas.written.clone();
                    let probe = move |task| probe_other(Arc::clone(&replica), Some(written.clone()), task);
                    tasks.spawn(supervise("replica probe", probe));
                }
            }
            Some(Servers::Citus(citus)) if with_nodes => {
                let coordinator = Arc::clone(&primary);
                let watch = move |task| Arc::clone(&citus).watch(Arc::clone(&coordinator), task);
                tasks.spawn(supervise("node watch", watch));
            }
            _ => {}
        }
        tasks.spawn(supervise("database probe", move |task| probe(Arc::clone(&primary), task)));
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

    fn citus(&self) -> Option<&Citus> {
        if let Some(Servers::Citus(citus)) = &self.servers { Some(citus) } else { None }
    }

    /// Returns whether each statement runs on its company's node, as on Citus.
    pub fn is_divided(&self) -> bool {
        self.citus().is_some()
    }

    /// Prepares a borrowed connection for a statement.
    pub fn session<'c>(&'c self, connection: &'c mut PgConnection) -> Session<'c> {
        let Self { company_id, new_records, lock_timeout, .. } = *self;
        let (calls, scope) = (self.citus().map(|citus| &citus.calls), Scope { company_id, new_records, lock_timeout });
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
        let borrowed = BorrowedConnection::of(&self.pool, self.lock_timeout, self.required).await?;
        if self.of_call {
            check_caller().await;
        }
        Ok(borrowed)
    }

    /// Divides items into groups that can share a statement. On Citus, each node has a group; otherwise there is one.
    pub async fn divided<T>(&self, items: Vec<T>, company_of: impl Fn(&T) -> i64) -> Vec<Vec<T>> {
        match self.citus() {
            Some(citus) => citus.divide(&self.pool, items, company_of).await,
            None => vec![items],
        }
    }

    /// Forgets the nodes of companies, because one of them has moved.
    pub fn forget_locations(&self, companies: impl IntoIterator<Item = i64>) {
        if let Some(citus) = self.citus() {
            citus.forget(companies);
        }
    }

    /// Returns the connections to the company's node, if it responds.
    ///
    /// `None` also if the node is unknown.
    pub fn node(&self) -> Option<Self> {
        let (pool, coordinator) = (self.citus()?.node(self.company_id)?, Some(Arc::clone(&self.pool)));
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

    /// Chooses another server for a read that begins now: a replica, or the Citus node of the [company](Self::of_company).
    async fn server_for_read(&self, servers: &Servers) -> Option<Self> {
        match servers {
            Servers::Replicas(replicas) => {
                let (pool, required) = replicas.for_read().await?;
                let (lock_timeout, of_call) = (LOCK_TIMEOUT, false);
                Some(Self { pool, required: Some(required), lock_timeout, of_call, ..self.clone() })
            }
            Servers::Citus(citus) => {
                if self.company_id > 0 {
                    citus.locate(&self.pool, &[self.company_id]).await;
                }
                self.node()
            }
        }
    }

    /// Returns the rows of a statement.
    pub(crate) async fn rows<'q, E: 'q + Execute<'q, Postgres>>(&self, query: E) -> Result<Vec<PgRow>, sqlx::Error> {
        let mut borrowed = self.borrow_connection().await?;
        let (connection, epoch) = borrowed.connection()?;
        let result = match self.servers {
            Some(Servers::Citus(_)) => epoch.unless_hung(self.session(connection).rows(query)).await?,
            _ => epoch.unless_hung(connection.fetch_all(query)).await?,
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

/// Runs a read on a replica or Citus node, or the primary.
///
/// The primary serves it if no replica or node can.
///
/// A read that fails on another server runs again on the primary. There it is retried once if its connection is dead. If it waits too long
/// for a lock, such as that of a schema change, it returns its connection and is retried.
pub async fn retried<T, F: Future<Output = Result<T, sqlx::Error>>>(
    from: &Connections,
    run: impl Fn(Connections) -> F,
) -> Result<T, sqlx::Error> {
    let mut other = match &from.servers {
        Some(servers) => Box::pin(from.server_for_read(servers)).await,
        None => None,
    };
    let (mut disconnected, mut stale, start) = (false, false, Instant::now());
    loop {
        let result = run(other.as_ref().unwrap_or(from).clone()).await;
        let Err(error) = result else {
            if from.servers.is_some() {
                count_read(from.is_divided(), other.is_some());
            }
            return result;
        };
        if let Some(failed) = other.take() {
            from.report_failure(&failed, &error);
            count_retry(RETRY_REPLICA);
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
