//! Tests the output and exit status of `compliance audit`.

use std::fs;

use serde_json::{Value, json};

use crate::{
    common::{DataDir, output},
    programs::Programs,
};

fn audit(programs: &Programs, arguments: &[&str]) -> (Option<i32>, String, String) {
    let (status, printed, log) = output(&mut programs.audit(arguments));
    (status.code(), printed, log)
}

#[test]
fn verify_reports_removed_changes_and_checkpoint_mismatches() {
    let programs = Programs::new();
    programs.run(
        "insert into affiliates (company_id, client_affiliate_id, affiliate_name) values (7, 'A', 'A'), (8, 'A', 'A'), (8, 'B', 'B');
        insert into affiliates (company_id, client_affiliate_id, affiliate_name) values (7, 'B', 'B');
        update affiliates set city = 'Oslo' where company_id = 7",
    );
    let (status, checkpoints, log) = audit(&programs, &["checkpoint"]);
    assert!(status == Some(0) && log.lines().count() == 1 && log.contains("using the database"), "{log}");
    let lines: Vec<Value> = checkpoints.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ends = lines.iter().map(|line| (line["company_id"].as_i64().unwrap(), line["position"].as_i64().unwrap()));
    assert_eq!(ends.collect::<Vec<_>>(), [(7, 4), (8, 2)]);
    let folder = DataDir::new();
    fs::create_dir_all(folder.path()).unwrap();
    let file = folder.path().join("checkpoints");
    fs::write(&file, checkpoints).unwrap();
    let file = file.to_str().unwrap();
    let (status, printed, _) = audit(&programs, &["verify", "--checkpoint", file]);
    let mut printed = printed.lines();
    assert_eq!(
        (status, printed.next()),
        (Some(0), Some("the records of changes for 2 companies are intact and match 2 checkpoints"))
    );
    let today: String = programs.text("select to_char(now() at time zone 'UTC', 'YYYY-MM-DD')");
    assert_eq!((printed.next(), printed.next()), (Some(&*format!("kept: 6 changes, since {today}")), None));

    programs.run("delete from changes where company_id = 7 and position = 2");
    let (status, printed, _) = audit(&programs, &["verify", "--checkpoint", file]);
    assert_eq!((status, printed.trim_end()), (Some(3), "company 7: changes 2 to 2 were removed"));
    assert_eq!(audit(&programs, &["verify", "--company", "8", "--checkpoint", file]).0, Some(0));

    let other = json!({"company_id": 8, "position": 2, "hash": "00"}).to_string();
    fs::write(file, other + "\nnothing").unwrap();
    let (status, _, log) = audit(&programs, &["verify", "--checkpoint", file]);
    assert_eq!(status, Some(1));
    assert!(log.contains("line 2 of") && log.contains("is not a checkpoint"), "{log}");
    fs::write(file, json!({"company_id": 8, "position": 2, "hash": "00"}).to_string()).unwrap();
    let (status, printed, _) = audit(&programs, &["verify", "--company", "8", "--checkpoint", file]);
    let expected = "company 8: the record up to change 2 differs from the checkpoint";
    assert_eq!((status, printed.trim_end()), (Some(3), expected));

    let (status, _, log) = audit(&programs, &["checkpoint", "--company", "9"]);
    assert_eq!(status, Some(1));
    assert!(log.contains("company 9 has no record of changes"), "{log}");
}

#[test]
fn verify_rejects_files_without_matching_checkpoints() {
    let programs = Programs::new();
    programs.run(
        "insert into affiliates (company_id, client_affiliate_id, affiliate_name) values (7, 'A', 'A'), (8, 'A', 'A')",
    );
    let folder = DataDir::new();
    fs::create_dir_all(folder.path()).unwrap();
    let path = folder.path().join("checkpoints");
    let file = path.to_str().unwrap();
    let (_, of_8, _) = audit(&programs, &["checkpoint", "--company", "8"]);
    for (content, company, expected) in [
        ("", &[][..], "contains no checkpoint"),
        ("\n  \n\n", &[], "contains no checkpoint"),
        ("", &["--company", "8"], "contains no checkpoint for company 8"),
        (&of_8, &["--company", "7"], "contains no checkpoint for company 7"),
    ] {
        fs::write(&path, content).unwrap();
        let (status, printed, log) = audit(&programs, &[&["verify", "--checkpoint", file], company].concat());
        assert_eq!((status, &*printed), (Some(1), ""), "{content:?}");
        assert!(log.contains(expected), "{content:?}: {log}");
    }
    fs::write(&path, of_8).unwrap();
    assert_eq!(audit(&programs, &["verify", "--checkpoint", file, "--company", "8"]).0, Some(0));
}

