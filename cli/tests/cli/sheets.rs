//! Tests tables in `compliance import`. The `spreadsheets` crate tests all table formats.

use std::fs;

use serde_json::{Value, json};

use crate::{
    common::{compliance, migrated, output, start},
    data::file,
};

/// File errors name a flag, and the flag resolves the error.
#[test]
fn file_errors_suggest_a_working_flag() {
    let data = migrated();
    for (name, text, flag, value) in [
        ("dates", &b"client_affiliate_id,affiliate_name,start_date\nA-1,Ann,1/5/2026\n"[..], "--dates", "dmy"),
        ("encoding", b"client_affiliate_id,affiliate_name\nA-1,J\xfcrgen\n", "--encoding", "windows-1252"),
        ("columns", b"client_affiliate_id,affiliate_name,shoe size\nA-1,Ann,44\n", "--map", "shoe size="),
    ] {
        let path = file(&data, &format!("{name}.csv"), text);
        let import = ["import", "affiliates", &path, "--company", "7", "--dry-run"];
        let (status, _, log) = output(compliance(&data).args(import));
        assert!(status.code() == Some(2) && log.contains(flag), "{log}");
        let (status, _, log) = output(compliance(&data).args(import).args([flag, value]));
        assert!(status.success(), "{log}");
    }
}

/// Unreadable files have their own exit status and a one-line error.
#[test]
fn unreadable_files_fail_with_status_two() {
    let data = migrated();
    let missing = data.path().join("missing.csv").to_str().unwrap().to_owned();
    for (path, reason) in [
        (file(&data, "old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "the file is an Excel 97 workbook (.xls)"),
        (file(&data, "damaged.xlsx", b"PK\x03\x04 and nothing else"), "the workbook is damaged"),
        (file(&data, "cut.json", b"[{\"client_affiliate_id\": \"A-1\""), "record 1 cannot be read"),
        (missing, "No such file"),
    ] {
        let import = ["import", "affiliates", &path, "--company", "7", "--dry-run"];
        let (status, stdout, log) = output(compliance(&data).args(import));
        let error = log.strip_prefix(&format!("compliance: {path} cannot be read: "));
        assert!(error.is_some_and(|error| error.contains(reason) && error.lines().count() == 1), "{log}");
        assert_eq!((status.code(), &*stdout), (Some(2), ""), "{log}");
    }
}

/// The report names each error's column, and the log names ignored rows.
#[test]
fn report_names_cells_and_log_names_skipped_rows() {
    let data = migrated();
    let text = "Affiliates\nclient_affiliate_id,affiliate_name,E-mail\nA-1,Ann,#N/A\nA-2,Ben,\nTotal,2,\n";
    let path = file(&data, "affiliates.csv", text.as_bytes());
    let (status, summary, log) =
        output(compliance(&data).args(["import", "affiliates", &path, "--company", "7", "--dry-run", "--json"]));
    assert_eq!(status.code(), Some(3), "{log}");
    assert!(log.contains("above the headings: 1 to 1"), "{log}");
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!((&summary["rows"], &summary["created"], &summary["bad"]), (&json!(3), &json!(1), &json!(2)));
    let lines = fs::read_to_string(format!("{path}.report.ndjson")).unwrap();
    let mut lines = lines.lines();
    let report: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert!(lines.next().unwrap().contains("totals of the rows above"));
    let found = ["row", "line", "field", "value", "cell"].map(|key| report[key].clone());
    assert_eq!(found, [json!(1), json!(3), json!("email_one"), json!("#N/A"), json!("E-mail")]);
}

/// Tables can also contain URLs, with timestamps in UTC.
#[test]
fn url_csv_accepts_spreadsheet_dates_and_headings() {
    let data = migrated();
    let service = start(&data, &["serve"]);
    let core = format!("http://{}", service.grpc);
    let header = "Unnamed: 0;URL;Last seen;Discovery\u{a0}date;False positive;\r\n";
    let rows = "0; https://one.example/ ;1/5/2026 2:30 PM;2026-05-01;TRUE;\r\n;;;;;\r\n1;https://two.example/;2026-05-02T01:30:00+02:00;30/04/2026;;\r\n";
    let ambiguous = file(&data, "urls.csv", format!("{header}{rows}").replace("30/04", "3/4").as_bytes());
    let path = file(&data, "settled.csv", format!("\u{feff}sep=;\r\n{header}{rows}").as_bytes());
    let import =
        |path: &str| output(compliance(&data).args(["import", "urls", path, "--company", "7", "--core-url", &core]));
    let (status, _, log) = import(&ambiguous);
    assert!(status.code() == Some(2) && log.contains("1/5/2026 2:30 PM on line 2 is ambiguous"), "{log}");
    let (status, _, log) = import(&path);
    assert!(status.success(), "{log}");
    let (_, exported, _) = output(compliance(&data).args(["export", "urls", "--company", "7", "--core-url", &core]));
    let urls: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let fields = ["url", "last_seen", "discovery_date", "false_positive"];
    let mut read: Vec<_> = urls.iter().map(|url| fields.map(|field| url[field].clone())).collect();
    read.sort_by_key(|url| url[0].to_string());
    assert_eq!(
        read,
        [
            [json!("https://one.example/"), json!("2026-05-01 14:30:00"), json!("2026-05-01 00:00:00"), json!(true)],
            [json!("https://two.example/"), json!("2026-05-01 23:30:00"), json!("2026-04-30 00:00:00"), Value::Null],
        ]
    );
}
