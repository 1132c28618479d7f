//! A service as a separate process, which tests can kill: a copy of the test program that runs a cluster.

use std::{
    process::{Child, Command, Stdio},
    time::Duration,
};

use embedded_postgres::{Cluster, Endpoint, OWNER_ROLE};
use sqlx::ConnectOptions as _;
use test_support::DataDir;

use crate::{DATABASE, options};

/// The data folder that a copy of the test program runs.
const VARIABLE: &str = "EMBEDDED_POSTGRES_TEST_SERVICE";

/// A process that runs a cluster. Dropping this kills it.
pub(crate) struct Service(pub(crate) Child);

impl Service {
    /// Starts it and waits until its database accepts connections.
    pub(crate) async fn start(data: &DataDir) -> (Self, Endpoint) {
        let mut service = Self::spawn(data);
        for _ in 0..1200 {
            if let Ok(Some(endpoint)) = Cluster::connect_running(data.path()).await {
                // The service creates its database before it is ready.
                if endpoint.options(OWNER_ROLE, DATABASE).connect().await.is_ok() {
                    return (service, endpoint);
                }
            }
            assert!(service.0.try_wait().unwrap().is_none(), "the service has ended");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the service does not start");
    }

    pub(crate) fn spawn(data: &DataDir) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "service::acts_as_a_service"]).env(VARIABLE, data.path());
        Self(command.stdout(Stdio::null()).spawn().unwrap())
    }

    /// Kills it, like `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test but the work of the copy.
#[tokio::test]
#[ignore = "a service for other tests"]
async fn acts_as_a_service() {
    let path = std::env::var_os(VARIABLE).expect("another test starts it");
    // The folder belongs to the parent, which removes it.
    let data = std::mem::ManuallyDrop::new(DataDir::at(path));
    let cluster = Cluster::start(options(&data)).await.unwrap();
    cluster.endpoint().create_database(DATABASE).await.unwrap();
    tokio::time::sleep(Duration::from_mins(2)).await;
}
