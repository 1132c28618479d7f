//! Creates test databases on Citus. `TEST_DATABASE_URL` connects a superuser to the coordinator.

use std::{
    cell::RefCell,
    env, process,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use embedded_postgres::{OWNER_ROLE, SERVICE_ROLE};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool, postgres::PgConnectOptions};
use tokio::{runtime::Runtime, sync::Mutex};

/// Shards per table: enough to place companies on several nodes, and few enough to create in a second.
const SHARDS: u32 = 4;
const PREFIX: &str = "compliance_test_";
const TEMPLATE: &str = "compliance_test_template";

static NODES: OnceLock<Vec<PgConnectOptions>> = OnceLock::new();
/// Locks the roles, which all databases share. Citus cannot sync them to all nodes twice at the same time.
pub(crate) static ROLES: Mutex<()> = Mutex::const_new(());

thread_local! {
    /// Databases of this thread's test.
    static CREATED: RefCell<Created> = const { RefCell::new(Created(Vec::new())) };
}

/// Returns the connection options from the URL in the environment.
fn given() -> Option<PgConnectOptions> {
    let url = env::var("TEST_DATABASE_URL").ok().filter(|url| !url.is_empty())?;
    Some(url.parse().expect("TEST_DATABASE_URL is not a database URL"))
}

/// Creates the roles and an empty template on all nodes, if the environment names a coordinator. Drops databases from earlier runs.
///
/// Returns the connection options for migrating the template.
pub(crate) async fn prepare() -> Option<PgConnectOptions> {
    let coordinator = given()?;
    let mut connection = PgConnection::connect_with(&coordinator).await.unwrap();
    let roles = format!(
        "do $$ begin
            if to_regrole('{OWNER_ROLE}') is null then create role {OWNER_ROLE} login; end if;
            if to_regrole('{SERVICE_ROLE}') is null then create role {SERVICE_ROLE} login; end if;
            grant pg_monitor, pg_signal_backend to {OWNER_ROLE};
        end $$"
    );
    sqlx::raw_sql(AssertSqlSafe(roles)).execute(&mut connection).await.unwrap();
    let workers =
        "select nodename, nodeport from pg_dist_node where noderole = 'primary' and groupid <> 0 order by nodeid";
    let workers: Vec<(String, i32)> = sqlx::query_as(workers).fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let workers = workers.into_iter().map(|(host, port)| coordinator.clone().host(&host).port(port as u16));
    NODES.set(std::iter::once(coordinator.clone()).chain(workers).collect()).unwrap();
    for node in NODES.get().unwrap() {
        let mut connection = PgConnection::connect_with(node).await.unwrap();
        let left = format!("select datname::text from pg_database where starts_with(datname, '{PREFIX}')");
        drop_all(sqlx::query_scalar(AssertSqlSafe(left)).fetch_all(&mut connection).await.unwrap()).await;
        connection.close().await.unwrap();
    }
    create_on_nodes(TEMPLATE, "template0").await;
    let in_template = |node: &PgConnectOptions| node.clone().database(TEMPLATE);
    let nodes = NODES.get().unwrap();
    for node in nodes {
        on(&in_template(node), &["create extension citus".to_owned()]).await;
    }
    let add =
        |function, node: &PgConnectOptions| format!("select {function}('{}', {})", node.get_host(), node.get_port());
    let mut statements = vec![add("citus_set_coordinator_host", &nodes[0])];
    statements.extend(nodes[1..].iter().map(|node| add("citus_add_node", node)));
    on(&in_template(&coordinator), &statements).await;
    Some(in_template(&coordinator).username(OWNER_ROLE))
}

/// Ends all connections to the migrated template, because PostgreSQL only copies databases without connections.
pub(crate) async fn close_template() {
    for node in NODES.get().unwrap() {
        let close = format!("alter database {TEMPLATE} allow_connections false");
        let end = format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{TEMPLATE}'");
        on(node, &[close, end]).await;
    }
}

