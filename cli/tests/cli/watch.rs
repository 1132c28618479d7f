//! Watches changes while the test kills and stops the service.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpStream},
    thread,
    time::Duration,
};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::{
    common::{migrated, start, token},
    durability::Connection,
};

const COMPANY: i64 = 7;
const WRITERS: usize = 4;
/// Number of changes that a watch receives before the test kills the service each time.
const ENOUGH: usize = 150;

/// A stream of server-sent events.
struct Events(BufReader<TcpStream>);

impl Events {
    fn open(address: SocketAddr, token: &str, last: i64) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        write!(
            stream,
            "GET /api/changes HTTP/1.0\r\nHost: test\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n\
             Last-Event-ID: {last}\r\n\r\n"
        )
        .unwrap();
        let mut events = Self(BufReader::new(stream));
        assert!(events.line().unwrap().ends_with(" 200 OK"));
        while !events.line().unwrap().is_empty() {}
        events
    }

    /// Returns the next complete line, or `None` once the connection has ended.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line);
        (read.is_ok() && line.ends_with('\n')).then(|| line.trim_end().to_owned())
    }

    /// Returns the ID and the changes of the next complete event.
    fn next(&mut self) -> Option<(i64, Vec<Value>)> {
        let (mut id, mut changes) = (None, Vec::new());
        loop {
            let line = self.line()?;
            match line.split_once(": ") {
                Some(("id", value)) => id = Some(value.parse().unwrap()),
                Some(("data", data)) => {
                    let page: Value = serde_json::from_str(data).unwrap();
                    changes.clone_from(page["changes"].as_array().unwrap());
                }
                None if line.is_empty() => return Some((id.unwrap(), changes)),
                _ => {}
            }
        }
    }
}

/// Changes that a client has received.
#[derive(Default)]
struct Seen {
    changes: Vec<Value>,
    last: i64,
}

impl Seen {
    /// Reads the next event. Returns false at the end of the stream.
    fn next(&mut self, events: &mut Events) -> bool {
        let Some((last, changes)) = events.next() else { return false };
        self.changes.extend(changes);
        self.last = last;
        true
    }
}

#[test]
fn watch_resumes_after_service_kill() {
    let data = migrated();
    let token = token(&data, COMPANY);
    let mut seen = Seen::default();
    for round in 1..=3 {
        let service = start(&data, &["serve", "--rate-limit", "off"]);
        let address = service.rest;
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let token = &token;
                scope.spawn(move || {
                    let mut connection = Connection::new(address).unwrap();
                    for number in 0.. {
                        let url = format!("https://example.org/{round}-{writer}-{number}");
                        let body = format!(r#"{{"urls":[{{"url":"{url}"}}]}}"#);
                        if connection.post("/api/urls", token, &body).is_err() {
                            return;
                        }
                    }
                });
            }
            let mut events = Events::open(address, &token, seen.last);
            while seen.changes.len() < round * ENOUGH {
                assert!(seen.next(&mut events));
            }
            service.signal(Signal::SIGKILL);
            // Events that were already sent still arrive.
            while seen.next(&mut events) {}
        });
        assert!(!service.end().success());
    }
    let service = start(&data, &["serve"]);
    let (mut recorded, mut after, mut last) = (Vec::new(), 0, 1);
    while after < last {
        let page = service.get(&format!("/api/changes?after={after}&limit=1000"), &token);
        let page = &page["data"];
        recorded.extend(page["changes"].as_array().unwrap().clone());
        (after, last) = (page["position"].as_i64().unwrap(), page["last_position"].as_i64().unwrap());
    }
    let mut events = Events::open(service.rest, &token, seen.last);
    while seen.last < last {
        assert!(seen.next(&mut events));
    }
    // Every committed change arrived exactly once, and no other change arrived.
    assert_eq!(seen.changes, recorded);
}

#[test]
fn shutdown_does_not_wait_for_watches() {
    let data = migrated();
    let token = token(&data, COMPANY);
    // The grace period is longer than the test waits.
    let service = start(&data, &["serve", "--rest-shutdown-grace", "10m", "--grpc-shutdown-grace", "10m"]);
    let mut events: Vec<Events> = (0..20).map(|_| Events::open(service.rest, &token, 0)).collect();
    for events in &mut events {
        assert_eq!(events.next().unwrap().0, 0);
    }
    service.signal(Signal::SIGTERM);
    for events in &mut events {
        assert!(events.next().is_none());
    }
    assert!(service.end().success());
}
