//! Tests `compliance erase`, including killed erasures.

use std::process::Stdio;

use compliance_api::token::{Claims, Secret, issue};
use nix::sys::signal::Signal;
use sqlx::AssertSqlSafe;
use test_support::kill_process;

use crate::{
    common::{Service, output, wait_until},
    programs::{Programs, SECRET},
};

/// Creates enough URLs and enough change rows for three batches each.
const FILL: &str = "
    insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values (7, 1, 'qzcanary', 'qzcanary'), (8, 1, 'B', 'B');
    insert into compliance_urls (company_id, id, url, url_hash, affiliate_id)
        select 7, n, 'qzcanary ' || n, int8send(n), 1 from generate_series(1, 2500) n;
    do $$ begin for n in 1..600 loop update affiliates set city = 'qzcanary ' || n where company_id = 7; end loop; end $$";

const WAITING: &str = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
const CANARIES: &str = "select count(*) from changes where company_id = 7 and records::text like '%qzcanary%'";

fn verified(programs: &Programs) -> String {
    let (status, printed, log) = output(&mut programs.audit(&["verify"]));
    assert_eq!(status.code(), Some(0), "{printed} {log}");
    printed
}

/// Runs the command until it waits for the lock, then kills it.
fn kill_at(programs: &Programs, lock: &'static str) {
    let held = programs.hold(lock);
    let mut command = programs.erase(&["--yes"]).spawn().unwrap();
    wait_until("the command waits for the lock", || programs.number(WAITING) == 1);
    command.kill().unwrap();
    command.wait().unwrap();
    drop(held);
    let of_command = "select count(*) from pg_stat_activity where application_name = 'compliance'";
    wait_until("the command's database session ends", || programs.number(of_command) == 0);
}

#[test]
fn company_erasure_resumes_after_kill() {
    let programs = Programs::new();
    programs.run(FILL);
    let (status, _, log) = output(&mut programs.erase(&[]));
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains("--yes"), "{log}");
    let (status, printed, _) = output(&mut programs.erase(&["--dry-run"]));
    let has = "0 webhook_deliveries, 0 webhooks, 0 incidents, 0 infractions, 2500 compliance_urls, 0 compliance_cases, 1 affiliates, 0 vocabulary_entries";
    assert_eq!((status.code(), printed.trim_end()), (Some(0), &*format!("company 7 has {has}")));
    let urls = "select count(*) from compliance_urls where company_id = 7";
    assert_eq!(programs.number(urls), 2500);

    kill_at(&programs, "select from compliance_urls where company_id = 7 and id = 1500 for update");
    assert_eq!(programs.number(urls), 1500);
    verified(&programs);
    kill_at(&programs, "select from changes where company_id = 7 and position = 3000 for update");
    assert_eq!(programs.number(urls), 0);
    let left = programs.number(CANARIES);
    assert!(left > 0 && left < 600, "{left}");
    assert!(verified(&programs).contains("; they contain "));

    let (status, printed, log) = output(&mut programs.erase(&["--yes"]));
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(printed.starts_with("erased company 7") && printed.contains("had no records"), "{printed}");
    assert!(log.contains("changing the database database=\"the database given at "), "{log}");
    assert_eq!(programs.number(CANARIES), 0);
    assert_eq!(programs.number("select count(*) from compliance_url_counts where company_id = 7"), 0);
    assert_eq!(programs.number("select count(*) from affiliates where company_id = 8"), 1);
    verified(&programs);
    let (status, printed, _) = output(&mut programs.doctor(&[]));
    assert!(status.success(), "{printed}");
}

