//! Tests the logs, traces and metrics for operators: quiet health checks, slow statements, and metrics of failures.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use compliance_api::token::{Claims, Secret, issue};
use nix::sys::signal::Signal;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::{
    common::{DataDir, Service, compliance, output, wait_until},
    observability::{Collector, metrics, raw, raw_with_body},
    programs::{Programs, SECRET, token},
};

const INFO: [(&str, &str); 2] = [("COMPLIANCE_LOG", "info"), ("OTEL_BSP_SCHEDULE_DELAY", "100")];
const ADMIN: [&str; 2] = ["--admin-addr", "127.0.0.1:0"];

/// Stops a program. Returns its log lines.
fn lines_of(program: Service) -> Vec<Value> {
    program.signal(Signal::SIGTERM);
    let (_, log) = program.end_with_log();
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the number of health checks that a core has answered.
fn health_checks(core: &Service) -> i64 {
    let name =
        "compliance_grpc_call_duration_seconds_count{service=\"grpc.health.v1.Health\",method=\"Check\",code=\"OK\"}";
    metrics(core.admin).get(name).copied().unwrap_or_default()
}

#[test]
fn health_checks_are_neither_logged_nor_traced() {
    let threads = Runtime::new().unwrap();
    let (collector, address) = Collector::start(&threads);
    let programs = Programs::new();
    let settings = [&ADMIN[..], &["--otlp-endpoint", &address]].concat();
    let cores = [(); 2].map(|()| Service::start_as(programs.core(&settings).envs(INFO)));
    let addresses = [cores[0].grpc, cores[1].grpc];
    let started = Instant::now();
    let gateway = |log: &str| {
        let mut command = programs.gateway_of(&addresses, &settings);
        Service::start_as(command.envs(INFO).env("COMPLIANCE_LOG", log))
    };
    let gateways = [gateway("info"), gateway("info,access=debug")];
    wait_until("each core has received several health checks", || cores.iter().all(|core| health_checks(core) >= 6));
    let (seconds, checks) = (started.elapsed().as_secs() as i64, cores.each_ref().map(health_checks));
    // Each gateway checks each core once a second, and at most once more at startup.
    assert!(checks.into_iter().all(|checks| checks <= 2 * (seconds + 2)), "{checks:?} in {seconds} s");
    for path in ["/livez", "/readyz"] {
        for gateway in &gateways {
            assert_eq!(gateway.request("GET", path, "", "").0, 200);
        }
    }
    for gateway in &gateways {
        assert_eq!(gateway.request("GET", "/api/affiliates/1", &token(), "").0, 404);
    }
    let [quiet, loud] = gateways.map(lines_of);
    let logs = [quiet, cores.map(lines_of).concat()];
    let names_health = |line: &Value| line["operation"].as_str().is_some_and(is_health);
    for log in &logs {
        assert!(log.iter().any(|line| line["target"] == "access"), "{log:#?}");
        assert!(!log.iter().any(names_health), "{log:#?}");
    }
    assert!(loud.iter().filter(|line| names_health(line)).count() >= 2, "{loud:#?}");
    let spans = collector.spans();
    assert!(spans.iter().any(|(_, span)| span.name == "GET /api/affiliates/{id}"), "{spans:#?}");
    assert!(!spans.iter().any(|(_, span)| is_health(&span.name)), "{spans:#?}");
}

fn is_health(operation: &str) -> bool {
    ["Health", "livez", "readyz"].iter().any(|part| operation.contains(part))
}

/// Sends a request with an ID from a separate thread, which waits for the response.
fn in_background(gateway: SocketAddr, method: &'static str, path: &'static str, body: &'static str, id: &'static str) {
    let head = format!("{method} {path} HTTP/1.1\r\nX-Request-Id: {id}\r\nAuthorization: Bearer {}", token());
    std::thread::spawn(move || raw_with_body(gateway, &head, body));
}

#[test]
fn slow_statements_are_logged_once() {
    let programs = Programs::new();
    let core = Service::start_as(programs.core(&ADMIN).envs(INFO));
    let gateway = Service::start_as(&mut programs.gateway_of(&[core.grpc], &[]));
    let retries = || metrics(core.admin)["compliance_statement_retries_total{reason=\"lock\"}"];
    assert_eq!(retries(), 0);
    let (lock, start) = (programs.lock_affiliates(), Instant::now());
    let requests = [
        ("GET", "/api/affiliates/1", "", "single", "reads of affiliates"),
        ("GET", "/api/affiliates", "", "list", "compliance.v1.AffiliateService/ListAffiliates"),
        (
            "POST",
            "/api/affiliates",
            r#"{"affiliate_name":"N","client_affiliate_id":"C"}"#,
            "new",
            "writes of new affiliates",
        ),
    ];
    for (method, path, body, id, _) in requests {
        in_background(gateway.rest, method, path, body, id);
    }
    // Each read attempt waits for at most a second.
    wait_until("the reads have waited for several seconds", || start.elapsed().as_secs() >= 3 && retries() >= 4);
    let held = start.elapsed();
    drop(lock);
    let calls = |metrics: std::collections::BTreeMap<String, i64>| {
        let of_affiliates =
            |name: &&String| name.contains("duration_seconds_count") && name.contains(".AffiliateService");
        metrics.keys().filter(of_affiliates).count()
    };
    wait_until("all requests have received a response", || calls(metrics(core.admin)) == 3);
    let log = lines_of(core);
    let slow: Vec<&Value> = log.iter().filter(|line| line["target"] == "statement").collect();
    for (_, path, _, id, name) in requests {
        let of: Vec<_> = slow.iter().filter(|line| line["statement"] == name).collect();
        let [line] = &of[..] else { panic!("{path}: {slow:#?}") };
        assert_eq!((&line["request_ids"], &line["level"], &line["requests"]), (&id.into(), &"WARN".into(), &1.into()));
        let duration = Duration::from_secs_f64(line["duration_ms"].as_f64().unwrap() / 1e3);
        assert!(duration > held.saturating_sub(Duration::from_secs(2)) && duration < held * 2, "{held:?} {line}");
        assert!(line["attempts"].as_i64().unwrap() > 1, "{line}");
    }
    assert_eq!(slow.len(), requests.len(), "{slow:#?}");
    assert!(!log.iter().any(|line| line.to_string().contains("select ")), "{log:#?}");
}

#[test]
fn access_log_contains_subject_and_peer() {
    let programs = Programs::new();
    let core = Service::start_as(programs.core(&[]).envs(INFO));
    let gateway = Service::start_as(programs.gateway_of(&[core.grpc], &[]).envs(INFO));
    let claims = Claims::new(7, test_support::now(), 3600);
    let long = "s".repeat(300);
    for subject in ["crawler", &long] {
        let token =
            issue(&Secret::new(SECRET).unwrap(), &Claims { sub: Some(subject.to_owned()), ..claims.clone() }).unwrap();
        for path in ["/api/affiliates", "/api/affiliates/1", "/api/cases"] {
            gateway.request("GET", path, &token, "");
        }
    }
    for (tier, log) in [("gateway", lines_of(gateway)), ("core", lines_of(core))] {
        let lines: Vec<_> = log.iter().filter(|line| line["target"] == "access").collect();
        for subject in ["crawler", &long[..128]] {
            assert_eq!(lines.iter().filter(|line| line["subject"] == subject).count(), 3, "{tier} {lines:#?}");
        }
        assert_eq!(lines.len(), 6, "{tier} {lines:#?}");
        let has_peer = |line: &&Value| line["peer"].as_str().is_some_and(|peer| peer.parse::<SocketAddr>().is_ok());
        assert!(lines.iter().all(has_peer), "{lines:#?}");
    }
}

#[test]
fn metrics_show_unhealthy_cores_and_retries() {
    let programs = Programs::new();
    let cores = [(); 2].map(|()| Service::start_as(&mut programs.core(&[])));
    let addresses = [cores[0].grpc, cores[1].grpc];
    let gateway = Service::start_as(&mut programs.gateway_of(&addresses, &ADMIN));
    let state = |address: SocketAddr, state: &str| {
        let name = format!("compliance_gateway_core_addresses{{core=\"http://{address}/\",state=\"{state}\"}}");
        metrics(gateway.admin).get(&name).copied()
    };
    let retries = || -> i64 {
        let seen = metrics(gateway.admin);
        ["not_connected", "not_processed", "broken"]
            .map(|reason| seen[&format!("compliance_gateway_call_retries_total{{reason=\"{reason}\"}}")])
            .iter()
            .sum()
    };
    assert_eq!(retries(), 0);
    // The gateway serves requests as soon as it knows one core, so wait for both cores.
    wait_until("the gateway knows both cores", || addresses.iter().all(|core| state(*core, "serving") == Some(1)));
    assert_eq!(addresses.map(|core| state(core, "not_serving")), [Some(0); 2]);
    let [first, _second] = cores;
    drop(first);
    wait_until("the gateway knows that a core is unhealthy", || state(addresses[0], "not_serving") == Some(1));
    assert_eq!((state(addresses[0], "serving"), state(addresses[1], "serving")), (Some(0), Some(1)));
    // A gateway without its only core reports that it is not ready.
    let alone = Service::start_as(&mut programs.gateway_of(&addresses[..1], &ADMIN));
    assert_eq!(alone.request("GET", "/api/affiliates", &token(), "").0, 503);
    let seen = |name: &str| {
        metrics(alone.admin).into_iter().filter(|(key, _)| key.starts_with(name)).map(|(_, n)| n).sum::<i64>()
    };
    assert!(seen("compliance_gateway_call_retries_total") > 0);
    wait_until("the gateway knows that its only core is unhealthy", || {
        metrics(alone.admin)
            [&format!("compliance_gateway_core_addresses{{core=\"http://{}/\",state=\"not_serving\"}}", addresses[0])]
            == 1
    });
}

#[test]
fn log_flags_override_environment_variables() {
    let data = DataDir::new();
    let warning = "unknown environment variable";
    let logged = |flags: &[&str]| {
        let mut command = compliance(&data);
        command.args(["token", "--company", "7"]).args(flags).env("COMPLIANCE_LOG_FORMAT", "json");
        let (status, _, log) = output(command.envs([("COMPLIANCE_JWT_SECRET", SECRET), ("COMPLIANCE_NONSENSE", "1")]));
        assert!(status.success(), "{log}");
        log
    };
    let (json, plain) = (logged(&[]), logged(&["--log-format", "text"]));
    assert!(json.contains(warning) && json.starts_with('{'), "{json}");
    assert!(plain.contains(warning) && !plain.starts_with('{'), "{plain}");
    assert!(!logged(&["--log", "error"]).contains(warning));
}

#[test]
fn log_filter_changes_at_runtime() {
    let programs = Programs::new();
    let serve = Service::start_as(&mut programs.serve(&[&ADMIN[..], &["--instance", "here"]].concat()));
    let filter = || raw(serve.admin, "GET /log HTTP/1.1");
    let put = |filter: &str| raw_with_body(serve.admin, "PUT /log HTTP/1.1", filter);
    let before = filter();
    assert!(before.contains("access=warn"), "{before}");
    for wrong in ["nonsense", "info,access=loud", &"a".repeat(2000)] {
        assert!(put(wrong).starts_with("HTTP/1.1 400 "), "{wrong}");
    }
    let body = |response: &str| response.split_once("\r\n\r\n").unwrap().1.to_owned();
    assert_eq!(body(&filter()), body(&before));
    let ask = |id: &str| {
        let head = format!("GET /api/affiliates HTTP/1.1\r\nX-Request-Id: {id}\r\nAuthorization: Bearer {}", token());
        assert!(raw(serve.rest, &head).starts_with("HTTP/1.1 200 "));
    };
    ask("unseen");
    let changed = put("info,access=info");
    assert!(changed.starts_with("HTTP/1.1 200 ") && changed.contains("access=info"), "{changed}");
    ask("seen");
    // An empty filter restores the default.
    assert!(put("").contains("access=warn"));
    ask("unseen");
    let seen = metrics(serve.admin);
    let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("COMPLIANCE_COMMIT"));
    let labels = format!("version=\"{version}\",commit=\"{commit}\",instance_id=\"here\"");
    assert_eq!(seen[&format!("compliance_build_info{{{labels}}}")], 1);
    let log = lines_of(serve);
    let count = |id: &str| log.iter().filter(|line| line["request_id"] == id).count();
    assert_eq!((count("seen"), count("unseen")), (1, 0), "{log:#?}");
    let ready = log.iter().find(|line| line["message"] == "ready" && line["instance"] == "here");
    assert_eq!(ready.unwrap()["commit"], commit, "{log:#?}");
    let (_, printed, _) = output(compliance(&DataDir::new()).arg("--version"));
    // Builds outside a checkout have no commit.
    let shown = if commit.is_empty() { String::new() } else { format!(" ({commit})") };
    assert_eq!(printed, format!("compliance {version}{shown}\n"));
    // Without --instance, two programs on one host have different names.
    let names = [(); 2].map(|()| {
        let log = lines_of(Service::start_as(&mut programs.serve(&[])));
        log.into_iter().find_map(|line| line["instance"].as_str().map(str::to_owned)).unwrap()
    });
    assert_ne!(names[0], names[1]);
}
