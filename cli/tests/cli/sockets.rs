//! Checks that the service keeps working with many silent connections and few file descriptors.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    common::{Service, compliance, migrated, token, wait_until},
    programs::{self, Programs, SECRET},
};

/// Returns the command under a file descriptor limit.
fn limited(command: &Command, descriptors: &str) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -S -n 64; ulimit -H -n {descriptors}; exec \"$0\" \"$@\"")]);
    limited.arg(command.get_program()).args(command.get_args()).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            limited.env(name, value);
        }
    }
    limited
}

/// Returns the response to a request without a body, or an empty string if none arrives.
fn response(address: SocketAddr, path: &str) -> String {
    let mut response = Vec::new();
    let mut send = || -> std::io::Result<()> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: test\r\n\r\n")?;
        stream.read_to_end(&mut response)?;
        Ok(())
    };
    let _ = send();
    String::from_utf8(response).unwrap()
}

/// Returns the CPU time used by a process, in milliseconds.
fn processor_time(service: &Service) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", service.pid())).unwrap();
    let fields: Vec<_> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    ticks * 10
}

/// Opens 300 silent connections to each port of a service with at most 256 file descriptors.
#[test]
fn silent_connections_do_not_block_other_clients() {
    let data = migrated();
    let token = token(&data, 7);
    let mut command = compliance(&data);
    command.args(["serve", "--rest-header-timeout", "5s", "--grpc-header-timeout", "5s"]);
    let service = Service::start_as(&mut limited(&command, "256"));
    let open = |address| (0..300).filter_map(move |_| TcpStream::connect(address).ok()).collect::<Vec<_>>();

    let grpc = open(service.grpc);
    assert_eq!(service.get("/api/affiliates", &token)["data"], serde_json::json!([]));
    let rest = open(service.rest);
    // For a short time, the silent connections use all permits.
    for path in ["/livez", "/readyz"] {
        wait_until("the service reports its health", || response(service.rest, path).starts_with("HTTP/1.0 200 OK"));
    }
    // No thread spins while all permits are in use.
    let (before, started) = (processor_time(&service), Instant::now());
    thread::sleep(Duration::from_secs(1));
    let (used, passed) = (processor_time(&service) - before, started.elapsed());
    assert!(u128::from(used) < passed.as_millis() / 2, "{used} ms of {passed:?}");
    // The service closes silent connections on time, even though their clients stay connected.
    wait_until("the REST port responds again", || response(service.rest, "/api/urls").starts_with("HTTP/1.0 401 "));
    drop((grpc, rest));
    assert_eq!(service.get("/api/affiliates", &token)["data"], serde_json::json!([]));
    let warnings = service.logged().iter().filter(|line| line.contains("connections")).count();
    assert!(warnings <= 20, "{warnings} lines");
}

#[test]
fn file_descriptor_limit_is_raised_and_logged() {
    let data = migrated();
    let mut command = compliance(&data);
    command.arg("serve");
    let service = Service::start_as(&mut limited(&command, "1000"));
    let limits = fs::read_to_string(format!("/proc/{}/limits", service.pid())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(files.split_whitespace().nth(3), Some("1000"), "{files}");
    let logged = service.logged();
    let line = logged.iter().find(|line| line.contains("file descriptors")).unwrap_or_else(|| panic!("{logged:#?}"));
    assert!(line.contains(r#""limit":1000"#) && line.contains(r#""before":64"#), "{line}");
}

/// `serve` has two ports and needs more descriptors than a gateway, which has one.
#[test]
fn doctor_warns_about_low_descriptor_limit() {
    let data = migrated();
    let state = |descriptors, arguments: &[&str]| {
        let mut command = compliance(&data);
        if !arguments.is_empty() {
            command.env_remove("COMPLIANCE_DATA_DIR");
        }
        command.args(["doctor", "--json"]).args(arguments);
        let printed = limited(&command, descriptors).output().unwrap().stdout;
        let lines = String::from_utf8(printed).unwrap();
        let findings = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let found = findings.into_iter().find(|finding| finding["check"] == "file descriptors").unwrap();
        found["state"].as_str().unwrap().to_owned()
    };
    let gateway = ["--jwt-secret", SECRET, "--core-url", "http://127.0.0.1:1"];
    assert_eq!((state("12000", &gateway), state("12000", &[])), ("ok".to_owned(), "warning".to_owned()));
    assert_eq!((state("10000", &gateway), state("1000", &[])), ("warning".to_owned(), "warning".to_owned()));
}

/// All permits are in use by calls that wait for a lock.
#[test]
fn overloaded_service_stays_ready() {
    let programs = Programs::new();
    let token = programs::token();
    let service = Service::start_as(&mut programs.serve(&["--max-in-flight", "1"]));
    let _lock = programs.lock_affiliates();
    let blocked = service.send("PUT", "/api/affiliates/1", &token, r#"{"id":1,"city":"X"}"#);
    programs.wait_for_blocked_statements(1);
    assert_eq!(service.request("GET", "/api/urls", &token, "").0, 503);
    assert_eq!(service.request("GET", "/readyz", "", "").0, 200);
    drop(blocked);
}
