//! Checks that `compliance import` reads every affiliate list format that the service exports.

use std::{fs, path::PathBuf};

use crate::common::{DataDir, Service, compliance, migrated, output, start, token};
use reqwest::{Client, header::ACCEPT};
use serde_json::{Map, Value, json};

/// Texts with a special meaning in spreadsheets, CSV or cell escaping.
const NASTY: [&str; 24] = [
    "@handle",
    "+49 30 1",
    "=1+1",
    "-5",
    "'=1",
    "''+1",
    "'''@",
    "'t Hooft",
    "'",
    "''",
    " =1",
    " both ",
    "\"",
    "\"a\",\"b\"",
    "a,b;c|d",
    "a\r\nb",
    "a\rb",
    "a\nb",
    "\ttab",
    "\r\n=1",
    "\u{feff}mark",
    "null",
    "[]",
    "{\"a\":1}",
];

const COUNTRIES: [&str; 3] = ["DE", "US", "AL"];

/// Fields that accept any short text.
const TEXTS: [&str; 20] = [
    "phone_one",
    "phone_two",
    "facebook",
    "instagram",
    "youtube",
    "twitter",
    "tiktok",
    "pintrest",
    "first_name",
    "last_name",
    "notes",
    "address",
    "city",
    "state",
    "ranking",
    "sponsor",
    "upline",
    "language_used",
    "merchant_type",
    "pay_rank",
];

fn affiliates() -> Vec<Value> {
    let affiliate = |(number, text): (usize, &&str)| {
        let mut affiliate = json!({
            // Tables reject invisible characters in IDs.
            "client_affiliate_id": format!("{}{number}", text.trim_start_matches('\u{feff}')),
            "affiliate_name": format!("{text} {number}"),
            "country": COUNTRIES[number % 3],
            "status": "active",
            "start_date": "2024-01-31",
        });
        for (index, field) in TEXTS.iter().enumerate() {
            affiliate[field] = NASTY[(number + index) % NASTY.len()].into();
        }
        if number % 5 == 0 {
            for field in ["country", "status", "start_date", "notes", "city"] {
                affiliate[field] = Value::Null;
            }
        }
        affiliate
    };
    NASTY.iter().enumerate().map(affiliate).collect()
}

/// Reads the affiliates over REST, without values that the service assigns.
fn read(service: &Service, token: &str) -> Vec<Map<String, Value>> {
    let (status, body) = service.request("GET", "/api/affiliates", token, "");
    assert_eq!(status, 200, "{body}");
    let mut records: Vec<Map<String, Value>> = serde_json::from_value(body["data"].clone()).unwrap();
    for record in &mut records {
        record.retain(|name, _| name != "id" && name != "client_id");
    }
    records
}

/// An exported affiliate file. CSV is plain if its cells are not escaped.
struct Export {
    path: PathBuf,
    is_plain_csv: bool,
}

async fn exports(data: &DataDir, service: &Service, token: &str, core: &str) -> Vec<Export> {
    let mut exports = Vec::new();
    let mut add = |name: &str, content: &[u8], is_plain_csv| {
        let path = data.path().join(name);
        fs::write(&path, content).unwrap();
        exports.push(Export { path, is_plain_csv });
    };
    for (name, accept) in [
        ("rest.csv", "text/csv"),
        ("rest-plain.csv", "text/csv; escape=none"),
        ("rest.ndjson", "application/x-ndjson"),
        ("rest.json", "application/json"),
    ] {
        let url = format!("http://{}/api/affiliates", service.rest);
        let response = Client::new().get(url).bearer_auth(token).header(ACCEPT, accept).send().await.unwrap();
        assert_eq!(response.status(), 200);
        add(name, &response.bytes().await.unwrap(), name.contains("plain"));
    }
    for (name, options) in [
        ("command.csv", &["--format", "csv"][..]),
        ("command-plain.csv", &["--format", "csv", "--no-csv-escape"]),
        ("command.ndjson", &[]),
    ] {
        let arguments = ["export", "affiliates", "--company", "1", "--core-url", core];
        let (status, text, log) = output(compliance(data).args(arguments).args(options));
        assert!(status.success(), "{log}");
        add(name, text.as_bytes(), name.contains("plain"));
    }
    for export in exports.iter().filter(|export| export.path.extension().unwrap() == "csv" && !export.is_plain_csv) {
        for record in csv::Reader::from_path(&export.path).unwrap().records() {
            let record = record.unwrap();
            let formula = record.iter().find(|cell| cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']));
            assert_eq!(formula, None, "{}", export.path.display());
        }
    }
    exports
}

#[tokio::test(flavor = "multi_thread")]
async fn every_affiliate_export_format_reimports_unchanged() {
    let data = migrated();
    let service = start(&data, &["serve"]);
    let core = format!("http://{}", service.grpc);
    let owner = token(&data, 1);
    let body = json!({"affiliates": affiliates()}).to_string();
    let (status, created) = service.request("POST", "/api/affiliates", &owner, &body);
    assert_eq!(status, 201, "{created}");
    let original = read(&service, &owner);
    assert_eq!(original[2]["twitter"], NASTY[2 + 5]);
    let count = original.len();
    let exports = exports(&data, &service, &owner, &core).await;
    assert_eq!(exports.len(), 7);
    let mut company = 1;
    // Cycle through these options for the imports into the same company.
    let into_same = [&[][..], &["--sync"], &["--sync", "--absent", "terminated"], &["--on-duplicate", "update"]]
        .into_iter()
        .cycle();
    for (Export { path, is_plain_csv }, into_same) in exports.into_iter().zip(into_same) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let shown = path.to_str().unwrap();
        let plain: &[&str] = if is_plain_csv { &["--no-csv-escape"] } else { &[] };
        let import = |company: i64, options: &[&str]| {
            let company = company.to_string();
            let arguments = ["import", "affiliates", shown, "--company", &company, "--core-url", &core, "--json"];
            let (status, line, log) = output(compliance(&data).args(arguments).args(plain).args(options));
            assert!(status.success(), "{name}: {line} {log}");
            let is_read_form = name.starts_with("rest");
            assert_eq!(log.contains("ignored fields that the service assigns: "), is_read_form, "{name}: {log}");
            let tally: Value = serde_json::from_str(&line).unwrap();
            ["created", "updated", "skipped", "bad"].map(|outcome| tally[outcome].as_u64().unwrap() as usize)
        };
        // Import into different companies, and into the same company.
        for options in [&[][..], &["--sync"]] {
            company += 1;
            assert_eq!(import(company, options), [count, 0, 0, 0], "{name}");
            assert_eq!(read(&service, &token(&data, company)), original, "{name} {options:?}");
        }
        let outcome = import(1, into_same);
        let is_update = into_same.contains(&"update");
        assert_eq!(outcome, if is_update { [0, count, 0, 0] } else { [0, 0, count, 0] }, "{name} {into_same:?}");
        assert_eq!(read(&service, &owner), original, "{name}");
    }
}
