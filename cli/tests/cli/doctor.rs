//! `compliance doctor` names what is missing on a machine, each with a next step.

use std::{net::TcpListener, process::Stdio};

use serde_json::Value;

use crate::{
    common::{DataDir, compliance, output, start, token},
    programs::{Programs, token as given_token},
};

/// The exit status, and the findings by check.
fn doctor(data: &DataDir, arguments: &[&str]) -> (Option<i32>, Vec<Value>) {
    let (status, printed, log) = output(compliance(data).args(["doctor", "--json"]).args(arguments));
    assert!(log.is_empty(), "{log}");
    let findings = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
    for finding in &findings {
        assert_eq!(finding["state"] == "ok", finding["next_step"].is_null(), "{finding}");
    }
    (status.code(), findings)
}

fn state<'f>(findings: &'f [Value], check: &str) -> &'f str {
    let found = findings.iter().find(|finding| finding["check"] == check);
    found.unwrap_or_else(|| panic!("no {check} in {findings:#?}"))["state"].as_str().unwrap()
}

#[test]
fn a_machine_that_can_run_the_service_has_no_problem() {
    let data = DataDir::new();
    let (status, findings) = doctor(&data, &[]);
    assert_eq!(status, Some(0), "{findings:#?}");
    for check in ["REST", "gRPC", "PostgreSQL", "data folder"] {
        assert_eq!(state(&findings, check), "ok", "{findings:#?}");
    }
    assert_eq!(state(&findings, "keys"), "warning", "there is no secret yet");
    assert!(!data.path().exists(), "nothing is made");

    let service = start(&data, &[]);
    let (token, rest) = (token(&data, 7), service.rest.to_string());
    let (status, findings) = doctor(&data, &["--token", &token, "--rest-addr", &rest]);
    assert_eq!(status, Some(0), "{findings:#?}");
    assert_eq!((state(&findings, "keys"), state(&findings, "token")), ("ok", "ok"));
    assert_eq!(state(&findings, "REST"), "warning", "the service itself has the port");
    assert_eq!(state(&doctor(&data, &["--token", &given_token()]).1, "token"), "problem");
}

#[test]
fn a_given_database_is_asked() {
    let programs = Programs::new();
    let data = DataDir::new();
    let (status, findings) = doctor(&data, &["--database-url", &programs.database()]);
    assert_eq!(status, Some(0), "{findings:#?}");
    for check in ["database", "schema", "clock"] {
        assert_eq!(state(&findings, check), "ok", "{findings:#?}");
    }
    let empty = programs.database().replace("/given", "/postgres");
    let (status, findings) = doctor(&data, &["--database-url", &empty]);
    assert_eq!((status, state(&findings, "schema")), (Some(3), "problem"), "{findings:#?}");

    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (status, findings) = doctor(&data, &["--database-url", &format!("postgres://a:hidden-password@{nobody}/b")]);
    assert_eq!((status, state(&findings, "database")), (Some(3), "problem"), "{findings:#?}");
    assert!(!format!("{findings:?}").contains("hidden-password"));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://a:b@{}/c", silent.local_addr().unwrap());
    assert_eq!(state(&doctor(&data, &["--database-url", &url]).1, "database"), "problem");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = compliance(&DataDir::new())
        .args(["help", "serve"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");

    let mut child =
        compliance(&DataDir::new()).arg("doctor").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8(ended.stderr).unwrap()), (Some(141), String::new()));
}
