//! Checks that `compliance doctor` reports a machine's problems, each with a next step.

use std::{
    fs::{self, Permissions},
    net::TcpListener,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    process::{Command, Stdio},
};

use embedded_postgres::{ADMIN_ROLE, Cluster, OWNER_ROLE, SERVICE_ROLE};
use nix::{sys::signal::Signal, unistd::Uid};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use serde_json::Value;
use sqlx::{Connection as _, PgConnection};
use tokio::runtime::Runtime;

use crate::{
    common::{DataDir, GIVEN, Service, compliance, migrated, output, start, token, wait_until},
    programs::{Programs, SECRET, token as given_token},
};

/// Runs `doctor`. Returns the exit status and the findings.
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
fn doctor_reports_no_problem_on_healthy_machine() {
    let data = DataDir::new();
    let (status, findings) = doctor(&data, &[]);
    assert_eq!(status, Some(0), "{findings:#?}");
    for check in ["REST", "gRPC", "settings", "PostgreSQL", "data folder"] {
        assert_eq!(state(&findings, check), "ok", "{findings:#?}");
    }
    assert_eq!(state(&findings, "keys"), "warning", "the data folder contains no secret yet");
    assert!(!data.path().exists(), "doctor created the data folder");

    let service = start(&data, &[]);
    let (token, rest) = (token(&data, 7), service.rest.to_string());
    let (status, findings) = doctor(&data, &["--token", &token, "--rest-addr", &rest]);
    assert_eq!(status, Some(0), "{findings:#?}");
    assert_eq!((state(&findings, "keys"), state(&findings, "token")), ("ok", "ok"));
    let database = findings.iter().find(|finding| finding["check"] == "database").unwrap();
    assert!(database["found"].as_str().unwrap().contains(data.path().to_str().unwrap()), "{database}");
    assert_eq!(state(&findings, "REST"), "warning", "the service itself uses the port");
    assert_eq!(state(&doctor(&data, &["--token", &given_token()]).1, "token"), "problem");
}

