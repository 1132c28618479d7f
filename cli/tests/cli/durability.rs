//! Kills processes under load, and checks that acknowledged writes survive and accepted requests get a response.

use std::{
    collections::HashSet,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::common::{Service, migrated, start, token, wait_until};
use nix::sys::signal::Signal;
use test_support::kill_process;

const COMPANY: i64 = 7;
const WRITERS: usize = 6;
/// Acknowledged writes to wait for before killing a process, and after it restarts.
const ENOUGH: usize = 150;
/// A service that is shutting down keeps idle connections open for longer than this.
const IDLE: Duration = Duration::from_millis(300);

/// A persistent connection, as clients use under load.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

/// An HTTP response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// Whether the service closes the connection after this response.
    pub(crate) closes: bool,
}

impl Connection {
    pub(crate) fn new(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    pub(crate) fn post(&mut self, path: &str, token: &str, body: &str) -> io::Result<Answer> {
        self.request("POST", path, token, body)
    }

    pub(crate) fn request(&mut self, method: &str, path: &str, token: &str, body: &str) -> io::Result<Answer> {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (mut status, mut length, mut closes) = (0, 0, false);
        for number in 0.. {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end().to_ascii_lowercase();
            match line.split_once(": ") {
                _ if line.is_empty() => break,
                _ if number == 0 => status = line.split(' ').nth(1).unwrap().parse().unwrap(),
                Some(("content-length", value)) => length = value.parse().unwrap(),
                Some(("connection", "close")) => closes = true,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(Answer { status, body: String::from_utf8(body).unwrap(), closes })
    }
}

/// Concurrent writers, and the responses they received.
#[derive(Default)]
struct Load {
    over: AtomicBool,
    /// Names and URLs whose creation the service acknowledged.
    acknowledged: Mutex<HashSet<String>>,
    count: AtomicUsize,
    /// Responses that are neither a success nor 503.
    wrong: Mutex<Vec<String>>,
    /// Responses with status 503.
    unavailable: AtomicUsize,
    /// Requests without a response.
    unanswered: AtomicUsize,
}

impl Load {
    /// Creates affiliates and URLs with unique names, until the load or the connection ends.
    fn write(&self, writer: usize, address: SocketAddr, token: &str, round: usize) {
        let Ok(mut connection) = Connection::new(address) else { return };
        let mut responded = Instant::now();
        for number in 0.. {
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            let name = format!("https://example.org/{round}-{writer}-{number}");
            let (path, body) = if number % 2 == 0 {
                ("/api/affiliates", format!(r#"{{"client_affiliate_id":"c","affiliate_name":"{name}"}}"#))
            } else {
                ("/api/urls", format!(r#"{{"urls":[{{"url":"{name}"}}]}}"#))
            };
            let idle = responded.elapsed();
            let answer = connection.post(path, token, &body);
            responded = Instant::now();
            match answer {
                Ok(Answer { status: 201, closes, .. }) => {
                    self.acknowledged.lock().unwrap().insert(name);
                    self.count.fetch_add(1, Ordering::Relaxed);
                    if closes {
                        return;
                    }
                }
                Ok(Answer { status: 503, .. }) => _ = self.unavailable.fetch_add(1, Ordering::Relaxed),
                Ok(Answer { status, body, .. }) => {
                    self.wrong.lock().unwrap().push(format!("{status}: {body}"));
                    return;
                }
                // The writer paused for too long, and the service closed the idle connection.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && idle > IDLE => return,
                Err(_) => {
                    self.unanswered.fetch_add(1, Ordering::Relaxed);
                    return;
                }
            }
        }
    }

    /// Runs writers while `during` runs.
    fn around(&self, service: &Service, token: &str, round: usize, during: impl FnOnce()) {
        let address = service.rest;
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                scope.spawn(move || self.write(writer, address, token, round));
            }
            during();
        });
    }

    fn wait_for_more(&self) {
        let before = self.count.load(Ordering::Relaxed);
        wait_until("enough writes are acknowledged", || self.count.load(Ordering::Relaxed) >= before + ENOUGH);
    }

    /// Checks that all acknowledged records exist.
    fn check(&self, service: &Service, token: &str) {
        assert_eq!(*self.wrong.lock().unwrap(), [""; 0]);
        let mut there = HashSet::new();
        let affiliates = service.get("/api/affiliates", token);
        there.extend(texts(&affiliates["data"], "distributor_name"));
        for page in 1.. {
            let urls = service.get(&format!("/api/urls?per_page=200&page={page}"), token);
            there.extend(texts(&urls["data"], "url"));
            if urls["meta"]["last_page"].as_u64().unwrap() <= page {
                break;
            }
        }
        let acknowledged = self.acknowledged.lock().unwrap();
        let lost: Vec<_> = acknowledged.difference(&there).collect();
        assert!(lost.is_empty(), "{} of {} acknowledged writes are lost: {lost:?}", lost.len(), acknowledged.len());
    }
}

fn texts(records: &serde_json::Value, field: &str) -> Vec<String> {
    records.as_array().unwrap().iter().map(|record| record[field].as_str().unwrap().to_owned()).collect()
}

#[test]
fn killed_service_keeps_acknowledged_writes() {
    let (data, load) = (migrated(), Load::default());
    let token = token(&data, COMPANY);
    for round in 0..3 {
        let service = start(&data, &["serve", "--rate-limit", "off"]);
        load.check(&service, &token);
        load.around(&service, &token, round, || {
            load.wait_for_more();
            service.signal(Signal::SIGKILL);
        });
        assert!(!service.end().success());
    }
    let service = start(&data, &["serve"]);
    load.check(&service, &token);
}

/// Every accepted request gets a response, and the last response announces that the connection closes.
#[test]
fn graceful_shutdown_drops_no_requests() {
    let (data, load) = (migrated(), Load::default());
    let token = token(&data, COMPANY);
    for (round, signal) in [Signal::SIGTERM, Signal::SIGINT].into_iter().enumerate() {
        // The grace period is longer than the test waits, so the service aborts no requests.
        let grace = ["--rest-shutdown-grace", "10m", "--grpc-shutdown-grace", "10m"];
        let service = start(&data, &[&["serve", "--rate-limit", "off"], &grace[..]].concat());
        load.around(&service, &token, round, || {
            load.wait_for_more();
            service.signal(signal);
        });
        assert_eq!(load.unanswered.load(Ordering::Relaxed), 0, "some requests received no response");
        assert_eq!(load.unavailable.load(Ordering::Relaxed), 0, "the shutdown rejected some requests");
        // The service has sent the last response. It now closes connections and stops the database.
        assert_eq!(service.end().code(), Some(0));
    }
    let service = start(&data, &["serve"]);
    load.check(&service, &token);
}

/// While the database is down, requests fail only with 503.
#[test]
fn killed_database_keeps_acknowledged_writes() {
    let (data, load) = (migrated(), Load::default());
    let token = token(&data, COMPANY);
    let service = start(&data, &["serve", "--rate-limit", "off"]);
    load.around(&service, &token, 0, || {
        for _ in 0..2 {
            load.wait_for_more();
            let killed = data.postmaster();
            kill_process(killed.unwrap(), Signal::SIGKILL);
            wait_until("the database has a new process", || data.postmaster() != killed);
            load.wait_for_more();
        }
        load.over.store(true, Ordering::Relaxed);
    });
    assert_eq!(load.unanswered.load(Ordering::Relaxed), 0, "some requests received no response");
    load.check(&service, &token);
    service.signal(Signal::SIGTERM);
    assert_eq!(service.end().code(), Some(0));
}
