//! Reads from streaming replicas: a read sees every write that was acknowledged before, whatever happens to a replica.

use std::{
    collections::HashSet,
    net::SocketAddr,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::Value;
use test_support::{NetworkServer, Proxy};
use tokio::runtime::Runtime;

use crate::{
    common::{DataDir, Service, compliance, output, wait_until},
    durability::Connection,
    failover::{Over, ready, set_up},
    observability::metrics,
    programs::{SECRET, monitoring_token_of, token},
};

const ADMIN: [&str; 2] = ["--admin-addr", "127.0.0.1:0"];
const BY_REPLICA: &str = r#"compliance_reads_total{server="replica"}"#;
const BY_PRIMARY: &str = r#"compliance_reads_total{server="primary"}"#;

/// A primary, a standby that follows it, and a replica that follows the standby.
struct Servers {
    runtime: Runtime,
    primary: NetworkServer,
    standby: NetworkServer,
    replica: NetworkServer,
}

impl Servers {
    fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let primary = set_up(&runtime, "password");
        let [standby, replica] = runtime.block_on(async {
            // Not every role can see the timeline of a replica.
            primary.execute("postgres", "grant pg_read_all_stats to service").await;
            let standby = primary.standby().await;
            let replica = standby.standby().await;
            let follows = "alter system set synchronous_standby_names = '*'; select pg_reload_conf()";
            primary.execute("postgres", follows).await;
            primary.wait_for("select exists (select from pg_stat_replication where sync_state = 'sync')").await;
            // Without the wait, no read would see the latest write.
            let late = "alter system set recovery_min_apply_delay = '30ms'; select pg_reload_conf()";
            replica.execute("postgres", late).await;
            [standby, replica]
        });
        Self { runtime, primary, standby, replica }
    }

    fn on_replica(&self, statement: &str) {
        self.runtime.block_on(self.replica.execute("postgres", statement));
    }

    /// A command over the database with these replicas.
    fn command(&self, data: &DataDir, command: &str, replicas: &[&NetworkServer]) -> Command {
        let mut command_with_settings = compliance(data);
        command_with_settings
            .arg(command)
            .env("DATABASE_URL", url(&[&self.primary, &self.standby]))
            .env("COMPLIANCE_READ_DATABASE_URL", url(replicas))
            .env("COMPLIANCE_REPLICA_MAX_LAG", "2s")
            .env("COMPLIANCE_JWT_SECRET", SECRET);
        command_with_settings
    }
}

/// The URL of several servers for the service.
fn url(servers: &[&NetworkServer]) -> String {
    url_of(servers.iter().map(|server| server.address))
}

fn url_of(addresses: impl IntoIterator<Item = SocketAddr>) -> String {
    let hosts: Vec<_> = addresses.into_iter().map(|address| address.to_string()).collect();
    format!("postgres://service:password@{}/given?connect_timeout=5", hosts.join(","))
}

fn in_use(service: &Service) -> i64 {
    metrics(service.admin)["compliance_replicas_in_use"]
}

fn wait_for_replicas(service: &Service, count: i64) {
    wait_until(&format!("{count} replicas are used"), || in_use(service) == count);
}

/// The number of a core's reads on replicas and on the primary.
fn reads(core: &Service) -> [i64; 2] {
    let metrics = metrics(core.admin);
    [BY_REPLICA, BY_PRIMARY].map(|name| metrics[name])
}

