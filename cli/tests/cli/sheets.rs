//! Files as spreadsheets and programs write them: `cli/tests/sheets/cases.json`, which all readers are tested with.

use std::fs;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    common::{DataDir, Service, compliance, output, start},
    data::file,
};

#[derive(Deserialize)]
struct Case {
    name: String,
    file: String,
    text: Option<String>,
    base64: Option<String>,
    options: Map<String, Value>,
    #[serde(default)]
    records: Vec<Value>,
    #[serde(default)]
    refused: Vec<Refused>,
    #[serde(default)]
    error: Vec<String>,
    #[serde(default)]
    advice: Map<String, Value>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Refused {
    line: u64,
    field: String,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("../sheets/cases.json")).unwrap()
}

impl Case {
    /// Imports the file into a company. Returns the exit status, the output and the report.
    fn import(&self, data: &DataDir, service: &Service, company: &str) -> (Option<i32>, String, Vec<Refused>) {
        let bytes = self.base64.as_ref().map(|text| BASE64_STANDARD.decode(text).unwrap());
        let bytes = bytes.or_else(|| self.text.clone().map(String::into_bytes)).unwrap();
        let path = file(data, &self.file, &bytes);
        let report = format!("{path}.report.ndjson");
        let core = format!("http://{}", service.grpc);
        let mut command = compliance(data);
        command.args(["import", "affiliates", &path, "--company", company, "--core-url", &core]);
        for (option, value) in &self.options {
            command.args([format!("--{option}"), value.as_str().unwrap().to_owned()]);
        }
        let (status, stdout, log) = output(&mut command);
        let lines = fs::read_to_string(&report).unwrap_or_default();
        let _ = fs::remove_file(report);
        (
            status.code(),
            format!("{stdout}{log}"),
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        )
    }
}

#[test]
fn every_file_of_the_table_is_read_or_refused_with_its_cause() {
    let data = DataDir::new();
    let service = start(&data, &["serve"]);
    let core = format!("http://{}", service.grpc);
    let (cases, mut failures) = (cases(), Vec::new());
    assert!(cases.len() > 90);
    for (company, case) in (1..).zip(&cases) {
        let company = company.to_string();
        let (status, printed, refused) = case.import(&data, &service, &company);
        let export = ["export", "affiliates", "--company", &company, "--core-url", &core];
        let (_, exported, _) = output(compliance(&data).args(export));
        let exported: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let advice = case.advice.get("import").into_iter().filter_map(Value::as_str);
        let is_named = case.error.is_empty()
            || case.error.iter().map(String::as_str).chain(advice).all(|text| printed.contains(text));
        let expected = if case.error.is_empty() { 2 * i32::from(!case.refused.is_empty()) } else { 1 };
        if status != Some(expected) || exported != case.records || refused != case.refused || !is_named {
            failures.push(format!("{}: {status:?} {exported:?} {refused:?} {printed}", case.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Follows the advice of the messages.
#[test]
fn the_advice_of_messages_helps() {
    let data = DataDir::new();
    let service = start(&data, &["serve"]);
    let mut company = 0;
    for case in cases() {
        let Some(advice) = case.advice.get("import").and_then(Value::as_str) else { continue };
        for option in advice.split(" or ") {
            company += 1;
            let (name, value) = option.trim_start_matches("--").split_once(' ').unwrap();
            let options = Map::from_iter([(name.to_owned(), value.trim_matches('"').into())]);
            let case = Case {
                options,
                name: case.name.clone(),
                file: case.file.clone(),
                text: case.text.clone(),
                base64: case.base64.clone(),
                records: Vec::new(),
                refused: Vec::new(),
                error: Vec::new(),
                advice: Map::new(),
            };
            let (code, printed, _) = case.import(&data, &service, &company.to_string());
            assert_eq!(code, Some(0), "{}: {printed}", case.name);
        }
    }
    assert!(company >= 7, "{company}");
}

/// URLs and cases are also tables, and their timestamps are in UTC.
#[test]
fn tables_of_urls_are_read_like_those_of_affiliates() {
    let data = DataDir::new();
    let service = start(&data, &["serve"]);
    let core = format!("http://{}", service.grpc);
    let header = "Unnamed: 0;URL;Last seen;Discovery\u{a0}date;False positive;\r\n";
    let rows = "0; https://one.example/ ;1/5/2026 2:30 PM;2026-05-01;TRUE;\r\n;;;;;\r\n1;https://two.example/;2026-05-02T01:30:00+02:00;30.04.2026;;\r\n";
    let ambiguous = file(&data, "urls.csv", format!("{header}{rows}").replace("30.04", "3.4").as_bytes());
    let path = file(&data, "settled.csv", format!("\u{feff}sep=;\r\n{header}{rows}").as_bytes());
    let import =
        |path: &str| output(compliance(&data).args(["import", "urls", path, "--company", "7", "--core-url", &core]));
    let (status, _, log) = import(&ambiguous);
    assert!(status.code() == Some(1) && log.contains("1/5/2026 2:30 PM on line 2 can be two dates"), "{log}");
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
