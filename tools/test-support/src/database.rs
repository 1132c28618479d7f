//! Databases: one migrated template, and a copy of it for each test.

use std::{
    path::PathBuf,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use embedded_postgres::{ADMIN_ROLE, Endpoint, OWNER_ROLE};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, postgres::PgConnectOptions};

const TEMPLATE: &str = "template_of_tests";

static ENDPOINT: OnceLock<Endpoint> = OnceLock::new();

/// A migrated database that no other test uses.
#[derive(Debug)]
pub struct TestDatabase {
    /// How to connect to it as its owner. Services of tests connect as a role that owns nothing.
    pub options: PgConnectOptions,
    /// Its `postgres://` address.
    pub url: String,
    /// The socket of its server.
    pub socket: PathBuf,
}

/// Creates and migrates the template.
pub(crate) async fn prepare(endpoint: &Endpoint) {
    endpoint.create_database(TEMPLATE).await.unwrap();
    migrate(endpoint.options(OWNER_ROLE, TEMPLATE)).await;
    ENDPOINT.set(endpoint.clone()).unwrap();
}

async fn migrate(options: PgConnectOptions) {
    let pool = core_server::database::connect(options, 2).await.unwrap();
    core_server::database::migrate(&pool).await.unwrap();
    pool.close().await;
}

/// Creates a database for a test, in the server that [`run`](crate::run) started.
pub async fn fresh_database() -> TestDatabase {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let endpoint = ENDPOINT.get().expect("tests that need a database are started by `test_support::run`");
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
}

impl TestDatabase {
    /// Creates and migrates a database in a server of the test's own.
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