fn create(service: &Service, name: &str) -> i64 {
    let body = format!(r#"{{"client_affiliate_id":"c","affiliate_name":"{name}"}}"#);
    let mut response = (503, Value::Null);
    // On a busy machine, the service's check of its database may fail for a moment.
    wait_until("an affiliate is created or refused", || {
        response = service.request("POST", "/api/affiliates", &token(), &body);
        response.0 != 503
    });
    let (status, body) = response;
    assert_eq!(status, 201, "{body}");
    body["detail"]["affiliate_id"].as_i64().unwrap()
}

fn name_of(service: &Service, id: i64) -> String {
    let affiliate = service.get(&format!("/api/affiliates/{id}"), &token());
    affiliate["data"]["distributor_name"].as_str().unwrap().to_owned()
}

/// Writes through one process, and reads the record through another one immediately.
fn expect_read(writer: &Service, reader: &Service, name: &str) {
    let id = create(writer, name);
    assert_eq!(name_of(reader, id), name);
}

#[test]
fn reads_see_acknowledged_writes_while_replicas_come_and_go() {
    let (mut servers, data) = (Servers::start(), DataDir::new());
    let core = Service::start_as(servers.command(&data, "core", &[&servers.replica]).args(ADMIN));
    let mut gateway = compliance(&data);
    gateway.args(["gateway", "--core-url", &format!("http://{}", core.grpc)]).env("COMPLIANCE_JWT_SECRET", SECRET);
    let gateway = Service::start_as(&mut gateway);
    // The primary is not a replica.
    let all = [&servers.standby, &servers.primary, &servers.replica];
    let serve = Service::start_as(servers.command(&data, "serve", &all).args(ADMIN).args(["--rate-limit", "off"]));
    wait_for_replicas(&core, 1);
    wait_for_replicas(&serve, 2);

    every_read_sees_the_writes_of_another_core(&servers, &core, &gateway, &serve);
    a_replica_that_does_not_replay_is_left_out(&servers, &core, &gateway, &serve);

    // A replica that is killed, or frozen.
    servers.replica.kill();
    expect_read(&serve, &gateway, "without the replica");
    wait_for_replicas(&core, 0);
    let runtime = &servers.runtime;
    runtime.block_on(servers.replica.restart());
    wait_for_replicas(&core, 1);
    servers.replica.freeze(true);
    expect_read(&serve, &gateway, "with a frozen replica");
    wait_for_replicas(&core, 0);
    servers.replica.freeze(false);
    wait_for_replicas(&core, 1);
    // Its connections still work.
    let [by_replica, _] = reads(&core);
    expect_read(&serve, &gateway, "with a replica again");
    wait_until("the replica serves", || {
        name_of(&gateway, 1);
        reads(&core)[0] > by_replica
    });
    wait_for_replicas(&serve, 2);

    a_standby_that_is_promoted_has_everything(&mut servers, &core, &gateway, &serve);
    an_old_primary_is_not_used(&mut servers, &data, &core, &serve);
}

fn every_read_sees_the_writes_of_another_core(servers: &Servers, core: &Service, gateway: &Service, serve: &Service) {
    let [by_replica, by_primary] = reads(core);
    for round in 0..10 {
        expect_read(serve, gateway, &format!("round {round}"));
        expect_read(gateway, serve, &format!("round {round} back"));
    }
    let has = |path: &str, text: &str| {
        let response = gateway.get(path, &token()).to_string();
        assert!(response.contains(text), "{path} without {text}: {response}");
    };
    for (path, name) in [("/api/affiliates", "streamed"), ("/api/affiliates:search?q=found", "found")] {
        create(serve, name);
        has(path, name);
    }
    let read = [("/api/urls", "/1"), ("/api/urls:search?q=example", "/2"), ("/api/overview", r#""total":3"#)];
    for (number, (path, expected)) in (1..).zip(read) {
        let body = format!(r#"{{"urls":[{{"url":"https://example.org/{number}"}}]}}"#);
        let (status, _) = serve.request("POST", "/api/urls", &token(), &body);
        assert_eq!(status, 201);
        has(path, expected);
    }
    // Long enough to be streamed.
    let text = "update compliance_urls set transcription_text = repeat('long', 1000000)";
    servers.runtime.block_on(servers.primary.execute("given", text));
    has("/api/urls?per_page=3", "longlong");
    let url = format!("http://{}", core.grpc);
    let mut export = compliance(&DataDir::new());
    export.args(["export", "urls", "--company", "7", "--core-url", &url]);
    let (status, exported, log) = output(export.env("COMPLIANCE_TOKEN", monitoring_token_of(7)));
    assert!(status.success() && exported.lines().count() == 3, "{exported}{log}");
    // 10 by ID, two lists of affiliates, five statements for URLs, one export.
    assert!(reads(core)[0] >= by_replica + 18 && reads(core)[1] == by_primary, "{:?}", reads(core));
}

fn a_replica_that_does_not_replay_is_left_out(servers: &Servers, core: &Service, gateway: &Service, serve: &Service) {
    servers.on_replica("select pg_wal_replay_pause()");
    let [_, by_primary] = reads(core);
    expect_read(serve, gateway, "while paused");
    assert!(reads(core)[1] > by_primary && in_use(core) == 0, "{:?}", reads(core));
    core.wait_for_log("has not replayed recent writes in time");
    servers.on_replica("select pg_wal_replay_resume()");
    wait_for_replicas(core, 1);
    let before = reads(core);
    expect_read(serve, gateway, "resumed");
    assert_eq!(reads(core), [before[0] + 1, before[1]]);
}

/// Except while no server accepts writes, no read fails. No acknowledged write is lost, and nothing is restarted.
fn a_standby_that_is_promoted_has_everything(
    servers: &mut Servers,
    core: &Service,
    gateway: &Service,
    serve: &Service,
) {
    const ENOUGH: usize = 30;
    let (over, down) = (AtomicBool::new(false), AtomicBool::new(false));
    let (written, wrong) = (Mutex::new(HashSet::new()), Mutex::new(Vec::new()));
    let count = || written.lock().unwrap().len();
    let (writer, readers) = (serve.rest, [gateway.rest, serve.rest]);
    let request = |address, method, path: &str, body: &str| {
        let answer = Connection::new(address).unwrap().request(method, path, &token(), body).unwrap();
        (answer.status, serde_json::from_str::<Value>(&answer.body).unwrap_or_default())
    };
    let work = |worker: usize| {
        for number in 0.. {
            if over.load(Ordering::Relaxed) {
                return;
            }
            let name = format!("{worker}-{number}");
            let body = format!(r#"{{"client_affiliate_id":"c","affiliate_name":"{name}"}}"#);
            let was_down = down.load(Ordering::Relaxed);
            let (status, body) = request(writer, "POST", "/api/affiliates", &body);
            let is_outage = || was_down || down.load(Ordering::Relaxed);
            match status {
                201 => {
                    let id = &body["detail"]["affiliate_id"];
                    written.lock().unwrap().insert(name.clone());
                    let path = format!("/api/affiliates/{id}");
                    let (status, body) = request(readers[number % 2], "GET", &path, "");
                    let sees = status == 200 && body["data"]["distributor_name"] == name.as_str();
                    if !(sees || [503, 504].contains(&status) && is_outage()) {
                        wrong.lock().unwrap().push(format!("read {status}: {body}"));
                    }
                }
                503 | 504 if is_outage() => {}
                status => wrong.lock().unwrap().push(format!("write {status}: {body}")),
            }
        }
    };
    let responds = |service: &Service| service.request("GET", "/api/affiliates/1", &token(), "").0 == 200;
    thread::scope(|scope| {
        let _over = Over(&over);
        for worker in 0..3 {
            let work = &work;
            scope.spawn(move || work(worker));
        }
        wait_until("enough is written", || count() >= ENOUGH);
        down.store(true, Ordering::Relaxed);
        servers.primary.kill();
        wait_until("the service does not serve", || !ready(serve));
        servers.runtime.block_on(servers.standby.execute("postgres", "select pg_promote()"));
        wait_until("the services serve again", || ready(serve) && responds(gateway));
        down.store(false, Ordering::Relaxed);
        let before = count();
        wait_until("enough is written", || count() >= before + ENOUGH);
    });
    assert_eq!(*wrong.lock().unwrap(), [""; 0]);
    // The replica follows the standby to its timeline. The standby now accepts writes.
    wait_for_replicas(core, 1);
    wait_for_replicas(serve, 1);
    let [by_replica, _] = reads(core);
    let affiliates = gateway.get("/api/affiliates", &token());
    assert!(reads(core)[0] > by_replica);
    let there = affiliates["data"].as_array().unwrap().iter();
    let there: HashSet<_> = there.map(|record| record["distributor_name"].as_str().unwrap().to_owned()).collect();
    let written = written.lock().unwrap();
    let lost: Vec<_> = written.difference(&there).collect();
    assert!(lost.is_empty(), "{lost:?} of {}", written.len());
}

/// The services use the old primary neither while it accepts writes, nor as a standby.
fn an_old_primary_is_not_used(servers: &mut Servers, data: &DataDir, core: &Service, serve: &Service) {
    servers.primary.kill();
    servers.runtime.block_on(servers.primary.restart());
    // The promoted server is busy, and responds after seconds.
    let slow = servers.runtime.block_on(Proxy::tcp(servers.standby.address));
    let held = servers.runtime.block_on(slow.hold());
    servers.runtime.spawn(async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        drop(held);
    });
    let all = [&servers.primary, &servers.replica];
    let mut command = servers.command(data, "serve", &all);
    let new =
        Service::start_as(command.env("DATABASE_URL", url_of([servers.primary.address, slow.address()])).args(ADMIN));
    wait_for_replicas(&new, 1);
    expect_read(serve, &new, "written after the fail-over");
    expect_read(&new, serve, "written by a new process");
    // The old primary is not used even while the promoted server does not respond.
    servers.standby.freeze(true);
    for service in [&new, serve] {
        service.wait_for_log("a former primary takes writes and is not used");
        assert!(!ready(service));
    }
    servers.standby.freeze(false);
    wait_until("the services serve again", || ready(serve) && ready(&new));
    expect_read(serve, &new, "written after the silence");
    wait_for_replicas(&new, 1);
    wait_for_replicas(core, 1);
    servers.primary.kill();
    servers.primary.make_standby();
    servers.runtime.block_on(servers.primary.restart());
    new.wait_for_log("is on a different timeline");
    expect_read(serve, &new, "next to an old standby");
    assert_eq!([in_use(&new), in_use(core)], [1, 1]);
}
