//! Creates test databases: a migrated template, and a copy for each test.

use std::{
    fs::{self, OpenOptions},
    future::pending,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use core_server::database::{DatabaseError, Target};
use embedded_postgres::{ADMIN_ROLE, ClusterOptions, Endpoint, OWNER_ROLE, SERVICE_ROLE};
use nix::unistd::{Uid, User};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, postgres::PgConnectOptions};

use tokio::{
    runtime::Runtime,
    sync::{OnceCell, oneshot},
};

use crate::{TestCluster, citus, pooler::Pooler};

const TEMPLATE: &str = "template_of_tests";

/// This program's database server, or `None` if the test databases are on Citus.
static SERVER: OnceCell<Option<Endpoint>> = OnceCell::const_new();
/// The pooler in front of the server, if all services of this program use it.
static POOLER: Mutex<Option<Pooler>> = Mutex::new(None);

/// A migrated database that no other test uses.
#[derive(Debug)]
pub struct TestDatabase {
    /// The owner's connection options. Services connect as a role that owns nothing.
    pub options: PgConnectOptions,
    /// The `postgres://` URL.
    pub url: String,
    /// The server's socket. Empty on Citus.
    pub socket: PathBuf,
}

/// Settings with few server connections, so that transactions often switch connections.
const POOLER_SETTINGS: &str = "pool_mode = transaction
max_prepared_statements = 300
default_pool_size = 12
server_round_robin = 1
server_idle_timeout = 10
max_client_conn = 2000";

/// Starts the pooler that the environment names, if any, in front of the server in this folder.
pub(crate) async fn start_pooler(endpoint: &Endpoint, folder: &Path) {
    let Some(program) = Pooler::given() else { return };
    let server_folder = folder.join("postgres");
    // The server authenticates clients by the user of their process.
    let user = fs::metadata(&server_folder).unwrap().uid();
    let user = User::from_uid(Uid::from_raw(user)).unwrap().unwrap().name;
    let mut users = OpenOptions::new().append(true).open(folder.join("postgres.ident")).unwrap();
    writeln!(users, "compliance \"{user}\" {SERVICE_ROLE}").unwrap();
    let mut admin = PgConnection::connect_with(&endpoint.options(ADMIN_ROLE, "postgres")).await.unwrap();
    sqlx::raw_sql("select pg_reload_conf()").execute(&mut admin).await.unwrap();
    let server = format!("host={} port=5432", endpoint.socket_dir().display());
    let pooler = Pooler::start(&program, &server, SERVICE_ROLE, POOLER_SETTINGS, &server_folder);
    *POOLER.lock().unwrap() = Some(pooler);
    // The service's error contains the settings that its role needs. Applies them to all databases.
    let target = Target::from(behind_pooler(endpoint.options(SERVICE_ROLE, "postgres")));
    match core_server::database::open(target, 1).await {
        Err(DatabaseError::SharedSettings { statements, .. }) => {
            let statements = statements.replace(" in database postgres", "");
            sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut admin).await.unwrap();
        }
        other => panic!("{} {other:?}", program.display()),
    }
    eprintln!("services connect through {}", program.display());
}

/// Returns a service's connection options, through the pooler if it serves the database.
pub(crate) fn behind_pooler(options: PgConnectOptions) -> PgConnectOptions {
    let socket = SERVER.get().and_then(Option::as_ref).map(Endpoint::socket_dir);
    match &*POOLER.lock().unwrap() {
        Some(pooler) if options.get_socket().map(PathBuf::as_path) == socket => {
            pooler.url(options.get_username(), options.get_database().unwrap()).parse().unwrap()
        }
        _ => options,
    }
}

/// Returns the server. The first test starts the server in a separate thread, because the server outlives that test.
async fn server() -> Option<&'static Endpoint> {
    let start = || async {
        let (started, server) = oneshot::channel();
        thread::spawn(|| {
            Runtime::new().unwrap().block_on(async {
                if let Some(template) = citus::prepare().await {
                    migrate(template).await;
                    citus::close_template().await;
                    let _ = started.send(None);
                    return;
                }
                let mut options = ClusterOptions::temporary();
                // Each concurrent service opens its own connections.
                options.max_connections = 400;
                let folder = options.data_dir.clone();
                let server = TestCluster::start(options).await;
                server.endpoint.create_database(TEMPLATE).await.unwrap();
                migrate(server.endpoint.options(OWNER_ROLE, TEMPLATE)).await;
                start_pooler(&server.endpoint, &folder).await;
                let _ = started.send(Some(server.endpoint.clone()));
                pending::<()>().await;
            });
        });
        server.await.expect("cannot start the tests' database server")
    };
    SERVER.get_or_init(start).await.as_ref()
}

async fn migrate(options: PgConnectOptions) {
    let pool = core_server::database::connect(options, 2).await.unwrap();
    core_server::database::migrate(&pool).await.unwrap();
    pool.close().await;
}

/// Creates a database for a test, on this program's server or on Citus.
pub async fn fresh_database() -> TestDatabase {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let database = if let Some(endpoint) = server().await {
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let mut admin = PgConnection::connect_with(&endpoint.options(ADMIN_ROLE, "postgres")).await.unwrap();
        let statement = format!("create database {name} owner {OWNER_ROLE} template {TEMPLATE}");
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut admin).await.unwrap();
        admin.close().await.unwrap();
        TestDatabase {
            options: endpoint.options(OWNER_ROLE, &name),
            url: endpoint.url(OWNER_ROLE, &name),
            socket: endpoint.socket_dir().join(".s.PGSQL.5432"),
        }
    } else {
        let (options, url) = citus::create().await;
        TestDatabase { options, url, socket: PathBuf::new() }
    };
    // Replaces the identity copied from the template.
    let mut owner = PgConnection::connect_with(&database.options).await.unwrap();
    sqlx::raw_sql("update database_identity set identity = current_identity()").execute(&mut owner).await.unwrap();
    owner.close().await.unwrap();
    database
}

impl TestDatabase {
    /// Creates and migrates a database on a test's own server.
    pub async fn create(endpoint: &Endpoint, name: &str) -> Self {
        endpoint.create_database(name).await.unwrap();
        migrate(endpoint.options(OWNER_ROLE, name)).await;
        Self {
            options: endpoint.options(OWNER_ROLE, name),
            url: endpoint.url(OWNER_ROLE, name),
            socket: endpoint.socket_dir().join(".s.PGSQL.5432"),
        }
    }
}
