//! The service as a process of its own, so that its memory can be told from that of the test.
//!
//! It is this very program, started with [`ARGUMENT`]: nothing else has to be built first.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::SocketAddr,
    process::{Child, Command, ExitCode, Stdio},
};

use super::{Options, Rest, Service, token};

/// What makes this program a server.
pub(super) const ARGUMENT: &str = "--serve-for-a-test";

/// A service that runs until it is dropped.
pub(crate) struct ServerProcess {
    child: Child,
    rest: [SocketAddr; 2],
}

/// Serves the database whose address is the next argument until the standard input ends.
pub(super) fn main() -> ExitCode {
    let url = std::env::args().nth(2).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let service = runtime.block_on(Service::over(core_server::database::options(&url).unwrap(), Options::default()));
    println!("{} {}", service.rest, service.rest_remote);
    // Whatever ends the test closes this pipe.
    let _ = std::io::stdin().read(&mut [0]);
    ExitCode::SUCCESS
}

impl ServerProcess {
    /// Starts it over a database.
    pub(crate) fn start(database_url: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([ARGUMENT, database_url])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (local, remote) = line.trim().split_once(' ').unwrap();
        Self { child, rest: [local.parse().unwrap(), remote.parse().unwrap()] }
    }

    /// REST clients for a company: core in process, core across the network.
    pub(crate) fn clients(&self, company: i64) -> [Rest; 2] {
        self.rest.map(|address| Rest::new(address, Some(token(company))))
    }

    /// The most memory that was resident since [`Self::forget_peak`], in KiB.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Makes what is resident now the peak.
    pub(crate) fn forget_peak(&self) {
        let mut file = std::fs::OpenOptions::new().write(true).open(format!("/proc/{}/clear_refs", self.child.id()));
        file.as_mut().unwrap().write_all(b"5").unwrap();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