#[test]
fn erase_command_handles_large_affiliates() {
    let programs = Programs::new();
    programs.run(FILL);
    let (status, printed, log) = output(&mut programs.erase(&["--affiliate", "1", "--yes"]));
    assert_eq!(status.code(), Some(0), "{log}");
    let expected = "erased affiliate 1 with 2500 URLs, 0 cases, 0 incidents and 0 infractions";
    assert_eq!(printed.trim_end(), expected);
    assert_eq!(programs.number(CANARIES), 0);
    verified(&programs);
    let (status, _, log) = output(&mut programs.erase(&["--affiliate", "1", "--yes"]));
    assert_eq!(status.code(), Some(1));
    assert!(log.contains("company 7 has no affiliate 1"), "{log}");
}

/// Erases while a transaction holds a lock that the command needs. The transaction runs `more` before it commits.
fn erase_beside(arguments: &[&str], first: &'static str, more: &'static str) {
    let programs = Programs::new();
    programs.run(FILL);
    // The writer never stops waiting for locks, so the command has to back off.
    let mut writer = programs.hold_as_admin(first);
    let command = programs.erase(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the command waits for the writer", || programs.number(WAITING) == 1);
    programs.commit(&mut writer, more);
    let ended = command.wait_with_output().unwrap();
    let log = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{first}; {more}: {log}");
    for table in ["affiliates", "compliance_urls", "infractions"] {
        let left = format!("select count(*) from {table} where company_id = 7");
        assert_eq!(programs.number(AssertSqlSafe(left)), 0, "{first}; {more}");
    }
    assert_eq!(programs.number(CANARIES), 0);
    verified(&programs);
}

#[test]
fn erasure_retries_on_concurrent_writes() {
    const URL: &str = "update compliance_urls set url = url || '-' where company_id = 7 and id = 900";
    const INFRACTION: &str = "insert into infractions (company_id, url_id, infraction_type_id, infraction_name_id)
        values (7, 900, 1, 1)";
    let (company, affiliate) = (&["--yes"][..], &["--affiliate", "1", "--yes"][..]);
    for arguments in [company, affiliate] {
        // The writer adds a row with a foreign key.
        erase_beside(arguments, INFRACTION, "select 1");
    }
    // The writer and the command deadlock.
    erase_beside(company, URL, "update compliance_urls set url = url || '-' where company_id = 7 and id = 1");
    erase_beside(affiliate, URL, "update affiliates set city = 'Oslo' where company_id = 7 and id = 1");
}

#[test]
fn killed_affiliate_erasure_rolls_back() {
    let programs = Programs::new();
    programs.run(
        "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values (7, 1, 'qzcanary', 'qzcanary');
        insert into compliance_urls (company_id, id, url, url_hash, affiliate_id)
            select 7, n, 'qzcanary ' || n, int8send(n), 1 from generate_series(1, 900) n",
    );
    let claims = Claims::new(7, test_support::now(), 3600);
    let claims = Claims { scope: Some("erase".to_owned()), ..claims };
    let token = issue(&Secret::new(SECRET).unwrap(), &claims).unwrap();
    let rows = "select count(*) from compliance_urls where company_id = 7";
    let changes = "select max(position) from changes where company_id = 7";

    let mut serve = Service::start_as(&mut programs.serve(&[]));
    // The erasure deletes all other records before it needs this lock.
    let held = programs.hold("select from changes where company_id = 7 and position = 1 for update");
    let _request = serve.send("DELETE", "/api/affiliates/1", &token, "");
    wait_until("the erasure waits for the lock", || programs.number(WAITING) == 1);
    kill_process(serve.pid(), Signal::SIGKILL);
    serve.wait_for_end();
    drop(held);
    wait_until("the service's database sessions end", || programs.backends().is_empty());
    assert_eq!((programs.number(rows), programs.number(changes)), (900, 901));

    let serve = Service::start_as(&mut programs.serve(&[]));
    let (status, erased) = serve.request("DELETE", "/api/affiliates/1", &token, "");
    assert_eq!((status, &erased["data"]["urls"]), (200, &900.into()), "{erased}");
    assert_eq!((programs.number(rows), programs.number(CANARIES)), (0, 0));
    verified(&programs);
}
