//! Runs the service as a separate process, to measure its memory.
//!
//! The process runs the test program with [`URL`], so no separate build is needed.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::SocketAddr,
    process::{Child, ChildStdout, Command, Stdio},
};

use crate::{Options, RestClient, TestService, token};

/// Environment variable with the database URL. With it, a test program is a server.
const URL: &str = "COMPLIANCE_SERVE_FOR_A_TEST";
const SERVING: &str = "serving ";

/// A service that runs until it is dropped.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    /// Stays open, because the test program exits if it cannot write its warnings about slow tests.
    _stdout: BufReader<ChildStdout>,
    rest: [SocketAddr; 2],
    grpc: SocketAddr,
}

/// Serves until the parent exits, if [`ServerProcess::start`] started this process.
///
/// A test program needs an ignored test `serve_for_a_test` that calls it.
pub async fn serve_for_a_test() {
    let Ok(url) = std::env::var(URL) else { return };
    let service = TestService::over(url.parse().unwrap(), Options::default()).await;
    println!("{SERVING}{} {} {}", service.rest, service.rest_remote, service.grpc);
    // This pipe closes at the end of the test.
    let _ = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0])).await;
}

impl ServerProcess {
    /// Starts the service for a database.
    pub fn start(database_url: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "serve_for_a_test", "--ignored", "--nocapture"])
            .env(URL, database_url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let line =
            stdout.by_ref().lines().map(Result::unwrap).find_map(|line| Some(line.split_once(SERVING)?.1.to_owned()));
        let line = line.unwrap();
        let addresses: Vec<SocketAddr> = line.split_whitespace().map(|address| address.parse().unwrap()).collect();
        let &[local, remote, grpc] = &addresses[..] else { panic!("{line}") };
        Self { child, _stdout: stdout, rest: [local, remote], grpc }
    }

    /// Returns the gRPC address.
    pub fn grpc(&self) -> SocketAddr {
        self.grpc
    }

    /// Returns a company's REST clients: with the core in the gateway's process, and across the network.
    pub fn clients(&self, company: i64) -> [RestClient; 2] {
        self.rest.map(|address| RestClient::new(address, Some(token(company))))
    }

    /// Returns the peak resident memory since [`Self::reset_peak`], in KiB.
    pub fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Resets the peak to the current resident memory.
    pub fn reset_peak(&self) {
        let mut file =
            fs::OpenOptions::new().write(true).open(format!("/proc/{}/clear_refs", self.child.id())).unwrap();
        file.write_all(b"5").unwrap();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
