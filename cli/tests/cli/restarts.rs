//! Restarts and kills cores and gateways one after another, under steady load.

use std::{
    net::SocketAddr,
    panic::{self, AssertUnwindSafe},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    common::{Service, wait_until},
    durability::Connection,
    programs::{Programs, token},
};
use nix::sys::signal::Signal;

const CLIENTS: usize = 6;
/// Successful requests to wait for between restarts.
const ENOUGH: usize = 100;
/// Requests per connection. Then the client opens a new connection.
const PER_CONNECTION: usize = 25;

/// Clients that read and write continuously.
#[derive(Default)]
struct Load {
    over: AtomicBool,
    succeeded: AtomicUsize,
    failed: Mutex<Vec<String>>,
    slowest: Mutex<Duration>,
}

impl Load {
    fn client(&self, client: usize, addresses: &[SocketAddr], token: &str) {
        let mut number = 0;
        while !self.over.load(Ordering::Relaxed) {
            let Some(address) = addresses.iter().find(|address| is_ready(**address)) else { continue };
            let mut connection = match Connection::new(*address) {
                Ok(connection) => connection,
                Err(error) => return self.fail(format!("no connection: {error}")),
            };
            for _ in 0..PER_CONNECTION {
                number += 1;
                let name = format!("{client}-{number}");
                let affiliate = format!(r#"{{"client_affiliate_id":"c","affiliate_name":"{name}"}}"#);
                let (method, path, body, expected) = match number % 3 {
                    0 => ("POST", "/api/affiliates", affiliate.as_str(), 201),
                    1 => ("GET", "/api/urls?per_page=1", "", 200),
                    _ => ("GET", "/api/affiliates/1", "", 200),
                };
                let sent = Instant::now();
                let answer = match connection.request(method, path, token, body) {
                    Ok(answer) => answer,
                    Err(error) => return self.fail(format!("{method} {path}: {error}")),
                };
                let mut slowest = self.slowest.lock().unwrap();
                *slowest = (*slowest).max(sent.elapsed());
                drop(slowest);
                if answer.status == expected {
                    self.succeeded.fetch_add(1, Ordering::Relaxed);
                } else {
                    self.fail(format!("{method} {path}: {} {}", answer.status, answer.body));
                }
                if answer.closes || self.over.load(Ordering::Relaxed) {
                    break;
                }
            }
        }
    }

    fn fail(&self, what: String) {
        self.failed.lock().unwrap().push(what);
    }

    /// Runs clients of the gateways at `addresses` while `during` disturbs the processes.
    fn around(&self, addresses: &[SocketAddr], during: impl FnOnce()) {
        let token = token();
        let mut first = Connection::new(addresses[0]).unwrap();
        let made = first.post("/api/affiliates", &token, r#"{"client_affiliate_id":"c","affiliate_name":"first"}"#);
        assert_eq!(made.unwrap().status, 201);
        thread::scope(|scope| {
            for client in 0..CLIENTS {
                let token = &token;
                scope.spawn(move || self.client(client, addresses, token));
            }
            // Stop the clients even if `during` panics.
            let result = panic::catch_unwind(AssertUnwindSafe(during));
            self.over.store(true, Ordering::Relaxed);
            if let Err(panic) = result {
                panic::resume_unwind(panic);
            }
        });
    }

    fn wait_for_more(&self) {
        let before = self.succeeded.load(Ordering::Relaxed);
        wait_until("enough requests succeed", || {
            self.succeeded.load(Ordering::Relaxed) >= before + ENOUGH || self.failed.lock().unwrap().len() > 10
        });
    }

    fn failures(&self) -> Vec<String> {
        println!("{} requests, slowest {:?}", self.succeeded.load(Ordering::Relaxed), self.slowest.lock().unwrap());
        std::mem::take(&mut self.failed.lock().unwrap())
    }
}

/// Returns whether a load balancer would send requests to a gateway.
fn is_ready(address: SocketAddr) -> bool {
    let answer = Connection::new(address).and_then(|mut connection| connection.request("GET", "/readyz", "", ""));
    answer.is_ok_and(|answer| answer.status == 200)
}

fn core_at(programs: &Programs, address: SocketAddr) -> Command {
    let mut command = programs.core(&[]);
    command.env("COMPLIANCE_GRPC_ADDR", address.to_string());
    command
}

#[test]
fn rolling_core_restart_drops_no_requests() {
    let (programs, load) = (Programs::new(), Load::default());
    let mut cores = [0, 1].map(|_| Service::start_as(&mut programs.core(&[])));
    let addresses = [cores[0].grpc, cores[1].grpc];
    let gateway = Service::start_as(&mut programs.gateway_of(&addresses, &[]));
    load.around(&[gateway.rest], || {
        for core in &mut cores {
            load.wait_for_more();
            let address = core.grpc;
            // The old process exits before the new one binds the same port.
            core.signal(Signal::SIGTERM);
            core.wait_for_end();
            load.wait_for_more();
            *core = Service::start_as(&mut core_at(&programs, address));
        }
        load.wait_for_more();
    });
    assert_eq!(load.failures(), [""; 0]);
}

/// Clients connect only to ready gateways, like a load balancer.
#[test]
fn rolling_gateway_restart_drops_no_requests() {
    let (programs, load) = (Programs::new(), Load::default());
    let core = Service::start_as(&mut programs.core(&[]));
    let gateway = |address: Option<SocketAddr>| {
        let mut command = programs.gateway_of(&[core.grpc], &["--rest-shutdown-delay", "5s"]);
        Service::start_as(command.envs(address.map(|address| ("COMPLIANCE_REST_ADDR", address.to_string()))))
    };
    let mut gateways = [gateway(None), gateway(None)];
    let addresses = [gateways[0].rest, gateways[1].rest];
    load.around(&addresses, || {
        for (running, address) in gateways.iter_mut().zip(addresses) {
            load.wait_for_more();
            running.signal(Signal::SIGTERM);
            assert_eq!(running.wait_for_end().code(), Some(0));
            load.wait_for_more();
            *running = gateway(Some(address));
        }
        load.wait_for_more();
    });
    assert_eq!(load.failures(), [""; 0]);
}

/// A killed core fails only its in-flight writes, immediately and with 503.
#[test]
fn killed_core_fails_only_in_flight_writes() {
    let (programs, load) = (Programs::new(), Load::default());
    let mut cores = [0, 1].map(|_| Service::start_as(&mut programs.core(&[])));
    let gateway = Service::start_as(&mut programs.gateway_of(&[cores[0].grpc, cores[1].grpc], &[]));
    load.around(&[gateway.rest], || {
        for core in &mut cores {
            load.wait_for_more();
            let address = core.grpc;
            core.signal(Signal::SIGKILL);
            core.wait_for_end();
            load.wait_for_more();
            *core = Service::start_as(&mut core_at(&programs, address));
            load.wait_for_more();
        }
    });
    let failures = load.failures();
    // Only writes in flight when a core is killed can fail.
    assert!(failures.len() <= 2 * CLIENTS, "{failures:#?}");
    for failure in failures {
        assert!(failure.starts_with("POST /api/affiliates: 503 "), "{failure}");
    }
}

#[test]
fn gateway_returns_503_until_core_recovers() {
    let programs = Programs::new();
    let token = token();
    let core = Service::start_as(&mut programs.core(&[]));
    let address = core.grpc;
    // The timeout is longer than the test waits, so no request ends at its deadline.
    let gateway = Service::start_as(&mut programs.gateway_of(&[address], &["--rest-request-timeout", "10m"]));
    let lock = programs.lock_affiliates();
    let in_flight = {
        let (rest, token) = (gateway.rest, token.clone());
        thread::spawn(move || {
            let body = r#"{"client_affiliate_id":"c","affiliate_name":"first"}"#;
            Connection::new(rest).unwrap().post("/api/affiliates", &token, body).unwrap()
        })
    };
    programs.wait_for_blocked_statements(1);
    core.signal(Signal::SIGKILL);
    core.end();
    assert_eq!(in_flight.join().unwrap().status, 503);
    for (method, body) in [("GET", ""), ("PUT", r#"{"id":1}"#)] {
        let (status, body) = gateway.request(method, "/api/affiliates/1", &token, body);
        assert_eq!((status, &body["code"]), (503, &serde_json::json!("503")));
    }
    drop(lock);
    let mut recovered = Vec::new();
    for _ in 0..2 {
        let core = Service::start_as(&mut core_at(&programs, address));
        let start = Instant::now();
        wait_until("the gateway is ready again", || gateway.request("GET", "/readyz", "", "").0 == 200);
        recovered.push(start.elapsed());
        assert_eq!(gateway.get("/api/urls", &token)["meta"]["total"], 0);
        core.signal(Signal::SIGKILL);
        core.end();
        wait_until("the gateway is not ready", || gateway.request("GET", "/readyz", "", "").0 == 503);
    }
    // Other programs can delay one of the two recoveries.
    assert!(recovered.iter().min().is_some_and(|fastest| *fastest < Duration::from_secs(5)), "{recovered:?}");
}

/// Adds columns and attributes, as a newer version does before its programs start. Each table has its own transaction, because locks on several
/// tables could deadlock with a statement that reads them. Rows of `change_entry` and `change_row` contain all attributes, so a newer version does
/// not change these types.
const NEWER_COLUMNS: &str = "
do $$
declare part record;
begin
    for part in select oid::regclass as name, relkind from pg_class
                where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'c') and not relispartition
                    and relname !~ '^_' and relname not in ('change_entry', 'change_row') loop
        if part.relkind <> 'c' then
            execute format('alter table %s add column newer text default ''x''', part.name);
        else
            execute format('alter type %s add attribute newer text', part.name);
        end if;
        commit;
    end loop;
end $$";
/// Adds the newer version's table, index and migration.
const NEWER_TABLE: &str = "
create table newer (company_id bigint primary key, note text not null);
create index newer_index on affiliates (company_id, newer);
insert into _sqlx_migrations (version, description, installed_on, success, checksum, execution_time)
values (99991231000000, 'newer', now(), true, 'x', 1);";

#[test]
fn old_release_runs_on_newer_schema() {
    let (programs, load) = (Programs::new(), Load::default());
    let mut cores = [0, 1].map(|_| Service::start_as(&mut programs.core(&[])));
    let gateway = Service::start_as(&mut programs.gateway_of(&[cores[0].grpc, cores[1].grpc], &[]));
    load.around(&[gateway.rest], || {
        load.wait_for_more();
        programs.run(NEWER_COLUMNS);
        programs.run(NEWER_TABLE);
        load.wait_for_more();
        // The old release also starts on the newer schema.
        for (core, argument) in cores.iter_mut().zip([None, Some("--migrate")]) {
            let address = core.grpc;
            core.signal(Signal::SIGTERM);
            core.wait_for_end();
            *core = Service::start_as(core_at(&programs, address).args(argument));
            load.wait_for_more();
        }
    });
    assert_eq!(load.failures(), [""; 0]);
    let serve = Service::start_as(&mut programs.serve(&[]));
    assert!(serve.get("/api/affiliates", &token())["data"].as_array().unwrap().len() > 1);
}
