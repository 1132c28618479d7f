//! Tests the logs of both tiers during a database outage.

use std::{thread, time::Instant};

use embedded_postgres::OWNER_ROLE;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::{
    common::Service,
    observability::status_of,
    programs::{Programs, token},
};

/// When the first cause ends, a second cause can prolong the outage.
#[test]
fn every_outage_cause_is_logged() {
    let programs = Programs::new();
    let core = Service::start_as(&mut programs.core(&[]));
    let end =
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'given' and pid <> pg_backend_pid()";
    programs.run_as_admin("postgres", "alter database given allow_connections false");
    programs.run_as_admin("postgres", end);
    core.wait_for_log("is not currently accepting connections");
    programs.run_as_admin("postgres", &format!("alter role {OWNER_ROLE} nologin"));
    core.wait_for_log("is not permitted to log in");
    programs.run_as_admin(
        "postgres",
        &format!("alter database given allow_connections true; alter role {OWNER_ROLE} login"),
    );
    core.wait_for_log("the database has recovered");
}

const REQUESTS: usize = 1200;
const CALLERS: usize = 6;

/// Returns the number of warnings and errors in a log.
fn counted(log: &str) -> usize {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["level"] == "WARN" || line["level"] == "ERROR").count()
}

#[test]
fn database_outage_does_not_flood_the_log() {
    let mut programs = Programs::new();
    let core = Service::start_as(&mut programs.core(&[]));
    let gateway = Service::start_as(&mut programs.gateway_of(&[core.grpc], &[]));
    assert_eq!(gateway.request("GET", "/api/affiliates/1", &token(), "").0, 404);
    programs.stop_database();
    let started = Instant::now();
    let failed: usize = thread::scope(|scope| {
        let callers = (0..CALLERS).map(|caller| {
            let rest = gateway.rest;
            scope.spawn(move || {
                let path = ["/api/affiliates/1", "/api/urls", "/api/cases/7"][caller % 3];
                let statuses = (0..REQUESTS / CALLERS).map(|_| status_of(rest, path, &token()));
                statuses.filter(|status| *status >= 500).count()
            })
        });
        let callers: Vec<_> = callers.collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).sum()
    });
    // Each log statement writes at most five lines per second, no matter how many requests fail.
    let seconds = started.elapsed().as_secs() as usize + 4;
    assert!(failed > REQUESTS / 2, "{failed} of {REQUESTS}");
    for (name, service) in [("gateway", gateway), ("core", core)] {
        service.signal(Signal::SIGTERM);
        let log = service.end_with_log().1;
        let lines = counted(&log);
        assert!(lines <= seconds * 20 && lines < failed, "{name}: {lines} lines in {seconds} s");
        assert!(name == "core" || lines > 0 && log.contains("\"left_out\":"), "{name}: {log}");
    }
}
