//! Tests `compliance token`, and the errors of failed commands.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::common::{DataDir, compliance, output};

#[test]
fn token_command_prints_only_the_token() {
    let data = DataDir::new();
    let arguments =
        ["token", "--company", "7", "--ttl", "15m", "--subject", "me", "--scope", "monitor audit", "--init"];
    let (status, token, log) = output(compliance(&data).args(arguments));
    assert!(status.success(), "{log}");
    let parts: Vec<&str> = token.strip_suffix('\n').unwrap().split('.').collect();
    assert!(
        parts.len() == 3
            && parts.iter().all(|part| part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)))
    );
    // The log reports a new secret; standard output contains only the token.
    assert!(log.contains("created a secret") && !log.contains(parts[2]), "{log}");
    let mode = fs::metadata(data.path().join("jwt-secret")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);

    let (_, _, log) = output(compliance(&data).args(arguments));
    assert_eq!(log, "");
}

#[test]
fn supplied_secret_is_not_stored() {
    let data = DataDir::new();
    let secret = "0123456789abcdef0123456789abcdef";
    let (status, ..) = output(compliance(&data).args(["token", "--company", "7"]).env("COMPLIANCE_JWT_SECRET", secret));
    assert!(status.success() && !data.path().exists());
}

#[test]
fn failed_commands_report_status_and_cause() {
    let data = DataDir::new();
    let occupied = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = occupied.local_addr().unwrap().to_string();
    let token: &[&str] = &["token", "--company", "7"];
    for (arguments, variable, value, exit, message) in [
        (token, "COMPLIANCE_JWT_SECRET", "short", 2, "at least 32"),
        (&["token", "--company", "0"], "X", "", 2, "--company"),
        (&["token", "--company", "7", "--ttl", "8"], "X", "", 2, "such as 8h"),
        (&["migrate"], "X", "", 2, "--database-url"),
        (
            &["migrate"],
            "DATABASE_URL",
            "postgres://u:hidden@127.0.0.1:1/d",
            1,
            "cannot connect to the database d at 127.0.0.1",
        ),
        (&["serve"], "COMPLIANCE_REST_ADDR", &address, 1, "--rest-addr"),
        (&["serve"], "COMPLIANCE_GRPC_ADDR", &address, 1, "--grpc-addr"),
        (&["serve"], "COMPLIANCE_POSTGRES_BIN", "/nonexistent", 1, "/nonexistent"),
        (
            &["serve"],
            "DATABASE_URL",
            "postgres://u:hidden@127.0.0.1:1/d",
            1,
            "cannot connect to the database d at 127.0.0.1",
        ),
        (&[], "COMPLIANCE_RATE_LIMIT", "many", 2, "--rate-limit"),
    ] {
        let (status, stdout, stderr) = output(compliance(&data).args(arguments).env(variable, value));
        assert_eq!(status.code(), Some(exit), "{arguments:?} {variable}: {stderr}");
        assert!(stderr.contains(message), "{arguments:?} {variable}: {stderr}");
        assert!(!stderr.contains("hidden") && !stderr.contains("panicked") && stdout.is_empty(), "{stderr}");
    }
}
