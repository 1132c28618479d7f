//! Single database processes stopped with SIGSTOP. Their connections stay open but do not respond.

use std::time::Instant;

use compliance_api::v1::GetAffiliateRequest;
use embedded_postgres::ClusterOptions;
use nix::sys::signal::Signal;
use sqlx::ConnectOptions as _;
use test_support::{TestCluster, TestCore, TestDatabase, kill_process, new_company};

use super::PATIENCE;

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
