//! Every part of the product can import the exports of the others: every form of a list of affiliates, with every reader of lists.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::common::{DataDir, Service, compliance, have, output, start, token};
use reqwest::{Client, header::ACCEPT};
use serde_json::{Map, Value, json};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Texts with a meaning in spreadsheets, in CSV, or for the escaping of cells.
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

/// Fields whose rules allow any short text.
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
            "client_affiliate_id": format!("{text}{number}"),
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

/// The affiliates as a partner reads them, without values that the service assigns.
fn read(service: &Service, token: &str) -> Vec<Map<String, Value>> {
    let (status, body) = service.request("GET", "/api/affiliates", token, "");
    assert_eq!(status, 200, "{body}");
    let mut records: Vec<Map<String, Value>> = serde_json::from_value(body["data"].clone()).unwrap();
    for record in &mut records {
        record.retain(|name, _| name != "id" && name != "client_id");
    }
    records
}

/// Runs a program with a text as its input, and returns its output.
fn piped(program: &str, arguments: &[&str], input: &str) -> String {
    let mut command = Command::new(program);
    let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a program of JavaScript that imports modules of the console.
fn in_console(script: &str, input: &Value) -> Value {
    let script = format!(
        "const input = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
        const console_ = (name) => import('{REPOSITORY}/crates/pages/src/console/' + name);
        (async () => {{ {script} }})().then((result) => process.stdout.write(JSON.stringify(result)));"
    );
    serde_json::from_str(&piped("node", &["-e", &script], &input.to_string())).unwrap()
}

/// The `PYTHONPATH` of the nightly job: its source, and the version of its package. Installs its dependency if it is missing.
fn python_path(data: &DataDir) -> String {
    let packages = data.path().join("python");
    let about = packages.join("affiliate_compliance-0.dist-info");
    fs::create_dir_all(&about).unwrap();
    fs::write(about.join("METADATA"), "Metadata-Version: 2.1\nName: affiliate-compliance\nVersion: 0\n").unwrap();
    let packages = packages.to_str().unwrap();
    if !Command::new("python3").args(["-c", "import requests"]).stderr(Stdio::null()).status().unwrap().success() {
        let install =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", packages, "requests"];
        let installed = Command::new("python3").args(install).status().unwrap();
        assert!(
            installed.success(),
            "python3 has no package `requests`: install it, or set COMPLIANCE_TESTS_WITHOUT=python3"
        );
    }
    format!("{REPOSITORY}/client/python/src:{packages}")
}

/// A file of affiliates, and whether its cells are escaped.
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
    if have(&["node"]) {
        let (_, records) = service.request("GET", "/api/affiliates", token, "");
        let script = "const { csvLine } = await console_('csv.js');
            const names = Object.keys(input[0]);
            return '\\uFEFF' + csvLine(names) + input.map((record) => csvLine(names.map((name) => record[name]))).join('');";
        let text = in_console(script, &records["data"]);
        add("console.csv", text.as_str().unwrap().as_bytes(), false);
    }
    exports
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|extension| extension == ending)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_export_of_affiliates_is_read_back_by_every_import() {
    let data = DataDir::new();
    let service = start(&data, &["serve"]);
    let core = format!("http://{}", service.grpc);
    let owner = token(&data, 1);
    let body = json!({"affiliates": affiliates()}).to_string();
    let (status, created) = service.request("POST", "/api/affiliates", &owner, &body);
    assert_eq!(status, 201, "{created}");
    let original = read(&service, &owner);
    assert_eq!(original[2]["twitter"], NASTY[2 + 5]);
    let count = original.len();
    let python = have(&["python3"]).then(|| python_path(&data));
    let has_node = have(&["node"]);
    let exports = exports(&data, &service, &owner, &core).await;
    // Imports into other companies and into the same one, the nightly job, and the console.
    let each = 2 + 4 + usize::from(python.is_some()) + usize::from(has_node);
    let expected = exports.len() * each;
    assert_eq!(exports.len(), 7 + usize::from(has_node));
    let mut company = 1;
    let mut tried = 0;
    for Export { path, is_plain_csv } in exports {
        let name = path.file_name().unwrap().to_str().unwrap();
        let shown = path.to_str().unwrap();
        let plain: &[&str] = if is_plain_csv { &["--no-csv-escape"] } else { &[] };
        let import = |company: i64, options: &[&str]| {
            let company = company.to_string();
            let arguments = ["import", "affiliates", shown, "--company", &company, "--core-url", &core, "--json"];
            let (status, line, log) = output(compliance(&data).args(arguments).args(plain).args(options));
            assert!(status.success(), "{name}: {line} {log}");
            let is_read_form = name.starts_with("rest") || name.starts_with("console");
            assert_eq!(log.contains("because the service assigns them: "), is_read_form, "{name}: {log}");
            let tally: Value = serde_json::from_str(&line).unwrap();
            ["created", "updated", "skipped", "bad"].map(|outcome| tally[outcome].as_u64().unwrap() as usize)
        };
        // Into other companies, and into the same one.
        for options in [&[][..], &["--sync"]] {
            company += 1;
            assert_eq!(import(company, options), [count, 0, 0, 0], "{name}");
            assert_eq!(read(&service, &token(&data, company)), original, "{name} {options:?}");
            tried += 1;
        }
        for options in [&[][..], &["--sync"], &["--sync", "--absent", "terminated"], &["--on-duplicate", "update"]] {
            let outcome = import(1, options);
            let is_update = options.contains(&"update");
            assert_eq!(outcome, if is_update { [0, count, 0, 0] } else { [0, 0, count, 0] }, "{name} {options:?}");
            tried += 1;
        }
        if let Some(python_path) = &python {
            let file = data.path().join("token");
            fs::write(&file, &owner).unwrap();
            let mut command = Command::new("python3");
            command.env("PYTHONPATH", python_path).args([
                "-m",
                "affiliate_compliance.sync.main",
                shown,
                "--base-url",
                &format!("http://{}", service.rest),
            ]);
            let (status, text, log) = output(command.arg("--token-file").arg(&file).args(plain));
            let is_csv = has_ending(&path, "csv");
            assert_eq!(status.code(), Some(if is_csv { 0 } else { 2 }), "{name}: {text} {log}");
            let expected = format!("0 created, 0 changed, {count} unchanged, 0 refused");
            assert!(
                if is_csv { text.contains(&expected) } else { log.contains("JSON: export CSV") },
                "{name}: {text} {log}"
            );
            tried += 1;
        }
        if has_node && !has_ending(&path, "csv") {
            assert_eq!(console_lines(&path)["problem"], "This is JSON or NDJSON; export CSV.", "{name}");
            tried += 1;
        } else if has_node && is_plain_csv {
            // Users paste cells out of a spreadsheet, which hides the apostrophe before a formula.
            assert_eq!(console_lines(&path)["items"].as_array().unwrap().len(), count, "{name}");
            tried += 1;
        } else if has_node {
            company += 1;
            let token = token(&data, company);
            let lines = console_lines(&path);
            let items: Vec<&Value> = lines["items"].as_array().unwrap().iter().map(|line| &line["item"]).collect();
            let (status, created) =
                service.request("POST", "/api/affiliates", &token, &json!({"affiliates": items}).to_string());
            assert_eq!(status, 201, "{name}: {created}");
            assert_eq!(read(&service, &token), original, "{name} in the console");
            tried += 1;
        }
        assert_eq!(read(&service, &owner), original, "{name}");
    }
    assert_eq!(tried, expected);
}

