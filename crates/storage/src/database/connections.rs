//! The connections of a service to its database.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use telemetry::background::{Task, supervise};
use tokio::{sync::watch, task::JoinSet};

use super::{
    borrowed::BorrowedConnection,
    citus::{Calls, Locations, NodeConnections, Scope, Session},
    open::Database,
    pool::Pool,
    probe::{probe, probe_other, report_failure},
    replay::Position,
    replicas::Replicas,
};
use crate::{
    Schema,
    deadline::check_caller,
    limits::{FIRST_LOCK_TIMEOUT, LOCK_TIMEOUT},
    statement,
    table::{Expected, Inputs, Layouts, SchemaError},
};

/// The connections of a service. Clones share them.
#[derive(Clone, Debug)]
pub struct Connections {
    pub(super) pool: Arc<Pool>,
    citus: Arc<Citus>,
    /// Lock timeout of statements.
    lock_timeout: &'static str,
    /// Whether statements are writes of a call, which must not begin after its caller has left.
    of_call: bool,
    /// On Citus, the first company of a statement, which runs on its node. 0 for companies on several nodes.
    pub(super) company_id: i64,
    /// Number of records of a kind that a statement may create.
    new_records: usize,
    /// Replicas that may serve reads.
    replicas: Option<Arc<Replicas>>,
    /// Position that a replica must have replayed before a statement.
    required: Option<Position>,
}

/// How statements reach Citus nodes. Empty on plain PostgreSQL.
#[derive(Debug, Default)]
struct Citus {
    calls: Calls,
    locations: Locations,
    nodes: NodeConnections,
}

impl Connections {
    /// Checks a database's tables and types, and returns connections to it.
    ///
    /// The limit is the limit of its pool.
    pub async fn open(database: &Database, expected: Expected, schema: &Schema) -> Result<Self, SchemaError> {
        let inputs = Inputs::open(&database.pool, expected).await?;
        let calls = if database.on_citus { Calls::of_citus(schema) } else { Calls::default() };
        Ok(Self {
            pool: Pool::new(database, Arc::new(inputs), None, true),
            citus: Arc::new(Citus { calls, ..Citus::default() }),
            lock_timeout: LOCK_TIMEOUT,
            of_call: false,
            company_id: 0,
            new_records: 0,
            replicas: None,
            required: None,
        })
    }

    /// Adds the replicas of the database for reads.
    #[must_use]
    pub fn with_replicas(&self, database: &Database) -> Self {
        let replicas = database.replicas.as_ref().map(|target| Arc::new(Replicas::new(&self.pool, target)));
        Self { replicas, ..self.clone() }
    }

    /// Adds the tasks that check which servers respond. They check the primary, the replicas, and if `with_nodes` the Citus nodes.
    pub fn watch_servers(&self, tasks: &mut JoinSet<()>, with_nodes: bool) {
        let primary = Arc::clone(&self.pool);
        tasks.spawn(supervise("database probe", move |task| probe(Arc::clone(&primary), task)));
        for replica in self.replicas.iter().flat_map(|replicas| &replicas.all) {
            let (replica, written) =
                (Arc::clone(replica), self.replicas.as_ref().map(|replicas| replicas.written.clone()));
            let probe = move |task| probe_other(Arc::clone(&replica), written.clone(), task);
            tasks.spawn(supervise("replica probe", probe));
        }
        if with_nodes && self.is_divided() {
            let coordinator = self.clone();
            let watch = move |task: Arc<Task>| {
                let coordinator = coordinator.clone();
                async move { coordinator.citus.nodes.watch(&coordinator.pool, &task).await }
            };
            tasks.spawn(supervise("node watch", watch));
        }
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
        !self.citus.calls.is_empty()
    }

    /// Prepares a borrowed connection for a statement.
    pub fn session<'c>(&'c self, connection: &'c mut PgConnection) -> Session<'c> {
        let Self { company_id, new_records, lock_timeout, .. } = *self;
        Session::new(connection, &self.citus.calls, Scope { company_id, new_records, lock_timeout })
    }

    /// Marks a session of a Citus node.
    ///
    /// New IDs of its statements come from these connections.
    pub fn at_node<'c>(&'c self, session: Session<'c>) -> Session<'c> {
        session.at_node(&self.pool)
    }

