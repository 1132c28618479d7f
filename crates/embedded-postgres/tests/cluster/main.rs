//! Tests starting, using, killing and recovering the private database, and running it as another user.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "the test's runtime aborts its tasks")]

mod life;
mod privilege;
mod recovery;
mod service;

use std::time::Duration;

use embedded_postgres::{ClusterOptions, Endpoint, OWNER_ROLE};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection};
use test_support::DataDir;

/// Database used by the tests.
const DATABASE: &str = "compliance";

/// Returns a service's options for a data folder. The data is durable, because the tests kill services.
fn options(data: &DataDir) -> ClusterOptions {
    let mut options = ClusterOptions::new(data.path());
    options.shared_buffers_mib = 32;
    options.lock_timeout = Duration::ZERO;
    options
}

async fn connect(endpoint: &Endpoint) -> PgConnection {
    endpoint.options(OWNER_ROLE, DATABASE).connect().await.unwrap()
}

/// Commits a row on a separate connection.
async fn put(endpoint: &Endpoint, value: i32) {
    let mut connection = connect(endpoint).await;
    let statement = format!("CREATE TABLE IF NOT EXISTS kept (value int); INSERT INTO kept VALUES ({value})");
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// Returns the committed rows.
async fn kept(endpoint: &Endpoint) -> Vec<i32> {
    let mut connection = connect(endpoint).await;
    sqlx::query_scalar("SELECT value FROM kept ORDER BY value").fetch_all(&mut connection).await.unwrap()
}
