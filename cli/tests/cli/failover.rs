//! Checks that the service survives a new database password and a new database server without a restart.

use std::{
    collections::HashSet,
    fs,
    io::Read as _,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use sqlx::{Connection as _, PgConnection};
use test_support::{NetworkServer, Proxy};
use tokio::runtime::Runtime;

use crate::{
    common::{DataDir, Service, compliance, output, token, wait_until},
    durability::Connection,
    programs::SECRET,
    starts::{free_address, head},
};

/// Creates the database `given`, and the `service` role, which has a password and owns nothing.
fn set_up(runtime: &Runtime, password: &str) -> NetworkServer {
    let server = runtime.block_on(NetworkServer::start());
    let role = format!("create database given; create role service login password '{password}'");
    runtime.block_on(server.execute("postgres", &role));
    let url = server.url("postgres", "given");
    let arguments = ["migrate", "--service-role", "service", "--database-url", &url];
    let (status, _, log) = output(compliance(&DataDir::new()).args(arguments));
    assert!(status.success(), "{log}");
    server
}

#[test]
fn startup_rejects_untrusted_database_certificates() {
    let (runtime, files) = (Runtime::new().unwrap(), DataDir::new());
    let server = set_up(&runtime, "first");
    fs::create_dir_all(files.path()).unwrap();
    let authority = |name: &str| {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let path = files.path().join(name);
        fs::write(&path, issuer.pem()).unwrap();
        (path.display().to_string(), issuer)
    };
    let ((path, issuer), (unknown, _)) = (authority("known.pem"), authority("unknown.pem"));
    let key = KeyPair::generate().unwrap();
    let names = CertificateParams::new(["other.example".to_owned()]).unwrap();
    let (certificate, key) = (names.signed_by(&key, &issuer).unwrap().pem(), key.serialize_pem());
    let start = |parameters: &str| {
        let url = format!("{}?{parameters}", server.url("service:first", "given"));
        let mut command = compliance(&DataDir::new());
        command.args(["core", "--database-url", &url]).env("COMPLIANCE_JWT_SECRET", SECRET);
        let (status, _, errors) = output(command.env("COMPLIANCE_START_TIMEOUT", "10m"));
        assert_eq!(status.code(), Some(2), "{parameters}: {errors}");
        assert!(
            errors.contains(&format!("cannot establish a TLS connection to {}", server.address)),
            "{parameters}: {errors}"
        );
        errors
    };
    let without_tls = start("sslmode=require");
    assert!(without_tls.contains("does not support TLS"), "{without_tls}");
    runtime.block_on(server.use_certificate(&certificate, &key));
    wait_until("the server uses its certificate", || {
        let url = format!("{}?sslmode=verify-ca&sslrootcert={path}", server.url("service:first", "given"));
        runtime.block_on(PgConnection::connect(&url)).is_ok()
    });
    let of_other_host = start(&format!("sslmode=verify-full&sslrootcert={path}"));
    assert!(of_other_host.contains("other.example"), "{of_other_host}");
    start(&format!("sslmode=verify-ca&sslrootcert={unknown}"));
}

/// Ends the load when dropped, even if the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn ready(service: &Service) -> bool {
    service.request("GET", "/readyz", "", "").0 == 200
}

