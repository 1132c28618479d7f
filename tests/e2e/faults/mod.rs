//! Faults of the database and its network: nothing hangs, every response is correct, no acknowledged write is lost.

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
/// Number of measurements of a promised time.
const ROUNDS: usize = 3;
/// The promised times for a lost database, a silent one, and the end of both.
const NOTICED: Duration = Duration::from_secs(1);
const SILENCE_NOTICED: Duration = Duration::from_secs(3);
const SERVED: Duration = Duration::from_secs(2);
/// The fastest round can take this multiple of the promised time, because other tests use the processors.
const SLACK: u32 = 3;

/// Compares measured times with the promise in docs/promises/database.md.
fn hold(what: &str, promised: Duration, measured: &[Duration]) {
    println!("{what}: {measured:?}");
    let fastest = measured.iter().min().expect("it was measured");
    assert!(*fastest < promised * SLACK, "{what}: {measured:?}, and {promised:?} are promised");
}

/// A service over its own database server, whose processes the test may stop and kill.
async fn service_of_its_own(supervise: bool) -> (TestService, TestCluster, TestDatabase) {
    let mut options = ClusterOptions { supervise, ..ClusterOptions::temporary() };
    // Acknowledged writes survive a killed server.
    options.durable = true;
    let cluster = TestCluster::start(options).await;
    let database = TestDatabase::create(&cluster.endpoint, "faults").await;
    let service = TestService::over(database.options.clone(), Options::default()).await;
    (service, cluster, database)
}

/// Waits until `done` returns true. Returns how long that took.
async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !done().await {
        assert!(start.elapsed() < PATIENCE, "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    start.elapsed()
}

/// The status of an endpoint without a token.
async fn status(rest: &RestClient, path: &str) -> u16 {
    RestResponse::of(rest.request_to("GET", path)).await.status
}

/// Creates an affiliate over REST.
fn create(rest: &RestClient, name: &str) -> impl Future<Output = RestResponse> + use<> {
    let body = format!(r#"{{"client_affiliate_id":"C","affiliate_name":"{name}"}}"#);
    RestResponse::of(rest.request("POST", "/affiliates").body(body))
}

/// Creates affiliates at the same time, all with success.
async fn create_all(rest: &RestClient, name: &str, count: usize) {
    for created in join_all((0..count).map(|number| create(rest, &format!("{name} {number}")))).await {
        created.with_status(201);
    }
}
