//! Databases: one template that is migrated, and a copy of it for each test.

use std::sync::{
    OnceLock,
    atomic::{AtomicU32, Ordering},
};

use embedded_postgres::Endpoint;
use sqlx::postgres::PgConnectOptions;

const TEMPLATE: &str = "template_of_tests";

static ENDPOINT: OnceLock<Endpoint> = OnceLock::new();

/// Makes the template.
pub(super) async fn prepare(endpoint: &Endpoint) {
    endpoint.create_database(TEMPLATE).await.unwrap();
    let pool = core_server::database::connect(endpoint.connect_options(TEMPLATE), 2).await.unwrap();
    core_server::database::migrate(&pool).await.unwrap();
    pool.close().await;
    ENDPOINT.set(endpoint.clone()).unwrap();
}

/// A migrated database that nobody else uses: how to connect to it, and its address.
pub(crate) async fn fresh_database() -> (PgConnectOptions, String) {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let endpoint = ENDPOINT.get().unwrap();
    let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    endpoint.create_database_from(&name, TEMPLATE).await.unwrap();
    (endpoint.connect_options(&name), endpoint.url(&name))
}
