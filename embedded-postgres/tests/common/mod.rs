//! What the tests share: data folders that go away, services that can be killed, and a table to look for.
// Each test program takes its own part of it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use embedded_postgres::{Cluster, ClusterOptions, Endpoint};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection};

/// The database the tests use.
pub const DATABASE: &str = "compliance";

/// Set for a copy of the test program that is to act as a service: the data folder it runs.
pub const SERVICE_VARIABLE: &str = "EMBEDDED_POSTGRES_TEST_SERVICE";

/// A data folder under the temporary one. At its end the database in it is ended and it is removed.
pub struct DataDir(pub PathBuf);

impl DataDir {
    pub fn new() -> Self {
        Self::ending_in("")
    }

    pub fn ending_in(suffix: &str) -> Self {
        // Where temporary clusters live, the database's user can get, even when this is root with a folder of its own.
        let temporary = ClusterOptions::temporary().data_dir;
        Self(temporary.parent().unwrap().join(format!("compliance-pg-test-{:08x}{suffix}", rand::random::<u32>())))
    }

    /// The options of a service on it, which is durable, as killing it is what the tests do.
    pub fn options(&self) -> ClusterOptions {
        let mut options = ClusterOptions::new(&self.0);
        options.settings.shared_buffers_mib = 32;
        options.timeouts.lock = Duration::ZERO;
        options
    }

    pub fn cluster(&self) -> PathBuf {
        self.0.join("postgres")
    }

    /// The number in the file the server keeps, dead or alive.
    pub fn pid_file(&self) -> Option<i32> {
        fs::read_to_string(self.cluster().join("postmaster.pid")).ok()?.lines().next()?.parse().ok()
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        if let Some(pid) = self.pid_file().filter(|pid| *pid > 1 && command_line(*pid).contains("postgres")) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGQUIT);
            wait_until("the server ends", || !runs(pid));
        }
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A process of its own that runs a cluster, so that it can be killed.
pub struct Service(pub Child);

impl Service {
    /// Starts it and waits until its database answers.
    pub async fn start(data: &DataDir) -> (Self, Endpoint) {
        let mut service = Self::spawn(data);
        for _ in 0..600 {
            if let Ok(Some(endpoint)) = Cluster::connect_running(&data.0).await {
                // The service has made its database when it is ready to be used.
                if endpoint.connect_options(DATABASE).connect().await.is_ok() {
                    return (service, endpoint);
                }
            }
            assert!(service.0.try_wait().unwrap().is_none(), "the service has ended");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the service does not start");
    }

    pub fn spawn(data: &DataDir) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "acts_as_a_service"]).env(SERVICE_VARIABLE, &data.0);
        Self(command.stdout(Stdio::null()).spawn().unwrap())
    }

    /// As `kill -9`.
    pub fn kill(&mut self) {
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

/// What the copy of the test program does; nothing in the test program itself.
pub async fn act_as_a_service() {
    if let Some(dir) = std::env::var_os(SERVICE_VARIABLE) {
        let cluster = Cluster::start(DataDir(dir.clone().into()).leak_options()).await.unwrap();
        cluster.create_database(DATABASE).await.unwrap();
        tokio::time::sleep(Duration::from_mins(2)).await;
    }
}

impl DataDir {
    /// The options, without the removal at the end: the folder is the caller's.
    fn leak_options(self) -> ClusterOptions {
        let options = self.options();
        std::mem::forget(self);
        options
    }
}

pub async fn connect(endpoint: &Endpoint) -> PgConnection {
    endpoint.connect_options(DATABASE).connect().await.unwrap()
}

/// Commits a row and leaves.
pub async fn put(endpoint: &Endpoint, value: i32) {
    let mut connection = connect(endpoint).await;
    let statement = format!("CREATE TABLE IF NOT EXISTS kept (value int); INSERT INTO kept VALUES ({value})");
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// The committed rows.
pub async fn kept(endpoint: &Endpoint) -> Vec<i32> {
    let mut connection = connect(endpoint).await;
    sqlx::query_scalar("SELECT value FROM kept ORDER BY value").fetch_all(&mut connection).await.unwrap()
}

pub fn kill_by_force(pid: i32) {
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
}

/// Whether the process runs, and has not merely not been collected yet.
pub fn runs(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

pub fn command_line(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ")
}

pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(30), "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
