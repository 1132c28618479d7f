//! Runs a service in a separate process that tests can kill: a copy of the test program that runs a cluster.

use std::{
    process::{Child, Command, Stdio},
    time::Duration,
};

use embedded_postgres::{Cluster, Endpoint, OWNER_ROLE};
use sqlx::ConnectOptions as _;
use test_support::DataDir;

use crate::{DATABASE, options};

/// Environment variable that specifies the copy's data folder.
const VARIABLE: &str = "EMBEDDED_POSTGRES_TEST_SERVICE";

/// A process that runs a cluster. Dropping it kills the process.
pub(crate) struct Service(pub(crate) Child);

impl Service {
    /// Starts a service and waits until its database accepts connections.
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
        panic!("the service did not start");
    }

    pub(crate) fn spawn(data: &DataDir) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "service::runs_cluster_for_other_tests"]).env(VARIABLE, data.path());
        Self(command.stdout(Stdio::null()).spawn().unwrap())
    }

    /// Kills the process, like `kill -9`.
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

/// Runs the service in the copy. This is not a test.
#[tokio::test]
#[ignore = "a service for other tests"]
async fn runs_cluster_for_other_tests() {
    let path = std::env::var_os(VARIABLE).expect("this runs only in a process that another test starts");
    // The parent owns the folder and removes it.
    let data = std::mem::ManuallyDrop::new(DataDir::at(path));
    let cluster = Cluster::start(options(&data)).await.unwrap();
    cluster.endpoint().create_database(DATABASE).await.unwrap();
    tokio::time::sleep(Duration::from_mins(2)).await;
}
