//! Database processes stopped with SIGSTOP. Their connections stay open but do not respond.

use std::time::Instant;

use compliance_api::v1::GetAffiliateRequest;
use embedded_postgres::ClusterOptions;
use futures::future::join_all;
use nix::sys::signal::Signal;
use sqlx::{ConnectOptions as _, PgConnection};
use test_support::{RestClient, TestCluster, TestCore, TestDatabase, TestService, kill_process, new_company};

use super::{PATIENCE, ROUNDS, SERVED, SILENCE_NOTICED, create, create_all, hold, service_of_its_own, status, until};

/// Stops processes until dropped.
struct Stopped(Vec<i32>);

impl Stopped {
    fn new(processes: Vec<i32>) -> Self {
        for process in &processes {
            kill_process(*process, Signal::SIGSTOP);
        }
        Self(processes)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        for process in &self.0 {
            kill_process(*process, Signal::SIGCONT);
        }
    }
}

async fn backends(observer: &mut PgConnection) -> Vec<i32> {
    let sql = "select pid from pg_stat_activity
        where datname = current_database() and application_name = 'affiliate-compliance' order by pid";
    sqlx::query_scalar(sql).fetch_all(observer).await.unwrap()
}

/// Starts a service with several open connections.
async fn service() -> (TestService, TestCluster, TestDatabase, PgConnection, RestClient) {
    let (service, cluster, database) = service_of_its_own(false).await;
    let observer = database.options.clone().connect().await.unwrap();
    let rest = service.rest(new_company());
    create_all(&rest, "Before", 40).await;
    (service, cluster, database, observer, rest)
}

/// If the only connection hangs, reads and writes succeed on a new connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn single_frozen_backend_is_replaced() {
    let cluster = TestCluster::start(ClusterOptions { supervise: false, ..ClusterOptions::temporary() }).await;
    let database = TestDatabase::create(&cluster.endpoint, "faults").await;
    let mut observer = database.options.clone().connect().await.unwrap();
    let service = TestCore::over(database.options, 3).await;
    let mut clients = service.company(new_company());
    let id = clients.affiliate("Kept").await;
    // The query excludes the probe's connection, whose last statement was a check.
    let sql = "select pid from pg_stat_activity
        where datname = current_database() and application_name = 'affiliate-compliance'
            and query not like '%pg_is_in_recovery%'";
    let lent: Vec<i32> = sqlx::query_scalar(sql).fetch_all(&mut observer).await.unwrap();
    let _stopped = Stopped::new(lent);
    let start = Instant::now();
    for _ in 0..2 {
        let read = clients.affiliates.get_affiliate(GetAffiliateRequest { id, as_of: None });
        let read = tokio::time::timeout(PATIENCE, read).await.expect("a read hangs").unwrap();
        assert_eq!(read.into_inner().distributor_name(), "Kept");
        println!("a read succeeded {:?} after its connection froze", start.elapsed());
    }
    tokio::time::timeout(PATIENCE, clients.affiliate("Written")).await.expect("a write hangs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_recovers_when_all_backends_freeze() {
    let (_service, _cluster, _database, mut observer, rest) = service().await;
    let stopped = Stopped::new(backends(&mut observer).await);
    assert!(stopped.0.len() > 2, "{:?}", stopped.0);
    // The server accepts new connections, so the service continues without the old connections.
    let mut attempts = 0..;
    let served = until("calls succeed on new connections", async || {
        let number = attempts.next().unwrap_or_default();
        let served = async {
            let read = rest.get("/urls").await;
            assert!(matches!(read.status, 200 | 503), "{}", read.text);
            let written = create(&rest, &format!("Attempt {number}")).await;
            assert!(matches!(written.status, 201 | 503), "{}", written.text);
            read.status == 200 && written.status == 201
        };
        tokio::time::timeout(PATIENCE, served).await.expect("a call hangs")
    })
    .await;
    println!("calls succeeded again {served:?} after all connections froze");
    create_all(&rest, "During", 40).await;
    drop(stopped);
    let list = rest.get("/affiliates").await.with_status(200);
    let is_attempt = |record: &&serde_json::Value| record["distributor_name"].as_str().unwrap().starts_with("Attempt");
    let all = list["data"].as_array().unwrap();
    assert_eq!(all.len() - all.iter().filter(is_attempt).count(), 80);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_reports_frozen_server_and_recovers() {
    let (service, cluster, _database, mut observer, rest) = service().await;
    let clients = [rest.clone(), RestClient::new(service.rest_remote, None)];
    let (mut noticed, mut served) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let mut processes = vec![cluster.server_pid().unwrap()];
        processes.extend(backends(&mut observer).await);
        let stopped = Stopped::new(processes);
        let start = Instant::now();
        let early = join_all((0..10).map(|number| create(&rest, &format!("During {round} {number}"))));
        let detected = async {
            for rest in &clients {
                until("/readyz reports the outage", async || status(rest, "/readyz").await == 503).await;
                assert_eq!(status(rest, "/livez").await, 200);
            }
            noticed.push(start.elapsed());
            let start = Instant::now();
            let refused = join_all((0..10).map(|_| rest.get("/urls"))).await;
            println!("10 calls were rejected in {:?}", start.elapsed());
            assert!(refused.iter().all(|answer| answer.status == 503 && answer.header("retry-after").is_some()));
        };
        let (early, ()) =
            tokio::time::timeout(PATIENCE, async { tokio::join!(early, detected) }).await.expect("a call hangs");
        println!("earlier calls received responses within {:?}", start.elapsed());
        assert!(early.iter().all(|answer| matches!(answer.status, 201 | 503)), "{early:?}");

        drop(stopped);
        let start = Instant::now();
        until("/readyz reports the recovery", async || status(&rest, "/readyz").await == 200).await;
        create(&rest, &format!("After {round}")).await.with_status(201);
        served.push(start.elapsed());
    }
    hold("time to notice the frozen server", SILENCE_NOTICED, &noticed);
    hold("time to serve calls again", SERVED, &served);
    let list = rest.get("/affiliates").await.with_status(200);
    // The server can still execute statements that it received before it stopped.
    assert!((40 + ROUNDS..=40 + ROUNDS * 11).contains(&list["data"].as_array().unwrap().len()));
}