async fn on(node: &PgConnectOptions, statements: &[String]) {
    let mut connection = PgConnection::connect_with(node).await.unwrap();
    for statement in statements {
        sqlx::raw_sql(AssertSqlSafe(statement.clone())).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
}

async fn create_on_nodes(name: &str, template: &str) {
    let created = NODES.get().unwrap().iter().map(async |node| {
        let database = format!("create database {name} owner {OWNER_ROLE} template {template}");
        let shards = format!("alter database {name} set citus.shard_count = {SHARDS}");
        // Follows docs/operations/citus.md.
        let locks = format!("alter role {SERVICE_ROLE} in database {name} set lock_timeout = '100ms'");
        let counters = format!("alter database {name} set citus.enable_stat_counters = on");
        on(node, &["set citus.enable_ddl_propagation = off".to_owned(), database, shards, counters, locks]).await;
    });
    futures::future::join_all(created).await;
}

/// Copies the template on all nodes. Returns the copy's connection options for its owner, and its URL.
pub(crate) async fn create() -> (PgConnectOptions, String) {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let name = format!("{PREFIX}{}_{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    CREATED.with_borrow_mut(|created| created.0.push(name.clone()));
    create_on_nodes(&name, TEMPLATE).await;
    let coordinator = NODES.get().unwrap()[0].clone().database(&name).username(OWNER_ROLE);
    let url =
        format!("postgres://{OWNER_ROLE}@{}:{}/{name}?sslmode=disable", coordinator.get_host(), coordinator.get_port());
    (coordinator, url)
}

/// A test's databases, dropped when its thread ends.
struct Created(Vec<String>);

impl Drop for Created {
    fn drop(&mut self) {
        let databases = std::mem::take(&mut self.0);
        let dropping = || Runtime::new().unwrap().block_on(drop_all(databases));
        let _ = thread::spawn(dropping).join();
    }
}

/// Drops databases. If Citus has an open transaction in a database, the next run drops the database.
async fn drop_all(databases: Vec<String>) {
    let Some(nodes) = NODES.get().filter(|_| !databases.is_empty()) else { return };
    let dropped = nodes.iter().map(async |node| {
        let mut connection = PgConnection::connect_with(node).await.unwrap();
        sqlx::raw_sql("set citus.enable_ddl_propagation = off").execute(&mut connection).await.unwrap();
        for name in &databases {
            let drop = format!("drop database if exists {name} with (force)");
            let _ = sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut connection).await;
        }
        connection.close().await.unwrap();
    });
    futures::future::join_all(dropped).await;
}

/// Returns the table of client connections: `pg_stat_activity`, or its equivalent for all nodes on Citus.
pub fn activity() -> &'static str {
    if NODES.get().is_some() {
        "(select * from citus_stat_activity where not is_worker_query) activity"
    } else {
        "pg_stat_activity"
    }
}

/// Connects a superuser to the pool's database on the coordinator. Returns `None` if tests do not run on Citus.
pub async fn connect_to_citus(pool: &PgPool) -> Option<PgConnection> {
    let [coordinator, ..] = &NODES.get()?[..] else { return None };
    let options = pool.connect_options();
    let coordinator = coordinator.clone().database(options.get_database()?);
    Some(PgConnection::connect_with(&coordinator).await.unwrap())
}

/// Returns the connection options and shards of each node that contains a table's shards.
///
/// Without Citus, returns the server's options and the table.
pub(crate) async fn shards(pool: &PgPool, table: &str) -> Vec<(PgConnectOptions, String)> {
    let options = pool.connect_options().as_ref().clone();
    let Some([coordinator, ..]) = NODES.get().map(Vec::as_slice) else { return vec![(options, table.to_owned())] };
    let shards = "select n.nodename, n.nodeport, string_agg(shard_name(s.logicalrelid, s.shardid), ', ')
        from pg_dist_shard s join pg_dist_placement p using (shardid) join pg_dist_node n using (groupid)
        where s.logicalrelid = $1::regclass group by n.nodename, n.nodeport";
    let shards: Vec<(String, i32, String)> = sqlx::query_as(shards).bind(table).fetch_all(pool).await.unwrap();
    let database = options.get_database().unwrap();
    let coordinator = coordinator.clone().options([("citus.enable_manual_changes_to_shards", "on")]);
    let node = |host: &str, port| coordinator.clone().host(host).port(port as u16).database(database);
    shards.into_iter().map(|(host, port, shards)| (node(&host, port), shards)).collect()
}
