//! Starts the service before its dependencies. The service waits, logs the wait, and then continues.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Stdio,
    thread,
};

use embedded_postgres::OWNER_ROLE;
use nix::sys::signal::Signal;

use crate::{
    common::{DataDir, Service, compliance, output, wait_until},
    programs::Programs,
};

const SECRET: (&str, &str) = ("COMPLIANCE_JWT_SECRET", "0123456789abcdef0123456789abcdef");

/// Returns an address with a port that was free at the time of the call.
pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Runs a health check. Returns the exit status and the output.
fn health(url: &str) -> (Option<i32>, String) {
    let (status, printed, errors) = output(compliance(&DataDir::new()).args(["health", url]));
    (status.code(), printed + &errors)
}

/// Waits until the port is open. Returns the response to a request.
pub(crate) fn head(address: SocketAddr, path: &str) -> String {
    let mut response = String::new();
    wait_until("the port is open", || {
        let Ok(mut stream) = TcpStream::connect(address) else { return false };
        write!(stream, "GET {path} HTTP/1.0\r\nHost: test\r\n\r\n").unwrap();
        response.clear();
        stream.read_to_string(&mut response).is_ok() && !response.is_empty()
    });
    response
}

#[test]
fn startup_waits_for_database_and_schema() {
    let programs = Programs::new();
    let url = programs.database().replace("/given", "/later");
    let address = free_address();
    let mut command = compliance(&DataDir::new());
    command.arg("core").envs([SECRET, ("COMPLIANCE_START_TIMEOUT", "10m"), ("DATABASE_URL", url.as_str())]);
    command.env("COMPLIANCE_GRPC_ADDR", address.to_string());
    let core = thread::spawn(move || Service::start_as(&mut command));
    let core_url = format!("grpc://{address}");
    wait_until("the core reports that it is not serving", || health(&core_url).1.contains("NotServing"));
    programs.run_as_admin("postgres", &format!("create database later owner {OWNER_ROLE}"));
    // The schema is still missing. The core also accepts a schema migrated by another program.
    assert_eq!(health(&core_url).0, Some(1));
    let (status, _, log) = output(compliance(&DataDir::new()).args(["migrate", "--database-url", &url]));
    assert!(status.success(), "{log}");
    let core = core.join().unwrap();
    assert_eq!(core.grpc, address);
    wait_until("the core is healthy", || health(&core_url).0 == Some(0));
    let logged = core.logged().join("\n");
    assert!(logged.contains("not ready: waiting") && logged.contains("later"), "{logged}");
    core.signal(Signal::SIGTERM);
    assert_eq!(core.end().code(), Some(0));
}

#[test]
fn gateway_startup_waits_for_key_set() {
    let (address, issuer) = (free_address(), free_address());
    let gateway = thread::spawn(move || {
        let mut command = compliance(&DataDir::new());
        command.args(["gateway", "--core-url", "http://127.0.0.1:9", "--jwks-url", &format!("http://{issuer}/keys")]);
        command.env("COMPLIANCE_REST_ADDR", address.to_string()).env("COMPLIANCE_START_TIMEOUT", "10m");
        Service::start_as(&mut command)
    });
    assert!(head(address, "/livez").starts_with("HTTP/1.0 200 "));
    assert!(head(address, "/readyz").starts_with("HTTP/1.0 503 "));
    let rejection = head(address, "/api/affiliates").to_lowercase();
    assert!(rejection.starts_with("http/1.0 503 ") && rejection.contains("\r\nretry-after: 1\r\n"), "{rejection}");
    assert!(rejection.contains(r#""code":"503""#), "{rejection}");
    let keys = TcpListener::bind(issuer).unwrap();
    let body = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"Ynf0goelchueOQCh_N0XFwE1JwtS2Lty6HMqCyEgh3k"}]}"#;
    let (mut stream, _) = keys.accept().unwrap();
    let _ = stream.read(&mut [0; 4096]).unwrap();
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).unwrap();
    drop(stream);
    let gateway = gateway.join().unwrap();
    assert_eq!(gateway.rest, address);
    // The running gateway checks the token first.
    assert!(head(address, "/api/affiliates").starts_with("HTTP/1.0 401 "));
}

#[test]
fn start_timeout_error_reports_cause() {
    let mut command = compliance(&DataDir::new());
    command
        .args(["core", "--start-timeout", "1s"])
        .env("DATABASE_URL", "postgres://u:hidden@127.0.0.1:1/d")
        .envs([SECRET]);
    let (status, _, log) = output(command.stdin(Stdio::null()));
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("gave up after 1s: cannot connect to the database d at 127.0.0.1"), "{log}");
    assert!(log.contains("not ready: waiting") && !log.contains("hidden"), "{log}");
    // The core does not wait after an invalid setting.
    let mut command = compliance(&DataDir::new());
    command.args(["core", "--start-timeout", "10m"]).env("DATABASE_URL", "mysql://host/d").envs([SECRET]);
    assert_eq!(output(&mut command).0.code(), Some(2));
}
