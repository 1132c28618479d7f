//! Runs the processes on one database, and reads from their access logs when requests end.

use std::{
    collections::HashMap,
    process::Command,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use embedded_postgres::ClusterOptions;
use load_test::target::Target;
use serde_json::Value;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::Notify;

use super::model;
use crate::{
    calls::Side,
    common::{Service, output},
    programs::Programs,
    witness,
};

/// Prefix of the request IDs in the logs.
pub(super) const OLD: &str = "old-";
/// Request timeout of the services that report 504.
const IMPATIENCE: &str = "300ms";
/// Maximum wait for a core's log line after its gateway logged the end of a request. If the gateway never sent the request, the core does not log it.
const NOT_SENT: Duration = Duration::from_secs(3);

pub(super) struct World {
    /// A single process, and a gateway with a core.
    pub(super) sides: [Side; 2],
    /// The same sides with a short timeout for REST requests.
    pub(super) impatient: [Side; 2],
    left: Arc<Left>,
    /// Dropped before `programs`, so the processes end before their database.
    _services: Mutex<Vec<Service>>,
    programs: Programs,
}

/// Logged request ends, by request ID.
#[derive(Default)]
struct Left {
    ends: Mutex<HashMap<String, End>>,
    changed: Notify,
}

#[derive(Clone, Copy, Default)]
struct End {
    in_gateway: Option<SystemTime>,
    in_core: Option<SystemTime>,
}

impl World {
    pub(super) fn start() -> Self {
        let mut options = ClusterOptions::temporary();
        options.max_connections = 300;
        let programs = Programs::with(options);
        programs.run(witness::SCHEMA);
        programs.run(model::SCHEMA);
        let left = Arc::new(Left::default());
        let mut services = Vec::new();
        let mut start = |mut command: Command, is_gateway| {
            // At this level, the access log has a line for every request.
            let mut service = Service::start_as(command.env("COMPLIANCE_LOG", "info"));
            follow(service.take_log(), is_gateway, Arc::clone(&left));
            let addresses = (service.rest, service.grpc);
            services.push(service);
            addresses
        };
        let (_, core) = start(programs.core(&[]), false);
        let mut sides = |arguments: &[&str]| {
            let (rest, grpc) = start(programs.serve(arguments), false);
            let one_process = Side { rest: Target::local(rest), grpc: Target::local(grpc) };
            let (rest, _) = start(programs.gateway_of(&[core], arguments), true);
            [one_process, Side { rest: Target::local(rest), grpc: Target::local(core) }]
        };
        let (patient, impatient) = (sides(&[]), sides(&["--rest-request-timeout", IMPATIENCE]));
        Self { sides: patient, impatient, left, _services: Mutex::new(services), programs }
    }

    /// Opens a superuser connection whose statements fire no triggers.
    pub(super) async fn connect(&self) -> PgConnection {
        let mut connection = PgConnection::connect(&self.programs.admin_database()).await.unwrap();
        sqlx::raw_sql("set session_replication_role = replica").execute(&mut connection).await.unwrap();
        connection
    }

    /// Returns the Unix time at which the service logged the end of a request, or `None` if the service never received the request.
    pub(super) async fn ended(&self, id: &str) -> Option<f64> {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(5);
        loop {
            let changed = self.left.changed.notified();
            let end = self.left.ends.lock().unwrap().get(id).copied().unwrap_or_default();
            let sent = || end.in_gateway.filter(|at| at.elapsed().unwrap_or_default() > NOT_SENT);
            if let Some(at) = end.in_core.or_else(sent) {
                return Some(at.duration_since(UNIX_EPOCH).unwrap().as_secs_f64());
            }
            if tokio::time::Instant::now() > deadline {
                return None;
            }
            let _ = tokio::time::timeout(Duration::from_millis(100), changed).await;
        }
    }

    /// Returns the Unix time at which a core logged the end of a request, or `None` if the log lacks that line.
    pub(super) fn ended_in_core(&self, id: &str) -> Option<f64> {
        let end = self.left.ends.lock().unwrap().get(id).copied().unwrap_or_default();
        end.in_core.map(|at| at.duration_since(UNIX_EPOCH).unwrap().as_secs_f64())
    }

    /// Checks that list counts match the records.
    pub(super) fn check_counts(&self) {
        // The test inserts records with explicit IDs, so move the sequences past them.
        self.programs.run(
            "select advance_ids(name) from unnest(array['affiliates', 'compliance_urls', 'compliance_cases']) name",
        );
        let (status, printed, log) = output(&mut self.programs.doctor(&["--counts"]));
        assert!(status.success(), "{printed}{log}");
    }
}

/// Reads a log to its end on a separate thread.
fn follow(log: impl Iterator<Item = String> + Send + 'static, is_gateway: bool, left: Arc<Left>) {
    thread::spawn(move || {
        for line in log.filter(|line| line.contains(OLD)) {
            let entry: Value = serde_json::from_str(&line).unwrap_or_default();
            let Some(id) = entry["request_id"].as_str().filter(|id| id.starts_with(OLD)) else { continue };
            let mut ends = left.ends.lock().unwrap();
            let end = ends.entry(id.to_owned()).or_default();
            let at = if is_gateway { &mut end.in_gateway } else { &mut end.in_core };
            *at = Some(SystemTime::now());
            drop(ends);
            left.changed.notify_waiters();
        }
    });
}
