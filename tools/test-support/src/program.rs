//! Runs the `compliance` program as a process.
//!
//! Callers pass the program's path, because only tests of its package know it (`env!("CARGO_BIN_EXE_compliance")`).

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, OnceLock,
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::{
    DataDir,
    process::{PATIENCE, doubled_key, kill_process, lines, lines_with, output, wait_until},
};

/// Returns a command for a data folder, with free ports and without settings from the environment.
pub fn service_command(program: &str, data: &DataDir) -> Command {
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::null());
    for kept in ["PATH", "HOME", "COMPLIANCE_POSTGRES_BIN"] {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
    command
        .env("COMPLIANCE_DATA_DIR", data.path())
        .env("COMPLIANCE_REST_ADDR", "127.0.0.1:0")
        .env("COMPLIANCE_GRPC_ADDR", "127.0.0.1:0")
        // Tests have no load balancer that must notice a shutdown.
        .env("COMPLIANCE_REST_SHUTDOWN_DELAY", "0")
        .env("COMPLIANCE_GRPC_SHUTDOWN_DELAY", "0")
        // Waiting for missing dependencies would not help.
        .env("COMPLIANCE_START_TIMEOUT", "0");
    command
}

/// Returns a company's token, which the program issues with the secret in the data folder.
pub fn program_token(program: &str, data: &DataDir, company: i64) -> String {
    let mut command = service_command(program, data);
    let (status, token, errors) = output(command.args(["token", "--init", "--company", &company.to_string()]));
    assert!(status.success(), "{errors}");
    token.trim().to_owned()
}

/// A running program. Dropping it kills the process.
#[derive(Debug)]
pub struct Program {
    child: Child,
    /// The address in the log line `ready`, or `0.0.0.0:0` if the program does not serve this layer.
    pub rest: SocketAddr,
    /// See [`Self::rest`].
    pub grpc: SocketAddr,
    /// See [`Self::rest`].
    pub admin: SocketAddr,
    /// Time until the program was ready.
    pub took: Duration,
    output: Receiver<String>,
    log: Receiver<String>,
    /// Log lines until the program was ready.
    seen: Vec<String>,
    /// A log line with a duplicate key, which parsers resolve differently or reject.
    doubled: Arc<OnceLock<String>>,
}

impl Program {
    /// Starts a command, and waits until the program logs that it is ready.
    pub fn start_as(command: &mut Command) -> Self {
        let start = Instant::now();
        command.env("COMPLIANCE_LOG_FORMAT", "json").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let doubled = Arc::new(OnceLock::new());
        let found = Arc::clone(&doubled);
        let look_at = move |line: &str| {
            if let Some(key) = doubled_key(line) {
                let _ = found.set(format!("{key} in {line}"));
            }
        };
        let (output, log) = (lines(child.stdout.take().unwrap()), lines_with(child.stderr.take().unwrap(), look_at));
        // From here on, dropping this value kills the process.
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        let (rest, grpc, seen) = (unknown, unknown, Vec::new());
        let mut program = Self { child, rest, grpc, admin: unknown, took: Duration::ZERO, output, log, seen, doubled };
        loop {
            let Ok(line) = program.log.recv_timeout(PATIENCE) else {
                panic!("the program did not become ready: {:#?}", program.seen)
            };
            let entry: Value = serde_json::from_str(&line).unwrap_or_default();
            program.seen.push(line);
            if let Some(admin) = entry["admin"].as_str() {
                program.admin = admin.parse().unwrap();
            }
            if entry["message"] == "ready" {
                let address = |name: &str| entry[name].as_str().map_or(unknown, |text| text.parse().unwrap());
                (program.rest, program.grpc, program.took) = (address("rest"), address("grpc"), start.elapsed());
                return program;
            }
        }
    }

    /// Returns the process ID.
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Returns the next lines of standard output, up to a line that contains `last`.
    pub fn lines_until(&self, last: &str) -> Vec<String> {
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.contains(last)) {
            lines.push(self.output.recv_timeout(PATIENCE).unwrap());
        }
        lines
    }

    /// Waits for a log line that contains `text`.
    pub fn wait_for_log(&self, text: &str) {
        while !self.log.recv_timeout(PATIENCE).unwrap().contains(text) {}
    }

    /// Returns the log lines that no function has consumed yet.
    pub fn logged(&self) -> Vec<String> {
        self.seen.iter().cloned().chain(self.log.try_iter()).collect()
    }

    /// Returns all remaining log lines until the process exits. Other functions no longer see them.
    pub fn take_log(&mut self) -> impl Iterator<Item = String> + Send + use<> {
        std::mem::replace(&mut self.log, mpsc::channel().1).into_iter()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal);
    }

    /// Waits until the process exits, and returns its status and the remaining log.
    pub fn end_with_log(mut self) -> (ExitStatus, String) {
        let status = self.wait_for_end();
        let mut lines = std::mem::take(&mut self.seen);
        lines.extend(self.log.iter());
        (status, lines.join("\n"))
    }

    /// Waits until the process exits.
    pub fn end(mut self) -> ExitStatus {
        self.wait_for_end()
    }

    /// See [`Self::end`].
    pub fn wait_for_end(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the program has exited", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// Sends a request. Returns the response's status and JSON, or null if the body is not JSON.
    pub fn request(&self, method: &str, path: &str, token: &str, body: &str) -> (u16, Value) {
        let mut stream = self.send(method, path, token, body);
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    /// Sends a request without waiting for the response.
    pub fn send(&self, method: &str, path: &str, token: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.rest).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nHost: test\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        stream
    }

    /// Returns the JSON body of a response with status 200.
    pub fn get(&self, path: &str, token: &str) -> Value {
        let (status, body) = self.request("GET", path, token, "");
        assert_eq!(status, 200, "{path}: {body}");
        body
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !thread::panicking() {
            assert_eq!(self.doubled.get(), None, "a log line contains a duplicate key");
        }
    }
}
