//! Checks that disconnected callers leak no permits or connections, no matter when they disconnect.

use std::{
    io::Write as _,
    net::{Shutdown, SocketAddr, TcpStream},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use sqlx::AssertSqlSafe;

use crate::{
    common::{Service, wait_until},
    durability::Connection,
    programs::{Programs, token_of},
};

/// The core's maximum number of concurrent calls.
const PERMITS: i64 = 8;
const CALLERS: usize = 400;
const SETTINGS: [&str; 4] = ["--max-in-flight", "8", "--database-connections", "12"];

const REQUESTS: [(&str, &str, &str); 6] = [
    ("GET", "/api/affiliates/1", ""),
    ("GET", "/api/affiliates", ""),
    ("GET", "/api/urls?per_page=5", ""),
    ("POST", "/api/affiliates", r#"{"client_affiliate_id":"c","affiliate_name":"N"}"#),
    ("POST", "/api/urls", r#"{"urls":[{"url":"https://a.example"},{"url":"https://b.example"}]}"#),
    ("PUT", "/api/affiliates/1", r#"{"affiliates":[{"id":1,"affiliate_name":"A"},{"id":1,"affiliate_name":"B"}]}"#),
];

/// Sends requests, and disconnects before, during or after each request.
fn storm(address: SocketAddr, token: &str) {
    thread::scope(|scope| {
        for caller in 0..4 {
            scope.spawn(move || {
                for number in 0..CALLERS / 4 {
                    let (method, path, body) = REQUESTS[(caller + number) % REQUESTS.len()];
                    let mut stream = TcpStream::connect(address).unwrap();
                    let _ = write!(
                        stream,
                        "{method} {path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n\
                         {body}",
                        body.len()
                    );
                    thread::sleep(Duration::from_micros((number as u64 * 397) % 6000));
                    let _ = stream.shutdown(Shutdown::Both);
                }
            });
        }
    });
}

/// Waits until all permits are available at the same time. The service must first notice all disconnected callers.
fn all_permits_become_free(programs: &Programs, service: &Service) {
    let address = service.rest;
    wait_until("all permits are free", || {
        let lock = programs.lock_affiliates();
        let refused = AtomicUsize::new(0);
        thread::scope(|scope| {
            for company in 0..PERMITS {
                let (refused, token) = (&refused, token_of(100 + company));
                scope.spawn(move || {
                    let mut connection = Connection::new(address).unwrap();
                    let answer = connection.request("GET", "/api/urls", &token, "").unwrap();
                    assert!([200, 503].contains(&answer.status), "{}", answer.body);
                    refused.fetch_add(usize::from(answer.status == 503), Ordering::Relaxed);
                });
            }
            let in_use = || programs.blocked_statements() == PERMITS;
            wait_until("every call waits or is rejected", || in_use() || refused.load(Ordering::Relaxed) > 0);
            if in_use() {
                // Without a limit, the core would only check this call's access.
                let (status, ..) = service.request("GET", "/api/urls?page=0", &token_of(99), "");
                // On a busy machine, a statement may have ended before this call.
                assert!(status == 503 || !in_use(), "{status}");
            }
            drop(lock);
        });
        refused.load(Ordering::Relaxed) == 0
    });
}

/// Waits until all of the storm's statements have ended, and checks the number of connections.
fn all_connections_are_clean(programs: &Programs, connections: i64) {
    const SESSIONS: &str = "select count(*) from pg_stat_activity where datname = current_database()
        and pid <> pg_backend_pid() and backend_type = 'client backend'";
    wait_until("all of the storm's statements have ended", || {
        programs.number(AssertSqlSafe(format!("{SESSIONS} and state <> 'idle'"))) == 0
    });
    let open = programs.number(SESSIONS);
    // One more connection is reserved, and a new connection can overlap with a closing one.
    assert!(open <= connections + 3, "{open} connections");
}

fn survives(programs: &Programs, service: &Service) {
    let token = token_of(7);
    // The disconnecting callers change only the first affiliate.
    let [_, path] = ["changed", "kept"].map(|name| {
        let body = format!(r#"{{"client_affiliate_id":"c","affiliate_name":"{name}"}}"#);
        let (status, made) = service.request("POST", "/api/affiliates", &token, &body);
        assert_eq!(status, 201, "{made}");
        format!("/api/affiliates/{}", made["detail"]["affiliate_id"])
    });
    for locked in [false, true] {
        let lock = locked.then(|| programs.lock_affiliates());
        storm(service.rest, &token);
        drop(lock);
    }
    all_connections_are_clean(programs, 12);
    all_permits_become_free(programs, service);
    // Callers still receive their own records.
    for _ in 0..20 {
        let answer = service.get(&path, &token);
        assert_eq!(answer["data"]["distributor_name"], "kept");
        assert_eq!(service.request("GET", &path, &token_of(98), "").0, 404);
    }
}

#[test]
fn cancelled_calls_leak_nothing_in_single_process() {
    let programs = Programs::new();
    let service = Service::start_as(&mut programs.serve(&SETTINGS));
    survives(&programs, &service);
}

#[test]
fn cancelled_calls_leak_nothing_across_two_tiers() {
    let programs = Programs::new();
    let core = Service::start_as(&mut programs.core(&SETTINGS));
    let gateway = Service::start_as(&mut programs.gateway_of(&[core.grpc], &[]));
    survives(&programs, &gateway);
}