    /// Returns whether writes may wait for locks longer than a first attempt.
    pub fn waits_for_locks(&self) -> bool {
        self.lock_timeout != FIRST_LOCK_TIMEOUT
    }

    /// Returns the layouts of the input types.
    pub fn layouts(&self) -> Arc<Layouts> {
        self.pool.inputs.layouts()
    }

    /// Runs work in a transaction that records its changes.
    ///
    /// The changes are recorded with the current request.
    ///
    /// Rolls back if the work fails, or if `should_commit` returns false for its result.
    pub async fn in_transaction<T>(
        &self,
        should_commit: impl FnOnce(&T) -> bool,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let mut borrowed = self.borrow_connection().await?;
        let (connection, epoch) = borrowed.transaction()?;
        // After a rollback the whole response was read, so the connection can be used again.
        let mut is_rolled_back = false;
        let working = async {
            let mut transaction = connection.begin_with(self.begin_as_writer()).await?;
            match work(&mut transaction).await {
                Ok(result) if should_commit(&result) => {
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
        let result = epoch.unless_hung(working).await?;
        borrowed.in_transaction &= !is_rolled_back;
        borrowed.done(result)
    }

    fn begin_as_writer(&self) -> AssertSqlSafe<String> {
        let writer = statement::writer().replace('\'', "''");
        // Only with this setting, Citus sends settings to its nodes.
        let propagate = if self.is_divided() { "set local citus.propagate_set_commands = 'local';" } else { "" };
        AssertSqlSafe(format!("begin;{propagate}set local compliance.changed_by = '{writer}'"))
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
        if self.is_divided() { self.citus.locations.divide(&self.pool, items, company_of).await } else { vec![items] }
    }

    /// Forgets the nodes of companies, because one of them has moved.
    pub fn forget_locations(&self, companies: impl IntoIterator<Item = i64>) {
        self.citus.locations.forget(companies);
    }

    /// Returns the connections to the company's node, if it responds.
    ///
    /// `None` also if the node is unknown.
    pub fn node(&self) -> Option<Self> {
        let pool = self.citus.nodes.get(self.citus.locations.node(self.company_id)?)?;
        Some(Self { pool, ..self.clone() })
    }

    /// Reports that a statement failed on a node.
    ///
    /// Until the company is located again, its statements go through the coordinator, which waits until a move has ended.
    pub async fn node_failed(&self, node: &Self, error: &sqlx::Error) {
        self.report_failure(node, error);
        node.pool.inputs.changed(error).await;
    }

    /// Returns whether reads may run on other servers.
    pub(super) fn has_other_servers(&self) -> bool {
        self.is_divided() || self.replicas.is_some()
    }

    /// Chooses another server for a read that begins now: a replica, or the Citus node of the [company](Self::of_company).
    pub(super) async fn server_for_read(&self) -> Option<Self> {
        if let Some(replicas) = &self.replicas {
            let (pool, required) = replicas.for_read().await?;
            return Some(Self {
                pool,
                required: Some(required),
                lock_timeout: LOCK_TIMEOUT,
                of_call: false,
                ..self.clone()
            });
        }
        if self.company_id > 0 {
            self.citus.locations.locate(&self.pool, &[self.company_id]).await;
        }
        self.node()
    }

    /// Reports that a statement failed on a replica or node.
    pub(super) fn report_failure(&self, server: &Self, error: &sqlx::Error) {
        self.forget_locations([self.company_id]);
        report_failure(&server.pool, error);
    }

    /// Returns a measurement of the connections. It returns `None` once they are dropped.
    pub(super) fn measure(&self, measure: fn(&Pool) -> usize) -> impl Fn() -> Option<f64> + Send + use<> {
        let pool = Arc::downgrade(&self.pool);
        move || Some(measure(&*pool.upgrade()?) as f64)
    }

    /// Returns a measurement of the replicas in use, if there are replicas.
    pub(super) fn measure_replicas(&self) -> Option<impl Fn() -> Option<f64> + Send + use<>> {
        let replicas = Arc::downgrade(self.replicas.as_ref()?);
        Some(move || Some(replicas.upgrade()?.in_use() as f64))
    }
}