/// The console's result for a file that is pasted into it.
fn console_lines(path: &Path) -> Value {
    let script = "const { affiliateLines } = await console_('affiliate-lines.js');
        return affiliateLines(input.text, input.fields);";
    let text = fs::read_to_string(path).unwrap();
    in_console(script, &json!({"text": text, "fields": compliance_api_fields()}))
}

/// Lists as spreadsheets and other programs write them: headings in capitals, bars between cells, and other encodings.
#[test]
fn other_forms_of_lists_are_read_or_rejected_by_name() {
    let data = DataDir::new();
    let service = start(&data, &["serve"]);
    let owner = token(&data, 1);
    let (secret, path) = (data.path().join("token"), data.path().join("list"));
    fs::write(&secret, &owner).unwrap();
    let bars = "CLIENT_AFFILIATE_ID|Affiliate Name|NOTES\nA|\"B|C\"|x;y,z\n";
    let utf16: Vec<u8> = format!("\u{feff}{bars}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let header = bars.split_inclusive('\n').next().unwrap();
    if have(&["python3"]) {
        let python_path = python_path(&data);
        for (content, expected) in [
            (bars.as_bytes(), Ok("1 created, 0 changed")),
            (&utf16, Ok("0 created, 0 changed, 1 unchanged")),
            (header.as_bytes(), Err("the file has no rows")),
            (b"[]", Err("is JSON or NDJSON: export CSV")),
        ] {
            fs::write(&path, content).unwrap();
            let mut command = Command::new("python3");
            command.env("PYTHONPATH", &python_path).args(["-m", "affiliate_compliance.sync.main"]).arg(&path);
            command.args(["--base-url", &format!("http://{}", service.rest), "--absent-status", "terminated"]);
            let (status, text, log) = output(command.arg("--token-file").arg(&secret));
            assert_eq!(status.code(), Some(if expected.is_ok() { 0 } else { 2 }), "{text} {log}");
            let (Ok(said) | Err(said)) = expected;
            assert!(text.contains(said) || log.contains(said), "{said}: {text} {log}");
            assert_eq!(text.contains("everything is up to date"), expected.is_ok(), "{text}");
            assert!(!log.contains("run it again"), "{log}");
        }
        fs::write(&path, bars).unwrap();
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", &python_path).args(["-m", "affiliate_compliance.sync.main"]).arg(&path);
        command.args(["--base-url", &format!("http://{}", service.rest), "--absent-status", "gone"]);
        let (_, _, log) = output(command.arg("--token-file").arg(&secret));
        assert!(log.starts_with("422: ") && !log.contains("run it again"), "{log}");
    }
    if have(&["node"]) {
        fs::write(&path, bars).unwrap();
        let item = json!({"client_affiliate_id": "A", "affiliate_name": "B|C", "notes": "x;y,z"});
        assert_eq!(console_lines(&path)["items"], json!([{"number": 2, "item": item}]));
    }
}

/// The fields of an affiliate as the console takes them from the OpenAPI document.
fn compliance_api_fields() -> Vec<Value> {
    use compliance_api::{record::Record as _, v1::AffiliateInput};
    AffiliateInput::names().into_iter().map(|name| json!({"name": name, "label": name.replace('_', " ")})).collect()
}
