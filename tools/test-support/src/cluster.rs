//! Temporary database servers that end with the test program, however it ends.

use std::sync::{Arc, Mutex};

use embedded_postgres::{ADMIN_ROLE, Cluster, ClusterOptions, Endpoint};
use sqlx::{Connection as _, PgConnection};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::RwLock,
};

type Shared = Arc<Mutex<Option<Cluster>>>;

/// The database servers that run.
static RUNNING: Mutex<Vec<Shared>> = Mutex::new(Vec::new());

/// Held for reading while a server starts and is not yet in [`RUNNING`]; for writing while all of them are stopped.
static STARTING: RwLock<()> = RwLock::const_new(());

/// A temporary database server.
#[derive(Debug)]
pub struct TestCluster {
    /// Where it is reached.
    pub endpoint: Endpoint,
    cluster: Shared,
}

impl TestCluster {
    /// Starts a server, usually with [`ClusterOptions::temporary`].
    pub async fn start(options: ClusterOptions) -> Self {
        let _starting = STARTING.read().await;
        let cluster = Cluster::start(options).await.unwrap_or_else(|error| panic!("no database for tests: {error}"));
        let endpoint = cluster.endpoint().clone();
        // Tests connect as the owner and watch the sessions of the service, which has another role.
        let mut admin = PgConnection::connect_with(&endpoint.options(ADMIN_ROLE, "postgres")).await.unwrap();
        sqlx::raw_sql("grant pg_monitor, pg_signal_backend to compliance").execute(&mut admin).await.unwrap();
        admin.close().await.unwrap();
        let cluster = Arc::new(Mutex::new(Some(cluster)));
        RUNNING.lock().unwrap().push(Arc::clone(&cluster));
        Self { endpoint, cluster }
    }

    /// The process ID of the server while it runs.
    pub fn server_pid(&self) -> Option<i32> {
        self.cluster.lock().unwrap().as_ref().and_then(Cluster::server_pid)
    }

    /// Stops the server and removes its data.
    pub async fn stop(&self) {
        stop(&self.cluster).await;
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        // A test failed before it stopped the server.
        drop(self.cluster.lock().unwrap().take());
    }
}

async fn stop(cluster: &Mutex<Option<Cluster>>) {
    let cluster = cluster.lock().unwrap().take();
    if let Some(cluster) = cluster {
        cluster.stop().await.unwrap();
    }
}

/// On SIGINT or SIGTERM, stops every server and ends the process with status 130.
#[cfg_attr(not(feature = "core"), allow(dead_code, reason = "the runner calls it"))]
pub(crate) async fn stop_on_signal() {
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt()).unwrap(), signal(SignalKind::terminate()).unwrap());
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    let _no_more = STARTING.write().await;
    let running = std::mem::take(&mut *RUNNING.lock().unwrap());
    for cluster in running {
        stop(&cluster).await;
    }
    std::process::exit(130);
}