fn create(service: &Service, token: &str, name: &str) -> u16 {
    let body = format!(r#"{{"client_affiliate_id":"c","affiliate_name":"{name}"}}"#);
    service.request("POST", "/api/affiliates", token, &body).0
}

/// Creates an affiliate. Retries, because the service's database check can fail briefly on a busy machine.
fn create_until_there(service: &Service, token: &str, name: &str) {
    wait_until("the affiliate exists", || match create(service, token, name) {
        201 | 409 => true,
        503 => false,
        status => panic!("creating {name:?} returned {status}"),
    });
}

#[test]
fn database_password_file_reloads_without_restart() {
    const CUT: &str = "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'service'";
    let runtime = Runtime::new().unwrap();
    let server = set_up(&runtime, "pw-first");
    let execute = |statement| runtime.block_on(server.execute("postgres", statement));
    let (data, files) = (DataDir::new(), DataDir::new());
    fs::create_dir_all(files.path()).unwrap();
    let file = files.path().join("url");
    let url = |password: &str| server.url(&format!("service:{password}"), "given");
    fs::write(&file, url("pw-wrong")).unwrap();
    let address = free_address();
    let service = thread::scope(|scope| {
        let starting = scope.spawn(|| {
            let mut command = compliance(&data);
            command.arg("serve").env("COMPLIANCE_DATABASE_URL_FILE", file.as_os_str());
            command.env("COMPLIANCE_REST_ADDR", address.to_string()).env("COMPLIANCE_START_TIMEOUT", "10m");
            Service::start_as(&mut command)
        });
        assert!(head(address, "/livez").starts_with("HTTP/1.0 200 "));
        fs::write(&file, url("pw-first")).unwrap();
        starting.join().unwrap()
    });
    let token = token(&data, 7);
    assert_eq!(create(&service, &token, "before"), 201);

    // Open connections keep working. New connections need the new password, which is not in the file yet.
    execute("alter role service password 'pw-second'");
    create_until_there(&service, &token, "open connections");
    // Concurrent pages need more connections than are open.
    let pages: Vec<_> = (0..20).map(|_| service.send("GET", "/api/cases", &token, "")).collect();
    for mut page in pages {
        let mut response = String::new();
        page.read_to_string(&mut response).unwrap();
        let status = response.split(' ').nth(1);
        assert!(matches!(status, Some("200" | "503")), "{response}");
    }
    fs::write(&file, "mysql://service:pw-hidden@host").unwrap();
    execute(CUT);
    wait_until("the service is not ready", || !ready(&service));
    service.wait_for_log("keeping the previous one");
    fs::write(&file, url("pw-second")).unwrap();
    wait_until("the service is ready again", || ready(&service));
    assert_eq!(create(&service, &token, "second"), 201);

    // The changed file takes effect without a restart.
    fs::write(&file, url("pw-third")).unwrap();
    execute("alter role service password 'pw-third'");
    execute(CUT);
    service.wait_for_log("the database URL has changed");
    wait_until("a write succeeds", || create(&service, &token, "third") != 503);
    let log = service.logged().join("\n");
    assert!(!log.contains("pw-"), "{log}");
}

/// Replication is synchronous, so the standby contains all acknowledged writes when it takes over.
#[test]
fn standby_promotion_needs_no_service_restart() {
    const ENOUGH: usize = 10;
    let runtime = Runtime::new().unwrap();
    let mut primary = set_up(&runtime, "password");
    let standby = runtime.block_on(async {
        let standby = primary.standby().await;
        primary.execute("postgres", "alter system set synchronous_standby_names = '*'; select pg_reload_conf()").await;
        primary.wait_for("select exists (select from pg_stat_replication where sync_state = 'sync')").await;
        standby
    });

    // The service rejects a standby.
    let alone = standby.url("service:password", "given");
    let url = format!("{alone}?target_session_attrs=primary");
    let arguments = ["core", "--jwt-secret", "0123456789abcdef0123456789abcdef", "--database-url", &url];
    let (status, _, log) = output(compliance(&DataDir::new()).args(arguments));
    assert!(status.code() == Some(1) && log.contains("does not accept writes"), "{log}");
    let (status, findings, _) = output(compliance(&DataDir::new()).args(["doctor", "--database-url", &alone]));
    assert!(status.code() == Some(3) && findings.contains("is a standby"), "{findings}");

    let data = DataDir::new();
    let endpoint = runtime.block_on(Proxy::tcp(primary.address));
    let url = format!("postgres://service:password@{}/given?target_session_attrs=read-write", endpoint.address());
    let service = Service::start_as(compliance(&data).args(["serve", "--rate-limit", "off"]).env("DATABASE_URL", url));
    let (token, address) = (token(&data, 7), service.rest);
    let (over, acknowledged, other) = (AtomicBool::new(false), Mutex::new(HashSet::new()), Mutex::new(Vec::new()));
    let count = || acknowledged.lock().unwrap().len();
    let work = |worker: usize| {
        for number in 0.. {
            if over.load(Ordering::Relaxed) {
                return;
            }
            let name = format!("{worker}-{number}");
            let body = format!(r#"{{"client_affiliate_id":"c","affiliate_name":"{name}"}}"#);
            let mut connection = Connection::new(address).unwrap();
            match connection.post("/api/affiliates", &token, &body).unwrap().status {
                201 => _ = acknowledged.lock().unwrap().insert(name),
                503 | 504 => {}
                status => other.lock().unwrap().push(status),
            }
            let mut connection = Connection::new(address).unwrap();
            let read = connection.request("GET", "/api/affiliates/1", &token, "").unwrap().status;
            if ![200, 404, 503].contains(&read) {
                other.lock().unwrap().push(read);
            }
        }
    };
    thread::scope(|scope| {
        let _over = Over(&over);
        for worker in 0..2 {
            let work = &work;
            scope.spawn(move || work(worker));
        }
        wait_until("enough writes are acknowledged", || count() >= ENOUGH);
        primary.kill();
        wait_until("the service is not ready", || !ready(&service));
        let before = count();
        // The service is not ready while the endpoint points to a standby.
        endpoint.lead_to(standby.address);
        service.wait_for_log("does not accept writes");
        assert!(!ready(&service));
        runtime.block_on(standby.execute("postgres", "select pg_promote()"));
        wait_until("the service is ready again", || ready(&service));
        wait_until("enough writes are acknowledged", || count() >= before + ENOUGH);
    });
    assert_eq!(*other.lock().unwrap(), [0; 0]);
    let affiliates = service.get("/api/affiliates", &token);
    let there = affiliates["data"].as_array().unwrap().iter();
    let there: HashSet<_> = there.map(|record| record["distributor_name"].as_str().unwrap().to_owned()).collect();
    let acknowledged = acknowledged.lock().unwrap();
    let lost: Vec<_> = acknowledged.difference(&there).collect();
    assert!(lost.is_empty(), "{lost:?} of {}", acknowledged.len());
}

/// A standby without the last writes takes over. The service never reissues the lost positions and IDs.
#[test]
fn failover_to_lagging_standby_reports_lost_writes() {
    let runtime = Runtime::new().unwrap();
    let mut primary = set_up(&runtime, "password");
    let standby = runtime.block_on(primary.standby());
    let data = DataDir::new();
    let endpoint = runtime.block_on(Proxy::tcp(primary.address));
    let url = format!("postgres://service:password@{}/given", endpoint.address());
    let service = Service::start_as(compliance(&data).args(["serve", "--rate-limit", "off"]).env("DATABASE_URL", url));
    let token = token(&data, 7);
    for number in 1..=5 {
        create_until_there(&service, &token, &format!("kept {number}"));
    }
    runtime.block_on(async {
        let caught_up =
            "select exists (select from pg_stat_replication where replay_lsn >= pg_current_wal_flush_lsn())";
        primary.wait_for(caught_up).await;
        standby.execute("postgres", "alter system set primary_conninfo = ''; select pg_reload_conf()").await;
        primary.wait_for("select not exists (select from pg_stat_replication)").await;
    });
    for number in 1..=5 {
        create_until_there(&service, &token, &format!("lost {number}"));
    }
    let changes = |after: i64| service.request("GET", &format!("/api/changes?after={after}"), &token, "");
    assert_eq!(changes(10).0, 200);
    primary.kill();
    runtime.block_on(standby.execute("postgres", "select pg_promote()"));
    endpoint.lead_to(standby.address);
    service.wait_for_log("positions and IDs have jumped ahead");
    for number in 1..=8 {
        create_until_there(&service, &token, &format!("new {number}"));
    }
    let (status, lost) = changes(10);
    let at = lost["detail"]["restored_position"].as_i64().unwrap_or_default();
    assert!(status == 410 && at > 1 << 40, "{status} {lost}");
    let (status, kept) = changes(5);
    let kept = kept["data"]["changes"].as_array().unwrap();
    assert_eq!((status, kept.len(), kept[8]["position"].as_i64()), (200, 9, Some(at + 8)));
}
