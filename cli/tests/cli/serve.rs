//! Starts, uses, kills, restarts and stops `compliance serve`.

use std::{fs, path::Path, time::Duration};

use crate::common::{DataDir, compliance, migrated, program, start};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// Reads the demo company's lists with the token from the greeting.
#[test]
fn command_without_arguments_serves_demo_company() {
    let data = DataDir::new();
    let service = start(&data, &[]);
    let greeting = service.lines_until("Ctrl-C");
    let rest = format!("http://{}/api", service.rest);
    assert!(greeting.iter().any(|line| line.ends_with(&rest)), "{greeting:#?}");
    for page in ["docs", "console"] {
        let page = format!("http://{}/{page}", service.rest);
        assert!(greeting.iter().any(|line| line.ends_with(&page)), "{greeting:#?}");
    }
    assert_eq!(greeting.iter().filter(|line| line.trim_start().starts_with("curl ")).count(), 3);
    let token = greeting.iter().find_map(|line| line.trim_start().strip_prefix("TOKEN=")).unwrap();

    let affiliates = service.get("/api/affiliates", token);
    let cases = service.get("/api/cases", token);
    let urls = service.get("/api/urls", token);
    assert_eq!(affiliates["data"].as_array().unwrap().len(), 12);
    assert_eq!((&cases["meta"]["total"], &urls["meta"]["total"]), (&json!(10), &json!(30)));
    for (records, list) in [(&affiliates, "affiliates"), (&cases, "cases"), (&urls, "urls")] {
        let records = records["data"].as_array().unwrap();
        for field in records[0].as_object().unwrap().keys() {
            let empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            let filled = records.iter().any(|record| !empty(&record[field]));
            assert!(filled, "the demo {list} contain no values for {field}");
        }
    }

    // A second start adds nothing.
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
    let service = start(&data, &[]);
    assert_eq!(service.get("/api/affiliates", token)["data"].as_array().unwrap().len(), 12);
}

#[test]
fn startup_logs_build_profile() {
    let service = start(&migrated(), &["serve"]);
    let program = program();
    let folder = Path::new(&program).parent().and_then(Path::file_name).unwrap();
    let profile = if folder == "debug" { "dev" } else { folder.to_str().unwrap() };
    let log: Vec<Value> = service.logged().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ready = log.iter().find(|entry| entry["message"] == "ready").unwrap();
    assert_eq!(ready["profile"], profile, "{ready}");
}

#[test]
fn hangup_stops_service_and_database() {
    let data = migrated();
    let service = start(&data, &["serve"]);
    assert!(service.took < Duration::from_mins(1), "{:?}", service.took);
    service.signal(if hangup_is_ignored() { Signal::SIGTERM } else { Signal::SIGHUP });
    assert_eq!(service.end().code(), Some(0));
    assert!(!data.path().join("postgres/postmaster.pid").exists());
}

/// Returns whether the tests ignore SIGHUP, as under `nohup`. Child processes then also ignore SIGHUP.
fn hangup_is_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 1)
}

#[test]
fn data_folder_rejects_second_service() {
    let data = migrated();
    let _first = start(&data, &["serve"]);
    let (status, _, errors) = crate::common::output(compliance(&data).arg("serve"));
    assert_eq!(status.code(), Some(1));
    assert!(errors.contains("in use by another process"), "{errors}");
}
