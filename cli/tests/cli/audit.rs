//! `compliance audit`: what it prints, and its exit status.

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
fn the_first_change_that_was_altered_is_named() {
    let programs = Programs::new();
    programs.run(
        "insert into affiliates (company_id, client_affiliate_id, affiliate_name) values (7, 'A', 'A'), (8, 'A', 'A'), (8, 'B', 'B');
        insert into affiliates (company_id, client_affiliate_id, affiliate_name) values (7, 'B', 'B');
        update affiliates set city = 'Oslo' where company_id = 7",
    );
    let (status, checkpoints, log) = audit(&programs, &["checkpoint"]);
    assert_eq!((status, &*log), (Some(0), ""));
    let lines: Vec<Value> = checkpoints.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ends = lines.iter().map(|line| (line["company_id"].as_i64().unwrap(), line["position"].as_i64().unwrap()));
    assert_eq!(ends.collect::<Vec<_>>(), [(7, 4), (8, 2)]);
    let folder = DataDir::new();
    fs::create_dir_all(folder.path()).unwrap();
    let file = folder.path().join("checkpoints");
    fs::write(&file, checkpoints).unwrap();
    let file = file.to_str().unwrap();
    let (status, printed, _) = audit(&programs, &["verify", "--checkpoint", file]);
    assert_eq!(
        (status, printed.trim_end()),
        (Some(0), "the records of 2 companies are whole, and agree with 2 checkpoints")
    );

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
    let expected = "company 8: the record up to change 2 is not the one of the checkpoint";
    assert_eq!((status, printed.trim_end()), (Some(3), expected));

    let (status, _, log) = audit(&programs, &["checkpoint", "--company", "9"]);
    assert_eq!(status, Some(1));
    assert!(log.contains("company 9 has no record of changes"), "{log}");
}
