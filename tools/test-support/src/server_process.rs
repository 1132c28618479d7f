//! The service as a process of its own, so that its memory is measured apart from the test's.
//!
//! It is the test program itself, started with [`ARGUMENT`]: nothing else has to be built first.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::SocketAddr,
    process::{Child, Command, ExitCode, Stdio},
};

use crate::{Options, RestClient, TestService, token};

/// What makes a test program a server.
const ARGUMENT: &str = "--serve-for-a-test";

/// A service that runs until it is dropped.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    rest: [SocketAddr; 2],
    grpc: SocketAddr,
}

/// If this process was started by [`ServerProcess::start`], serves until the parent goes away. To be called first in
/// `main` of a test program.
pub fn serve_if_requested() -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(ARGUMENT) {
        return None;
    }
    let options = arguments.next().unwrap().parse().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let service = runtime.block_on(TestService::over(options, Options::default()));
    println!("{} {} {}", service.rest, service.rest_remote, service.grpc);
    // Whatever ends the test closes this pipe.
    let _ = std::io::stdin().read(&mut [0]);
    Some(ExitCode::SUCCESS)
}

impl ServerProcess {
    /// Starts it over a database.
    pub fn start(database_url: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([ARGUMENT, database_url])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let addresses: Vec<SocketAddr> = line.split_whitespace().map(|address| address.parse().unwrap()).collect();
        let &[local, remote, grpc] = &addresses[..] else { panic!("{line}") };
        Self { child, rest: [local, remote], grpc }
    }

    /// The address of gRPC.
    pub fn grpc(&self) -> SocketAddr {
        self.grpc
    }

    /// REST clients of a company: core in process, core across the network.
    pub fn clients(&self, company: i64) -> [RestClient; 2] {
        self.rest.map(|address| RestClient::new(address, Some(token(company))))
    }

    /// The peak of resident memory since [`Self::reset_peak`], in KiB.
    pub fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Makes what is resident now the peak.
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
