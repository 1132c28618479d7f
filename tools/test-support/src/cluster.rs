//! Starts temporary database servers that stop with the test program.

use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{ChildStdin, Command, Stdio},
    sync::Mutex,
};

use embedded_postgres::{ADMIN_ROLE, Cluster, ClusterOptions, Endpoint};
use sqlx::{Connection as _, PgConnection};

/// Waits until this program exits, then stops the server in a folder and removes the folder.
const AFTER_THIS_PROGRAM: &str = r#"
    cat >/dev/null
    if server=$(head -n 1 "$0/postgres/postmaster.pid"); then
        kill -QUIT "$server"
        while kill -0 "$server"; do sleep 0.1; done
    fi
    rm -rf "$0"
"#;

/// A temporary database server.
#[derive(Debug)]
pub struct TestCluster {
    /// The server's address.
    pub endpoint: Endpoint,
    cluster: Mutex<Option<Cluster>>,
    /// Closes when the server is dropped or the program exits.
    _end: ChildStdin,
}

impl TestCluster {
    /// Starts a server, usually with [`ClusterOptions::temporary`].
    pub async fn start(options: ClusterOptions) -> Self {
        let end = remove_after_this_program(&options.data_dir);
        let cluster = Cluster::start(options).await.unwrap_or_else(|error| panic!("cannot start PostgreSQL: {error}"));
        let endpoint = cluster.endpoint().clone();
        // Tests connect as the owner, and watch the service role's connections.
        let mut admin = PgConnection::connect_with(&endpoint.options(ADMIN_ROLE, "postgres")).await.unwrap();
        sqlx::raw_sql("grant pg_monitor, pg_signal_backend to compliance").execute(&mut admin).await.unwrap();
        admin.close().await.unwrap();
        Self { endpoint, cluster: Mutex::new(Some(cluster)), _end: end }
    }

    /// Returns the server's process ID while it runs.
    pub fn server_pid(&self) -> Option<i32> {
        self.cluster.lock().unwrap().as_ref().and_then(Cluster::server_pid)
    }

    /// Stops the server and removes its data.
    pub async fn stop(&self) {
        let cluster = self.cluster.lock().unwrap().take();
        if let Some(cluster) = cluster {
            cluster.stop().await.unwrap();
        }
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        // A test failed before it stopped the server.
        drop(self.cluster.lock().unwrap().take());
    }
}

/// Stops the server in a folder and removes the folder when the result is dropped or this program exits.
pub fn remove_after_this_program(folder: &Path) -> ChildStdin {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", AFTER_THIS_PROGRAM])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Ctrl-C does not reach the shell.
    shell.process_group(0).spawn().unwrap().stdin.take().unwrap()
}
