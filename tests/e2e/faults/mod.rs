//! Database and network faults: nothing hangs, every response is correct, and no acknowledged write is lost.

mod abandoned;
mod frozen;
mod killed;
mod left;
mod lost_answers;
mod silent;

use std::time::{Duration, Instant};

use embedded_postgres::ClusterOptions;
use futures::future::join_all;
use test_support::{Options, RestClient, RestResponse, TestCluster, TestDatabase, TestService};

/// Maximum time on a busy machine. docs/promises/database.md promises shorter times.
const PATIENCE: Duration = Duration::from_mins(1);
/// Number of measurements per promised time.
const ROUNDS: usize = 3;
/// Promised time to notice a lost database.
const NOTICED: Duration = Duration::from_secs(1);
/// Promised time to notice a silent database.
const SILENCE_NOTICED: Duration = Duration::from_secs(3);
/// Promised time to serve calls again.
const SERVED: Duration = Duration::from_secs(2);
/// Allowed multiple of the promised time, because other tests share the processors.
const SLACK: u32 = 3;

/// Checks measured times against the promise in docs/promises/database.md.
fn hold(what: &str, promised: Duration, measured: &[Duration]) {
    println!("{what}: {measured:?}");
    let fastest = measured.iter().min().expect("no measurements");
    assert!(*fastest < promised * SLACK, "{what}: promised {promised:?}, measured {measured:?}");
}

/// Starts a service with its own database server, which the test can stop and kill.
async fn service_of_its_own(supervise: bool) -> (TestService, TestCluster, TestDatabase) {
    let mut options = ClusterOptions { supervise, ..ClusterOptions::temporary() };
    // Acknowledged writes must survive a killed server.
    options.durable = true;
    let cluster = TestCluster::start(options).await;
    let database = TestDatabase::create(&cluster.endpoint, "faults").await;
    let service = TestService::over(database.options.clone(), Options::default()).await;
    (service, cluster, database)
}

/// Waits until `done` returns true, and returns the elapsed time.
async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !done().await {
        assert!(start.elapsed() < PATIENCE, "timed out waiting until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    start.elapsed()
}

/// Returns an endpoint's status, without sending a token.
async fn status(rest: &RestClient, path: &str) -> u16 {
    RestResponse::of(rest.request_to("GET", path)).await.status
}

/// Creates an affiliate over REST.
fn create(rest: &RestClient, name: &str) -> impl Future<Output = RestResponse> + use<> {
    let body = format!(r#"{{"client_affiliate_id":"C","affiliate_name":"{name}"}}"#);
    RestResponse::of(rest.request("POST", "/affiliates").body(body))
}

/// Creates affiliates concurrently, and expects all of them to succeed.
async fn create_all(rest: &RestClient, name: &str, count: usize) {
    for created in join_all((0..count).map(|number| create(rest, &format!("{name} {number}")))).await {
        created.with_status(201);
    }
}
