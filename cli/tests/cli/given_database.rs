//! Tests commands on a database outside the data folder: `migrate`, `serve --database-url` and `doctor`.

use std::fs;

use crate::{
    common::{DataDir, Service, compliance, output, token},
    programs::{Programs, SECRET},
};
use embedded_postgres::{OWNER_ROLE, SERVICE_ROLE};
use nix::sys::signal::Signal;

/// Runs a command on a database. Returns the exit status, the output and the log.
fn run(url: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = compliance(&DataDir::new());
    command.args(arguments).args(["--database-url", url]).env("COMPLIANCE_JWT_SECRET", SECRET);
    let (status, printed, log) = output(&mut command);
    (status.code(), printed, log)
}

/// The owner migrates, and another role serves requests. The owner's `doctor` repairs manual damage.
#[test]
fn service_role_serves_and_owner_repairs() {
    let programs = Programs::new();
    programs.run_as_admin("postgres", &format!("create database empty owner {OWNER_ROLE}"));
    let [owner, service] =
        [programs.database(), programs.service_database()].map(|url| url.replace("/given", "/empty"));
    for (role, text) in [("nobody-has-this-name", "create role"), (OWNER_ROLE, "needs no grant")] {
        let (status, _, log) = run(&owner, &["migrate", "--service-role", role]);
        assert!(status == Some(2) && log.contains(text), "{log}");
    }
    let (_, _, log) = run(&owner, &["core"]);
    assert!(log.contains("steps are missing") && log.contains("--service-role ROLE"), "{log}");
    // The wrong role has created nothing.
    let counts: Vec<_> = log.split_once("not up to date (").unwrap().1.split(' ').collect();
    assert_eq!(counts[0], counts[2], "{log}");
    for _ in 0..2 {
        let (status, printed, log) = run(&owner, &["migrate", "--service-role", SERVICE_ROLE]);
        assert!(status == Some(0) && printed.is_empty(), "{log}");
    }
    let data = DataDir::new();
    let running = Service::start_as(compliance(&data).arg("serve").env("DATABASE_URL", &service));
    let body = r#"{"urls": [{"url": "https://example.org/"}]}"#;
    assert_eq!(running.request("POST", "/api/urls", &token(&data, 7), body).0, 201);
    running.signal(Signal::SIGTERM);
    assert_eq!(running.end().code(), Some(0));
    // The data folder contains only the secret.
    assert_eq!(fs::read_dir(data.path()).unwrap().count(), 1);
    // The service role cannot erase the record of changes, so the command erases nothing.
    let (status, _, log) = run(&service, &["erase", "--company", "7", "--yes"]);
    assert!(status == Some(1) && log.contains("only the owner of the tables can erase a company"), "{log}");

    programs.run_as_admin("empty", "truncate compliance_url_counts");
    let (status, printed, log) = run(&owner, &["doctor", "--counts"]);
    assert!(status == Some(3) && printed.contains("company 7: 6 counts of compliance_urls"), "{printed}{log}");
    assert_eq!(run(&owner, &["doctor", "--counts", "--repair"]).0, Some(0));
    let (status, printed, log) = run(&owner, &["doctor", "--counts"]);
    assert!(status == Some(0) && printed == "no problems found\n", "{printed}{log}");
    assert_eq!(run(&owner, &["doctor", "--repair"]).0, Some(2), "--repair needs --counts");
}

/// Checks that each command that uses the schema rejects this database, with these texts.
fn assert_rejected(url: &str, texts: [&str; 2]) {
    for command in [&["migrate"][..], &["serve"], &["core", "--migrate"], &["core"]] {
        let (status, _, log) = run(url, command);
        assert_eq!(status, Some(2), "{command:?}: {log}");
        assert!(texts.iter().all(|text| log.contains(text)), "{command:?}: {log}");
    }
}

/// The service creates nothing in another program's database, or after a failed restore.
#[test]
fn other_programs_databases_are_rejected() {
    let programs = Programs::new();
    programs.run_as_admin("postgres", &format!("create database shop owner {OWNER_ROLE}"));
    let url = programs.database().replace("/given", "/shop");
    let history = "create table _sqlx_migrations (version bigint, checksum bytea, success boolean);
        insert into _sqlx_migrations values (1, '', true)";
    for (others, table, count) in [("create table orders (id integer)", "orders", 1), (history, "_sqlx_migrations", 2)]
    {
        programs.run_as_admin("shop", &format!("set role {OWNER_ROLE}; {others}"));
        let expected = format!("the database shop already contains the table {table}");
        assert_rejected(&url, [&expected, "a database of its own"]);
        let tables = "select count(*) from pg_class
            where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')";
        programs.run_as_admin("shop", &format!("do $$ begin assert ({tables}) = {count}, 'a new table'; end $$"));
    }
}

/// Every command that detects migrations edited after they ran suggests a solution.
#[test]
fn modified_migrations_are_rejected_with_advice() {
    let programs = Programs::new();
    let url = programs.database();
    // The second statement also removes a migration.
    for statement in [
        "update _sqlx_migrations set checksum = '\\x00' where version = 20261126000001",
        "delete from _sqlx_migrations where version = (select max(version) from _sqlx_migrations)",
    ] {
        programs.run(statement);
        assert_rejected(&url, ["20261126000001 (changes)", "`compliance export`"]);
        let (status, printed, _) = run(&url, &["doctor"]);
        let schema: Vec<&str> = printed.lines().skip_while(|line| !line.contains("schema")).take(2).collect();
        let schema = schema.join("\n");
        assert!(status == Some(3) && schema.contains("20261126000001"), "{printed}");
        assert!(schema.contains("`compliance export`") && !schema.contains("compliance migrate"), "{printed}");
    }
}