/// The audit distinguishes changes dropped by retention from changes removed manually.
#[test]
fn verify_lists_kept_and_dropped_changes() {
    let programs = Programs::new();
    programs.run(
        "insert into affiliates (company_id, client_affiliate_id, affiliate_name) values (7, 'A', 'A'), (8, 'A', 'A');
        update affiliates set city = 'Oslo';
        create table changes_y2020m01 (like changes including compression);
        alter table changes attach partition changes_y2020m01 for values from ('2020-01-01Z') to ('2020-02-01Z');
        update changes set changed_at = '2020-01-05Z' where position = 1",
    );
    programs.run("select drop_change_month()");
    let today: String = programs.text("select to_char(now() at time zone 'UTC', 'YYYY-MM-DD')");
    let by = programs.text("select session_user::text");
    let (status, printed, log) = audit(&programs, &["verify"]);
    assert_eq!(status, Some(0), "{printed} {log}");
    assert!(log.contains("using the database database=\"the database given at "), "{log}");
    let kept = format!("kept: 2 changes, since {today}");
    let dropped = |what: &str| format!("dropped: {what} of changes_y2020m01, on {today} by {by} (");
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[1], kept);
    assert!(
        lines[2].starts_with(&dropped("2 changes")) && lines[2].ends_with("): changes are kept for 90 days"),
        "{printed}"
    );
    let (_, printed, _) = audit(&programs, &["verify", "--company", "8"]);
    assert!(printed.lines().nth(2).unwrap().starts_with(&dropped("changes 1 to 1")), "{printed}");

    programs.run(
        "update change_positions set dropped_position = position, dropped_hash = hash where company_id = 8;
        delete from changes where company_id = 8",
    );
    let (status, printed, _) = audit(&programs, &["verify"]);
    assert_eq!((status, printed.lines().next()), (Some(3), Some("company 8: changes 2 to 2 were removed")));
}

/// Positions skipped by a restore are neither stored nor dropped. A record without any changes is incomplete.
#[test]
fn verify_ignores_positions_skipped_by_restores() {
    let programs = Programs::new();
    programs.run("insert into affiliates (company_id, client_affiliate_id, affiliate_name) values (7, 'A', 'A')");
    programs.run("select from jump_ahead()");
    programs.run(
        "insert into affiliates (company_id, client_affiliate_id, affiliate_name) values (7, 'B', 'B'), (8, 'A', 'A')",
    );
    let today: String = programs.text("select to_char(now() at time zone 'UTC', 'YYYY-MM-DD')");
    let (status, printed, log) = audit(&programs, &["verify"]);
    assert_eq!(status, Some(0), "{printed} {log}");
    let lines: Vec<&str> = printed.lines().collect();
    let at = programs.number("select first_position()");
    assert!(lines[0].starts_with(&format!("company 7: a restore lost positions 2 to {at};")), "{printed}");
    let whole = "the records of changes for 2 companies are intact and match 0 checkpoints";
    assert_eq!(lines[1..], [whole, &format!("kept: 4 changes, since {today}")]);

    programs.run(
        "create table changes_y2020m01 (like changes including compression);
        alter table changes attach partition changes_y2020m01 for values from ('2020-01-01Z') to ('2020-02-01Z');
        update changes set changed_at = '2020-01-05Z' where company_id = 7 and position <= first_position()",
    );
    programs.run("select drop_change_month()");
    // Company 9's record predates the logging of drops.
    programs.run(
        "insert into change_positions (company_id, position, changed_at, dropped_position) values (9, 1, now(), 1);
        insert into change_drops (company_id, position, after, dropped_at) values (9, 1, 0, now())",
    );
    let by = programs.text("select session_user::text");
    let (status, printed, log) = audit(&programs, &["verify"]);
    assert_eq!(status, Some(0), "{printed} {log}");
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[1], format!("kept: 2 changes, since {today}"));
    assert!(lines[2].starts_with("dropped: 2 changes of changes_y2020m01, on "), "{printed}");
    let before =
        format!("dropped: 1 change, by an earlier release that did not record the drop; detected on {today} by {by} (");
    assert!(lines[3].starts_with(&before), "{printed}");

    programs.run("delete from changes where company_id = 8; delete from change_positions where company_id = 8");
    let (status, printed, _) = audit(&programs, &["verify"]);
    assert_eq!((status, printed.lines().next()), (Some(3), Some("company 8: all changes were removed")));
}
