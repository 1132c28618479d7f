//! What the tests share: data folders that go away, and services that run as processes of their own.
// Each test program takes its own part of it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use embedded_postgres::ClusterOptions;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A data folder that the database's user can get to. At its end the database in it is ended and it is removed.
pub struct DataDir(pub PathBuf);

impl DataDir {
    pub fn new() -> Self {
        let temporary = ClusterOptions::temporary().data_dir;
        Self(temporary.parent().unwrap().join(format!("compliance-cli-test-{:016x}", rand::random::<u64>())))
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        let pid_file = fs::read_to_string(self.0.join("postgres/postmaster.pid")).unwrap_or_default();
        if let Some(Ok(pid)) = pid_file.lines().next().map(str::parse::<i32>) {
            let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if command.contains(&*self.0.to_string_lossy()) {
                let _ = kill(Pid::from_raw(pid), Signal::SIGQUIT);
                wait_until("the database ends", || !Path::new(&format!("/proc/{pid}")).exists());
            }
        }
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The `compliance` command with a data folder, any free ports, and nothing of the caller's settings.
pub fn compliance(data: &DataDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_compliance"));
    command.env_clear().stdin(Stdio::null());
    for kept in ["PATH", "HOME", "COMPLIANCE_POSTGRES_BIN"] {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
    command
        .env("COMPLIANCE_DATA_DIR", &data.0)
        .env("COMPLIANCE_REST_ADDR", "127.0.0.1:0")
        .env("COMPLIANCE_GRPC_ADDR", "127.0.0.1:0");
    command
}

/// What a command that ends by itself says.
pub fn output(command: &mut Command) -> (ExitStatus, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status, String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// A token for a company, made by the command itself.
pub fn token(data: &DataDir, company: i64) -> String {
    let (status, token, errors) = output(compliance(data).args(["token", "--company", &company.to_string()]));
    assert!(status.success(), "{errors}");
    token.trim().to_owned()
}

/// A running service.
pub struct Service {
    child: Child,
    pub rest: SocketAddr,
    pub grpc: SocketAddr,
    /// How long it took to get ready.
    pub took: Duration,
    output: Receiver<String>,
    log: Receiver<String>,
}

impl Service {
    /// Starts it and waits until it says that it is ready.
    pub fn start(data: &DataDir, arguments: &[&str]) -> Self {
        Self::start_as(compliance(data).args(arguments))
    }

    pub fn start_as(command: &mut Command) -> Self {
        let begin = Instant::now();
        command.env("COMPLIANCE_LOG_FORMAT", "json").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (output, log) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        // From here on whatever happens, dropping it ends the process.
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut service = Self { child, rest: unknown, grpc: unknown, took: Duration::ZERO, output, log };
        let mut seen = Vec::new();
        loop {
            let Ok(line) = service.log.recv_timeout(PATIENCE) else {
                panic!("the service does not get ready: {seen:#?}")
            };
            let entry: Value = serde_json::from_str(&line).unwrap_or_default();
            if entry["message"] == "ready" {
                // A tier of its own serves one of the two.
                let address = |name: &str| entry[name].as_str().map_or(unknown, |address| address.parse().unwrap());
                (service.rest, service.grpc, service.took) = (address("rest"), address("grpc"), begin.elapsed());
                return service;
            }
            seen.push(line);
        }
    }

    /// The next lines of standard output, up to one that contains `last`.
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

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// Waits until it has ended.
    pub fn end(mut self) -> ExitStatus {
        let mut ended = None;
        wait_until("the service ends", || {
            ended = self.child.try_wait().unwrap();
            ended.is_some()
        });
        ended.unwrap()
    }

    /// A request with a JSON answer: its status and body.
    pub fn request(&self, method: &str, path: &str, token: &str, body: &str) -> (u16, Value) {
        let mut stream = self.send(method, path, token, body);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
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

    pub fn get(&self, path: &str, token: &str) -> Value {
        let (status, body) = self.request("GET", path, token, "");
        assert_eq!(status, 200, "{path}: {body}");
        body
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines of a stream as they come; the stream is read to its end whether or not somebody wants them.
fn lines(stream: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    receiver
}

pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < PATIENCE, "waited too long until {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
