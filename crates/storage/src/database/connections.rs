//! The connections of a service to its database, for statements of a certain kind.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use telemetry::background::{Task, supervise};
use tokio::{sync::watch, task::JoinSet};

use super::{
    borrowed::BorrowedConnection,
    citus::{Calls, Locations, NodeConnections, Scope, Session},
    open::Database,
    other_servers::{probe_other, report_failure},
    pool::Pool,
    probe::probe,
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
    /// How long a statement waits for each lock.
    lock_timeout: &'static str,
    /// Whether the statements are writes of a call: none begins once its caller has left.
    of_call: bool,
    /// On Citus, the first company of the statements, which are all on its node; 0 for companies on several nodes.
    pub(super) company_id: i64,
    /// How many records of a kind a statement may create.
    new_records: usize,
    /// Where reads may run instead.
    replicas: Option<Arc<Replicas>>,
    /// What a replica must have replayed before a statement.
    required: Option<Position>,
}

/// How statements reach the nodes of Citus. Empty on plain PostgreSQL.
#[derive(Debug, Default)]
struct Citus {
    calls: Calls,
    locations: Locations,
    nodes: NodeConnections,
}

impl Connections {
    /// The connections to the database of a pool, which must have the tables and input types that are expected. Their limit is
    /// that of the pool, which itself uses at most one connection at a time.
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

    /// These connections, with those to the replicas of the database for reads.
    #[must_use]
    pub fn with_replicas(&self, database: &Database) -> Self {
        let replicas = database.replicas.as_ref().map(|target| Arc::new(Replicas::new(&self.pool, target)));
        Self { replicas, ..self.clone() }
    }

    /// Adds the tasks that keep it known which servers can be used, until they are dropped: the primary, the replicas, and, if
    /// `with_nodes`, the nodes of Citus.
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

    /// For writes of a call: none begins once its caller has left, and each waits for locks only briefly.
    #[must_use]
    pub fn of_call(&self) -> Self {
        Self { of_call: true, ..self.with_lock_timeout(FIRST_LOCK_TIMEOUT) }
    }

    /// For statements that wait this long for each lock, such as `50ms`.
    #[must_use]
    pub fn with_lock_timeout(&self, lock_timeout: &'static str) -> Self {
        Self { lock_timeout, ..self.clone() }
    }

    /// For statements of one company only.
    #[must_use]
    pub fn of_company(&self, company_id: i64) -> Self {
        Self { company_id, ..self.clone() }
    }

    /// For statements that may create so many records of a kind.
    #[must_use]
    pub fn creating(&self, new_records: usize) -> Self {
        Self { new_records, ..self.clone() }
    }

    /// Whether each statement needs its company's node, as on Citus.
    pub fn is_divided(&self) -> bool {
        !self.citus.calls.is_empty()
    }

    /// A borrowed connection for a statement.
    pub fn session<'c>(&'c self, connection: &'c mut PgConnection) -> Session<'c> {
        let Self { company_id, new_records, lock_timeout, .. } = *self;
        Session::new(connection, &self.citus.calls, Scope { company_id, new_records, lock_timeout })
    }

    /// The same session, if it is one of a node of Citus: IDs come from these connections.
    pub fn at_node<'c>(&'c self, session: Session<'c>) -> Session<'c> {
        session.at_node(&self.pool)
    }

    /// Whether its writes may wait for locks longer than others.
    pub fn waits_for_locks(&self) -> bool {
        self.lock_timeout != FIRST_LOCK_TIMEOUT
    }

    /// The attributes of the input types, as the database has them.
    pub fn layouts(&self) -> Arc<Layouts> {
        self.pool.inputs.layouts()
    }

    /// Runs work in a transaction, and records its changes with the current request. The transaction is rolled back unless the result
    /// `is_kept`.
    pub async fn in_transaction<T>(
        &self,
        is_kept: impl FnOnce(&T) -> bool,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let mut borrowed = self.borrow_connection().await?;
        let (connection, generation) = borrowed.transaction()?;
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
        borrowed.in_transaction &= !is_rolled_back;
        borrowed.done(result)
    }

    fn begin_as_writer(&self) -> AssertSqlSafe<String> {
        let writer = statement::writer().replace('\'', "''");
        // Citus sends settings to its nodes if it is asked to.
        let propagate = if self.is_divided() { "set local citus.propagate_set_commands = 'local';" } else { "" };
        AssertSqlSafe(format!("begin;{propagate}set local compliance.changed_by = '{writer}'"))
    }

    /// How many there may be.
    pub fn most(&self) -> u32 {
        self.pool.most()
    }

    /// Whether the database responds, now and whenever that changes.
    pub fn responds(&self) -> watch::Receiver<bool> {
        self.pool.responds.subscribe()
    }

    /// Borrows a connection. Waits a bounded time for one to become free, and not at all while the database is known not
    /// to respond.
    pub async fn borrow_connection(&self) -> Result<BorrowedConnection, sqlx::Error> {
        let borrowed = BorrowedConnection::of(&self.pool, self.lock_timeout, self.required).await?;
        if self.of_call {
            check_caller().await;
        }
        Ok(borrowed)
    }

    /// Divides items into groups that can share a statement: one group, or on Citus one for each node.
    pub async fn divided<T>(&self, items: Vec<T>, company_of: impl Fn(&T) -> i64) -> Vec<Vec<T>> {
        if self.is_divided() { self.citus.locations.divide(&self.pool, items, company_of).await } else { vec![items] }
    }

    /// Forgets where companies were, since one of them has moved.
    pub fn forget_locations(&self, companies: impl IntoIterator<Item = i64>) {
        self.citus.locations.forget(companies);
    }

    /// The connections to the node that has the company's records, if that is known and can be reached.
    pub fn node(&self) -> Option<Self> {
        let pool = self.citus.nodes.get(self.citus.locations.node(self.company_id)?)?;
        Some(Self { pool, ..self.clone() })
    }

    /// Reports that a statement failed on this node. Until the company is located again, its statements go through the coordinator,
    /// which waits for the end of a move.
    pub async fn node_failed(&self, node: &Self, error: &sqlx::Error) {
        self.report_failure(node, error);
        node.pool.inputs.changed(error).await;
    }

    /// Whether reads may run on other servers.
    pub(super) fn has_other_servers(&self) -> bool {
        self.is_divided() || self.replicas.is_some()
    }

    /// The connections to another server for a read of [`company_id`](Self::of_company) that begins now: a replica, or the node of Citus
    /// that has the company's records.
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

    /// Reports that a statement failed on a replica or node that was chosen for it.
    pub(super) fn report_failure(&self, server: &Self, error: &sqlx::Error) {
        self.forget_locations([self.company_id]);
        report_failure(&server.pool, error);
    }

    /// Measures the connections until they are dropped.
    pub(super) fn measure(&self, measure: fn(&Pool) -> usize) -> impl Fn() -> Option<f64> + Send + use<> {
        let pool = Arc::downgrade(&self.pool);
        move || Some(measure(&*pool.upgrade()?) as f64)
    }

    /// Counts the replicas that are used, until they are dropped. `None` without replicas.
    pub(super) fn measure_replicas(&self) -> Option<impl Fn() -> Option<f64> + Send + use<>> {
        let replicas = Arc::downgrade(self.replicas.as_ref()?);
        Some(move || Some(replicas.upgrade()?.in_use() as f64))
    }
}