#[test]
fn doctor_checks_external_database() {
    let programs = Programs::new();
    let data = DataDir::new();
    let (status, findings) = doctor(&data, &["--database-url", &programs.database()]);
    assert_eq!(status, Some(0), "{findings:#?}");
    for check in ["database", "schema", "retention", "connections"] {
        assert_eq!(state(&findings, check), "ok", "{findings:#?}");
    }
    assert_eq!(state(&findings, "rights"), "warning", "the URL names the owner");
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
fn permission_errors_name_required_role() {
    let programs = Programs::new();
    let data = DataDir::new();
    let run = |arguments: &[&str]| {
        let (status, _, errors) = output(compliance(&data).args(arguments));
        (status.code(), errors)
    };
    let (owner, service) = (programs.database(), programs.service_database());
    let grant = ["migrate", "--database-url", &owner, "--service-role"];
    let (status, errors) = run(&[&grant[..], &[OWNER_ROLE]].concat());
    assert!(status == Some(2) && errors.contains("the role compliance owns the tables"), "{errors}");
    assert_eq!(run(&[&grant[..], &[SERVICE_ROLE]].concat()).0, Some(0));
    let (status, errors) = run(&["migrate", "--database-url", &service, "--service-role", SERVICE_ROLE]);
    assert!(status == Some(2) && errors.contains("which does not own the tables: use the owner's URL"), "{errors}");
    let (status, errors) = run(&[&grant[..], &[ADMIN_ROLE]].concat());
    assert!(status == Some(2) && errors.contains("the role postgres is a superuser"), "{errors}");
    let empty = |url: &str| url.replace("/given", "/empty");
    programs.run_as_admin("postgres", &format!("create database empty owner {OWNER_ROLE}"));
    let (status, errors) = run(&["migrate", "--database-url", &empty(&programs.admin_database())]);
    assert!(status == Some(2) && errors.contains("a superuser, but compliance owns the database"), "{errors}");
    let (status, errors) = run(&["migrate", "--database-url", &empty(&service)]);
    let is_named = errors.contains("use the URL of the role that owns") && !errors.contains("at line");
    assert!(status == Some(1) && is_named, "{errors}");
    let (status, errors) = run(&["export", "urls", "--company", "7", "--database-url", &empty(&owner)]);
    assert!(status == Some(1) && errors.contains("run `compliance migrate"), "{errors}");
    let (status, errors) = run(&["restored", "--database-url", &service]);
    assert!(status == Some(1) && errors.contains("connect as the role that owns the tables"), "{errors}");
    // The error omits the line in PostgreSQL's source.
    assert!(errors.contains("SQLSTATE 42501") && !errors.contains("at line"), "{errors}");
}

/// The schema version is correct, but a core would reject the database or fail on its first write.
#[test]
fn doctor_detects_manual_schema_and_grant_changes() {
    let programs = Programs::new();
    let data = DataDir::new();
    let grant = ["migrate", "--database-url", &programs.database(), "--service-role", SERVICE_ROLE];
    let (status, _, log) = output(compliance(&data).args(grant));
    assert!(status.success(), "{log}");
    let url = programs.service_database();
    let found = |check: &str| {
        let (status, findings) = doctor(&data, &["--database-url", &url]);
        let finding = findings.iter().find(|finding| finding["check"] == check);
        (status, finding.unwrap_or_else(|| panic!("no {check} in {findings:#?}"))["found"].as_str().unwrap().to_owned())
    };
    assert_eq!(found("rights").0, Some(0), "{:?}", found("rights"));
    for (change, undo, check, text) in [
        (
            "alter table affiliates rename first_name to fn2",
            "alter table affiliates rename fn2 to first_name",
            "schema",
            "affiliates.first_name is missing",
        ),
        (
            "revoke insert on affiliates from compliance_service",
            "grant insert on affiliates to compliance_service",
            "rights",
            "insert on affiliates",
        ),
        (
            "revoke execute on function notice_restore from compliance_service",
            "grant execute on function notice_restore to compliance_service",
            "rights",
            "execute on notice_restore",
        ),
        (
            "revoke usage on sequence affiliates_id_seq from compliance_service",
            "grant usage on sequence affiliates_id_seq to compliance_service",
            "rights",
            "usage on affiliates_id_seq",
        ),
    ] {
        programs.run_as_admin("given", change);
        let (status, said) = found(check);
        assert!(status == Some(3) && said.contains(text), "{change}: {said}");
        programs.run_as_admin("given", undo);
        assert_eq!(found(check).0, Some(0), "{undo}");
    }

    for (days, expected) in [("90", Some(0)), ("91", Some(3))] {
        let (status, findings) = doctor(&data, &["--database-url", &url, "--change-retention", days]);
        assert_eq!(status, expected, "{findings:#?}");
    }
}

/// `doctor` detects the problem while the database runs and while it is stopped.
#[test]
fn doctor_detects_unusable_private_database() {
    let data = DataDir::new();
    let found = |expected: &str| {
        let (status, printed, log) = output(compliance(&data).args(["doctor", "--json"]));
        let findings: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let problems: Vec<&Value> = findings.iter().filter(|finding| finding["state"] == "problem").collect();
        let is_expected = match expected {
            "" => status.code() == Some(0) && state(&findings, "schema") == "ok",
            text => status.code() == Some(3) && problems.iter().any(|problem| problem.to_string().contains(text)),
        };
        assert!(is_expected, "{expected:?}: {findings:#?}\n{log}");
    };
    let run = |statement: &'static str| {
        Runtime::new().unwrap().block_on(async {
            let endpoint = Cluster::connect_running(data.path()).await.unwrap().unwrap();
            let mut connection = PgConnection::connect_with(&endpoint.options(ADMIN_ROLE, "compliance")).await.unwrap();
            sqlx::raw_sql(statement).execute(&mut connection).await.unwrap();
        });
    };
    let service = start(&data, &[]);
    found("");
    run("create table kept as select * from _sqlx_migrations; update _sqlx_migrations set checksum = '\\x00'");
    found("was created with a different version");
    service.signal(Signal::SIGTERM);
    service.end();
    found("was created with a different version");

    let data = migrated();
    let service = start(&data, &[]);
    service.signal(Signal::SIGTERM);
    service.end();
    let cluster = data.path().join("postgres");
    let found = |expected: &str| {
        let (status, printed, log) = output(compliance(&data).args(["doctor", "--json"]));
        assert!(status.code() == Some(if expected.is_empty() { 0 } else { 3 }), "{expected:?}: {printed}{log}");
        assert!(printed.contains(expected), "{expected:?}: {printed}{log}");
    };
    found("");
    let version = fs::read(cluster.join("PG_VERSION")).unwrap();
    fs::write(cluster.join("PG_VERSION"), "9\n").unwrap();
    found("PostgreSQL 9");
    fs::write(cluster.join("PG_VERSION"), version).unwrap();
    if Uid::effective().is_root() {
        let owner = fs::metadata(&cluster).unwrap();
        chown(&cluster, Some(0), Some(0)).unwrap();
        found("postgres");
        chown(&cluster, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    found("");
}

/// Only root can run a program as another user.
#[test]
fn startup_error_names_data_folder_owner() {
    if !Uid::effective().is_root() {
        return;
    }
    let (data, folder) = (DataDir::new(), DataDir::new());
    for (path, mode) in [(data.path(), 0o700), (folder.path(), 0o755)] {
        fs::create_dir_all(path).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let program = folder.path().join("compliance");
    fs::copy(env!("CARGO_BIN_EXE_compliance"), &program).unwrap();
    let mut command = Command::new(program);
    command
        .args(["serve", "--rest-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--data-dir"])
        .arg(data.path())
        .uid(65_534)
        .gid(65_534)
        .current_dir("/");
    let (status, _, log) = output(&mut command);
    let expected =
        format!("{} belongs to the user root, but this process runs as the user nobody", data.path().display());
    assert!(status.code() == Some(2) && log.contains(&expected), "{status} {log}");
}

/// A gateway's machine has neither a database nor PostgreSQL.
#[test]
fn doctor_checks_gateway_without_database() {
    let core = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = compliance(&DataDir::new());
    command.env_remove("COMPLIANCE_DATA_DIR").env("COMPLIANCE_POSTGRES_BIN", "/nonexistent");
    let (_, printed, log) =
        output(command.args(["doctor", "--json", "--jwt-secret", SECRET, "--core-url", &format!("http://{core}")]));
    let findings: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let problems = findings.iter().filter(|finding| finding["state"] == "problem").map(|finding| &finding["check"]);
    assert_eq!(problems.collect::<Vec<_>>(), ["core"], "{findings:#?}\n{log}");
    for check in ["PostgreSQL", "data folder", "disk", "gRPC"] {
        assert!(findings.iter().all(|finding| finding["check"] != check), "{findings:#?}");
    }
}

#[test]
fn core_without_database_is_not_blamed_on_keys() {
    let programs = Programs::new();
    let core = Service::start_as(&mut programs.core(&[]));
    // A core without its database is up, and its keys are not the cause.
    programs.run_as_admin("postgres", &format!("alter database {GIVEN} with allow_connections false"));
    let close =
        "select pg_terminate_backend(pid) from pg_stat_activity where datname is not null and pid <> pg_backend_pid()";
    programs.run_as_admin("postgres", close);
    wait_until("the core reports that it is not serving", || {
        let core = format!("http://{}", core.grpc);
        let (_, printed, _) = output(compliance(&DataDir::new()).env_remove("COMPLIANCE_DATA_DIR").args([
            "doctor",
            "--jwt-secret",
            SECRET,
            "--core-url",
            &core,
        ]));
        assert!(!printed.contains("compare the keys"), "{printed}");
        printed.contains("is not serving") && printed.contains("check the core's log and its database")
    });
}

#[test]
fn doctor_reports_unreachable_key_set() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (status, findings) = doctor(&DataDir::new(), &["--jwks-url", &format!("http://{nobody}/keys")]);
    assert_eq!((status, state(&findings, "keys")), (Some(3), "problem"), "{findings:#?}");
}

#[test]
fn doctor_validates_certificates_and_settings() {
    let (data, files) = (DataDir::new(), DataDir::new());
    fs::create_dir_all(files.path()).unwrap();
    let path = |name: &str| files.path().join(name).display().to_string();
    for (name, end) in [("good", 4000), ("old", 2020)] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["core.example".to_owned()]).unwrap();
        params.not_after = date_time_ymd(end, 1, 1);
        fs::write(path(&format!("{name}.pem")), params.self_signed(&key).unwrap().pem()).unwrap();
        fs::write(path(&format!("{name}-key.pem")), key.serialize_pem()).unwrap();
    }
    for (certificate, key, expected, text) in [
        ("good.pem", "good-key.pem", "ok", "valid for"),
        ("old.pem", "old-key.pem", "problem", "expired"),
        (
            "good.pem",
            "old-key.pem",
            "problem",
            "old-key.pem cannot be used: the key does not belong to the certificate in ",
        ),
        ("missing.pem", "good-key.pem", "problem", "missing.pem"),
    ] {
        let (certificate, key) = (path(certificate), path(key));
        for port in ["grpc", "rest"] {
            let flags = [format!("--{port}-tls-cert"), format!("--{port}-tls-key")];
            let (status, findings) = doctor(&data, &[&flags[0], &certificate, &flags[1], &key]);
            let check = if port == "grpc" { "gRPC certificate" } else { "REST certificate" };
            assert_eq!(state(&findings, check), expected, "{findings:#?}");
            assert_eq!(status, Some(if expected == "ok" { 0 } else { 3 }), "{findings:#?}");
            assert!(findings.iter().any(|finding| finding["found"].as_str().unwrap().contains(text)), "{findings:#?}");
        }
    }
    let limits = ["--company-limit", "17:in-flight=1", "--company-limit", "17:in-flight=2"];
    assert_eq!(state(&doctor(&data, &limits).1, "settings"), "problem");
    assert_eq!(state(&doctor(&data, &["--webhook-ca", &path("missing.pem")]).1, "settings"), "problem");
}

#[test]
fn insufficient_connection_limits_are_reported() {
    let programs = Programs::new();
    let found = |arguments: &[&str]| {
        let (_, findings) = doctor(&DataDir::new(), &[&["--database-url", &programs.database()], arguments].concat());
        findings.into_iter().find(|finding| finding["check"] == "connections").unwrap()
    };
    assert_eq!(found(&[])["state"], "ok");
    // The server allows 100 connections.
    assert_eq!(found(&["--cores", "5", "--database-connections", "17"])["state"], "warning");
    assert_eq!(found(&["--cores", "6", "--database-connections", "17"])["state"], "problem");
    programs.run_as_admin(GIVEN, &format!("alter role {OWNER_ROLE} connection limit 15"));
    let found = found(&[]);
    assert_eq!(found["state"], "problem");
    assert!(found["found"].as_str().unwrap().ends_with("the role compliance has 15 left"), "{found}");
    assert!(found["next_step"].as_str().unwrap().starts_with("raise this limit"), "{found}");
    let service = Service::start_as(&mut programs.serve(&[]));
    assert!(service.logged().concat().contains("the role compliance allows fewer connections than this process opens"));
}

#[test]
fn closed_output_pipe_prints_no_error() {
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
