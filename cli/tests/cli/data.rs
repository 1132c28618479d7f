//! Tests demo data, imports and exports with the real commands and databases.

use std::{collections::BTreeMap, fmt::Write as _, fs, process::ExitStatus};

use crate::common::{DataDir, Service, compliance, migrated, output, start, token};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// Runs a command that prints one line of JSON. Returns the exit status, the line and the log.
fn json_of(data: &DataDir, arguments: &[&str]) -> (ExitStatus, Value, String) {
    let (status, stdout, log) = output(compliance(data).args(arguments).arg("--json"));
    (status, serde_json::from_str(&stdout).unwrap_or_default(), log)
}

/// Generates demo data for a company. Returns the summary.
pub(crate) fn demo_data(data: &DataDir, company: &str, sizes: [&str; 3], seed: &str) -> Value {
    let [affiliates, urls, cases] = sizes;
    let arguments = ["demo-data", "--company", company, "--affiliates", affiliates, "--urls", urls, "--cases", cases];
    let (status, made, log) = json_of(data, &[&arguments[..], &["--seed", seed, "--until", "2026-11-20"]].concat());
    assert!(status.success(), "{log}");
    made
}

/// Returns a company's exported records.
fn exported(data: &DataDir, company: &str, what: &str) -> Vec<Value> {
    let (status, stdout, log) = output(compliance(data).args(["export", what, "--company", company]));
    assert!(status.success() && log.contains("using the database"), "{log}");
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Creates a file in the data folder. Returns its path.
pub(crate) fn file(data: &DataDir, name: &str, content: &[u8]) -> String {
    fs::create_dir_all(data.path()).unwrap();
    let path = data.path().join(name);
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Returns the errors in a report.
fn report(path: &str) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Reads all records of a list over REST, by ascending ID.
pub(crate) fn read(service: &Service, token: &str, list: &str) -> Vec<Value> {
    let mut records = Vec::new();
    for page in 1.. {
        let path = if list == "affiliates" {
            "/api/affiliates".to_owned()
        } else {
            format!("/api/{list}?sort_by=id&sort_dir=asc&per_page=200&page={page}")
        };
        let (status, body) = service.request("GET", &path, token, "");
        assert_eq!(status, 200, "{body}");
        records.extend(body["data"].as_array().unwrap().clone());
        if body["meta"]["last_page"].as_i64().is_none_or(|last| last == page) {
            break;
        }
    }
    records
}

/// Returns comparable records: without assigned values, and with list indexes instead of case IDs. URLs written together receive IDs in any order, so
/// the function sorts them by URL.
fn comparable(affiliates: Vec<Value>, mut urls: Vec<Value>, cases: Vec<Value>) -> Vec<Value> {
    urls.sort_by(|one, other| one["url"].as_str().cmp(&other["url"].as_str()));
    let indexes: BTreeMap<i64, usize> =
        cases.iter().enumerate().map(|(index, case)| (case["case_id"].as_i64().unwrap(), index)).collect();
    let mut records = [affiliates, urls, cases].concat();
    for record in &mut records {
        let record = record.as_object_mut().unwrap();
        record.remove("id");
        record.remove("client_id");
        record.remove("distributor_id");
        if let Some(index) = record.get("case_id").and_then(Value::as_i64).map(|id| indexes[&id]) {
            record.insert("case_id".to_owned(), index.into());
        }
        for incident in record.get_mut("incidents").and_then(Value::as_array_mut).into_iter().flatten() {
            let incident = incident.as_object_mut().unwrap();
            incident.remove("incident_id");
            incident.remove("url_id");
        }
    }
    records
}

#[test]
fn demo_data_is_deterministic_and_added_once() {
    let data = migrated();
    let service = start(&data, &["serve"]);
    let sizes = ["150", "1200", "120"];
    let made = demo_data(&data, "1", sizes, "7");
    assert_eq!((&made["affiliates"], &made["urls"], &made["cases"]), (&json!(150), &json!(1200), &json!(120)));
    let with_infractions = exported(&data, "1", "urls").iter().filter(|url| url["infractions"].is_array()).count();
    assert!((250..500).contains(&with_infractions), "{with_infractions}");
    demo_data(&data, "2", sizes, "7");
    demo_data(&data, "3", sizes, "8");
    for what in ["affiliates", "urls"] {
        let first = exported(&data, "1", what);
        assert_eq!(first, exported(&data, "2", what), "{what}");
        assert_ne!(first, exported(&data, "3", what), "{what}");
    }
    let read = |company| {
        let token = token(&data, company);
        comparable(vec![], read(&service, &token, "urls"), read(&service, &token, "cases"))
    };
    assert_eq!(read(1), read(2));
    let arguments = ["demo-data", "--company", "1", "--affiliates", "1", "--urls", "1", "--cases", "1"];
    let (status, _, log) = json_of(&data, &arguments);
    assert!(status.code() == Some(1) && log.contains("company 1 already has records"), "{log}");
    // One command resets a sandbox without affecting other companies.
    let (status, ..) = json_of(&data, &[&arguments[..], &["--replace"]].concat());
    assert!(status.success());
    assert_eq!(["1", "2"].map(|company| exported(&data, company, "urls").len()), [1, 1200]);
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
}

#[test]
fn generated_records_are_consistent() {
    let data = migrated();
    // Without a service, the command starts and stops the database itself.
    let made = demo_data(&data, "9", ["120", "1200", "150"], "3");
    assert!(!data.path().join("postgres/postmaster.pid").exists());
    let service = start(&data, &["serve"]);
    let token = token(&data, 9);
    let (urls, cases) = (read(&service, &token, "urls"), read(&service, &token, "cases"));
    assert_eq!((urls.len(), cases.len()), (1200, 150));
    let count = |records: &[Value], list: &str| -> usize {
        records.iter().map(|record| record[list].as_array().unwrap().len()).sum()
    };
    assert_eq!(made["infractions"], json!(count(&urls, "infractions")));
    assert_eq!(made["incidents"], json!(count(&cases, "incidents")));
    let mut of_case: BTreeMap<i64, Vec<&Value>> = BTreeMap::new();
    for url in &urls {
        let timestamp = |name: &str| url[name].as_str();
        let discovered = timestamp("discovery_date").unwrap();
        for later in ["last_review_date", "last_crawl_date", "last_seen"] {
            assert!(
                timestamp(later).is_none_or(|later| (discovered..="2026-11-19 23:59:59").contains(&later)),
                "{url}"
            );
        }
        if let Some(case) = url["case_id"].as_i64() {
            of_case.entry(case).or_default().push(url);
        }
    }
    assert!(of_case.len() > 40, "{}", of_case.len());
    let added: Vec<Value> = urls.iter().map(|url| json!({ "url": url["url"] })).collect();
    let (_, again) = service.request("POST", "/api/urls", &token, &json!({ "urls": added }).to_string());
    assert!(again.as_array().unwrap().iter().all(|result| result["code"] == "1023"), "the URLs exist");
    for case in &cases {
        let of_urls = of_case.get(&case["case_id"].as_i64().unwrap()).map_or(&[][..], Vec::as_slice);
        let incidents = case["incidents"].as_array().unwrap();
        assert!(!incidents.is_empty());
        assert_eq!(incidents.iter().filter(|incident| incident["incident_type"] == "url").count(), of_urls.len());
        for url in of_urls {
            assert_eq!(url["affiliate_id"], case["affiliate_id"]);
            assert!(!url["infractions"].as_array().unwrap().is_empty());
            assert!(url["discovery_date"].as_str() <= case["created_date"].as_str());
        }
        let dates = ["created_date", "first_action_date", "reviewed_date", "resolved_date", "closed_date"];
        let given: Vec<&str> = dates.iter().filter_map(|date| case[date].as_str()).collect();
        assert!(given.is_sorted(), "{case}");
        assert!(case["upline"].is_null() || case["upline_name"].is_string());
    }
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
}

/// Returns an affiliate table. Every hundredth row is invalid, in one of four ways.
fn table(rows: usize) -> String {
    let mut table = String::from("City,Affiliate Name,client_affiliate_id,email_one,country,start_date,id\n");
    for row in 1..=rows {
        let (mut name, mut email, mut country) = (format!("Ann, {row}"), format!("a{row}@example.org"), "us");
        let mut city = "Ulm".to_owned();
        match (row % 100 == 0).then_some(row / 100 % 4) {
            Some(0) => name.clear(),
            Some(1) => email.truncate(3),
            Some(2) => country = "QQ",
            Some(_) => city = "x".repeat(65),
            None => {}
        }
        writeln!(table, "{city},\"{name}\",A-{row},{email},{country},01/31/2024,{row}").unwrap();
    }
    table
}

#[test]
fn import_saves_valid_rows_and_reports_invalid_ones() {
    let data = migrated();
    let path = file(&data, "affiliates.csv", table(2500).as_bytes());
    let service = start(&data, &["serve"]);
    let import = |more: &[&str]| json_of(&data, &[&["import", "affiliates", &path, "--company", "4"], more].concat());

    let (status, tally, log) = import(&["--dry-run"]);
    assert_eq!((status.code(), &tally["bad"], &tally["created"]), (Some(3), &json!(25), &json!(2475)), "{log}");
    assert!(exported(&data, "4", "affiliates").is_empty());

    let (status, tally, log) = import(&[]);
    assert_eq!((status.code(), &tally["bad"], &tally["created"]), (Some(3), &json!(25), &json!(2475)), "{log}");
    let errors = report(&format!("{path}.report.ndjson"));
    let rows: Vec<u64> = errors.iter().map(|error| error["row"].as_u64().unwrap()).collect();
    assert_eq!(rows, (1..=25).map(|index| index * 100).collect::<Vec<_>>());
    let expected = json!({
        "row": 100, "line": 101, "field": "email_one", "value": "a10",
        "reason": "The email one field must be a valid email address.", "cell": "email_one"
    });
    assert_eq!(errors[0], expected);
    let affiliates = exported(&data, "4", "affiliates");
    assert_eq!(affiliates.len(), 2475);
    let first = json!({
        "client_affiliate_id": "A-1", "affiliate_name": "Ann, 1", "email_one": "a1@example.org", "country": "US",
        "city": "Ulm", "start_date": "2024-01-31"
    });
    assert_eq!(affiliates[0], first);

    // Repeating an import creates nothing.
    let (_, tally, _) = import(&[]);
    assert_eq!((&tally["created"], &tally["skipped"], &tally["bad"]), (&json!(0), &json!(2475), &json!(25)));
    let (status, tally, _) = import(&["--on-duplicate", "fail"]);
    assert_eq!((status.code(), &tally["bad"]), (Some(3), &json!(2500)));
    let changes =
        file(&data, "changes.csv", b"name;client_affiliate_id;city;zip\nAnn, 7;A-7;K\xc3\xb6ln;\nNew;N-1;;\n");
    let arguments = [
        "import",
        "affiliates",
        &changes,
        "--company",
        "4",
        "--on-duplicate",
        "update",
        "--map",
        "name=affiliate_name",
    ];
    let (status, tally, log) = json_of(&data, &arguments);
    assert!(status.success(), "{log}");
    assert_eq!((&tally["created"], &tally["updated"]), (&json!(1), &json!(1)));
    let affiliates = exported(&data, "4", "affiliates");
    assert_eq!((&affiliates[6]["city"], &affiliates[6]["email_one"]), (&json!("Köln"), &json!("a7@example.org")));
    assert_eq!(affiliates.len(), 2476);
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
}

#[test]
fn unknown_columns_and_ragged_rows_are_reported() {
    let data = DataDir::new();
    let dry = |path: &str, more: &[&str]| {
        let arguments = [&["import", "affiliates", path, "--company", "4", "--dry-run"], more].concat();
        let (status, tally, log) = json_of(&data, &arguments);
        (status.code(), tally["created"].clone(), log)
    };
    let unknown = file(&data, "unknown.csv", b"client_affiliate_id,affiliate_name,shoe size\n1,A,44\n");
    let (code, _, log) = dry(&unknown, &[]);
    assert!(code == Some(2) && log.contains("\"shoe size\"") && log.contains("--map \"HEADING=\""), "{log}");
    assert_eq!(dry(&unknown, &["--map", "shoe size="]).1, json!(1));
    for end in ["\n", "\r\n"] {
        let ragged = "client_affiliate_id,affiliate_name\n1,A\n2\n3,C,x\n4,A\n5,\"E\nx\"\n7,A\n".replace('\n', end);
        let ragged = file(&data, "ragged.csv", ragged.as_bytes());
        let (code, created, _) = dry(&ragged, &[]);
        assert_eq!((code, created), (Some(3), json!(2)));
        let reasons: Vec<String> = report(&format!("{ragged}.report.ndjson"))
            .iter()
            .map(|error| format!("{} {}", error["line"], error["reason"].as_str().unwrap()))
            .collect();
        assert!(reasons[0].starts_with("3 The row has 1 column,"), "{reasons:?}");
        assert!(reasons[1].starts_with("4 The row has 3 columns"), "{reasons:?}");
        assert_eq!(reasons[2..], ["5 Row 1 has the same name.", "8 Row 1 has the same name."]);
    }
    let lines = concat!(
        "{\"client_distributor_id\": \"1\", \"distributor_name\": \"A\", \"country\": 840, \"id\": 3}\n\n",
        "{\"client_affiliate_id\": 2, \"affiliate_name\": \"B\", \"town\": \"x\"}\nno\n"
    );
    let lines = file(&data, "lines.ndjson", lines.as_bytes());
    let (code, created, _) = dry(&lines, &[]);
    assert_eq!((code, created), (Some(3), json!(1)));
    let fields: Vec<Value> =
        report(&format!("{lines}.report.ndjson")).iter().map(|error| error["field"].clone()).collect();
    assert_eq!(fields, ["client_affiliate_id", "town", ""]);
    // A dry run starts no database.
    assert!(!data.path().join("postgres").exists());
}

#[test]
fn exports_can_be_imported_into_another_company() {
    let data = migrated();
    let service = start(&data, &["serve"]);
    demo_data(&data, "1", ["60", "1100", "80"], "5");
    let core = format!("http://{}", service.grpc);
    for (what, ending) in [("affiliates", "csv"), ("urls", "ndjson"), ("cases", "ndjson")] {
        let path = data.path().join(format!("{what}.{ending}")).to_str().unwrap().to_owned();
        let (status, _, log) = output(compliance(&data).args(["export", what, "--company", "1", "--output", &path]));
        assert!(status.success(), "{log}");
        // Import into one company through the command's own core, and into another through the running core.
        for arguments in [&["--company", "2"][..], &["--company", "3", "--core-url", &core]] {
            let (status, tally, log) = json_of(&data, &[&["import", what, &path], arguments].concat());
            assert!(status.success(), "{log}");
            assert_eq!((&tally["created"], &tally["bad"]), (&tally["rows"], &json!(0)), "{log}");
        }
        let (status, tally, log) = json_of(&data, &["import", what, &path, "--company", "2"]);
        assert!(status.success(), "{log}");
        assert_eq!(tally["created"], json!(0), "importing {what} again created records");
    }
    let everything = |company| {
        let token = token(&data, company);
        let [affiliates, urls, cases] = ["affiliates", "urls", "cases"].map(|list| read(&service, &token, list));
        comparable(affiliates, urls, cases)
    };
    let original = everything(1);
    assert_eq!(original.len(), 60 + 1100 + 80);
    // Import the files into the company they were exported from.
    for (what, ending) in [("affiliates", "csv"), ("urls", "ndjson"), ("cases", "ndjson")] {
        let path = data.path().join(format!("{what}.{ending}")).to_str().unwrap().to_owned();
        let (status, tally, log) = json_of(&data, &["import", what, &path, "--company", "1", "--core-url", &core]);
        assert!(status.success(), "{tally} {log}");
        let existing = if what == "urls" { "updated" } else { "skipped" };
        assert_eq!((&tally["created"], &tally[existing]), (&json!(0), &tally["rows"]), "{what}: {tally} {log}");
    }
    // CSV, with and without escaping.
    for (company, options) in [("4", &[][..]), ("5", &["--no-csv-escape"])] {
        for what in ["affiliates", "urls", "cases"] {
            let path = data.path().join(format!("{what}-{company}.csv")).to_str().unwrap().to_owned();
            let export = ["export", what, "--company", "1", "--core-url", &core, "--output", &path];
            let (status, _, log) = output(compliance(&data).args(export).args(options));
            assert!(status.success(), "{log}");
            let import = ["import", what, &path, "--company", company, "--core-url", &core];
            for is_first in [true, false] {
                let (status, tally, log) = json_of(&data, &[&import[..], options].concat());
                assert!(status.success(), "{tally} {log}");
                assert_eq!(tally["created"] == tally["rows"], is_first, "{tally} {log}");
            }
        }
    }
    let unknown = file(&data, "unknown.csv", b"url,shoe size\nhttps://new.example/,44\n");
    let (status, _, log) = json_of(&data, &["import", "urls", &unknown, "--company", "2"]);
    assert!(status.code() == Some(2) && log.contains("\"shoe size\""), "{log}");
    for company in [1, 2, 3, 4, 5] {
        for (copy, original) in everything(company).iter().zip(&original) {
            assert_eq!(copy, original);
        }
    }
    // The command reports invalid lines, and imports valid lines.
    let lines = concat!(
        "{\"url\": \"ftp://example.org/\"}\n{\"url\": \"https://new.example/\", \"incident_status\": \"Nonsense\"}\n",
        "{\"url\": \"https://new.example/\", \"uri\": 1}\n{\"url\": \"https://new.example/\"}\n"
    );
    let lines = file(&data, "bad.ndjson", lines.as_bytes());
    let (status, tally, log) = json_of(&data, &["import", "urls", &lines, "--company", "2"]);
    assert_eq!((status.code(), &tally["created"], &tally["bad"]), (Some(3), &json!(1), &json!(3)), "{log}");
    let errors = report(&format!("{lines}.report.ndjson"));
    let mut reported: Vec<(u64, &str)> =
        errors.iter().map(|error| (error["row"].as_u64().unwrap(), error["field"].as_str().unwrap())).collect();
    reported.sort_unstable();
    assert_eq!(reported, [(1, "url"), (2, "incident_status"), (3, "uri")]);
    for what in ["urls", "cases"] {
        let (status, stdout, log) =
            output(compliance(&data).args(["export", what, "--company", "1", "--format", "csv"]));
        assert!(status.success(), "{log}");
        assert!(
            stdout.lines().count() > 80
                && stdout.starts_with(if what == "urls" { "\u{feff}url," } else { "\u{feff}request_id," })
        );
    }
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
}

/// A file truncated at a line break would terminate all missing affiliates. A dry run, the first run and a repeated run report the absent affiliates.
#[test]
fn truncated_sync_lists_are_rejected() {
    let data = migrated();
    let service = start(&data, &["serve"]);
    let token = token(&data, 7);
    let roster = |count: usize| {
        let rows = (0..count).map(|number| format!("N{number},Name {number}\n"));
        format!("client_affiliate_id,affiliate_name\n{}", rows.collect::<String>())
    };
    let whole = file(&data, "whole.csv", roster(200).as_bytes());
    let import = |path: &str, options: &[&str]| {
        let arguments = ["import", "affiliates", path, "--company", "7", "--sync"];
        output(compliance(&data).args(arguments).args(options))
    };
    assert!(import(&whole, &[]).0.success());
    let before = read(&service, &token, "affiliates");
    let cut = format!("{}N199,Renamed\nX,New\n", roster(2));
    let cut = file(&data, "cut.csv", cut.as_bytes());
    for options in [&["--dry-run"][..], &[], &["--max-absent", "196"], &["--max-absent", "0", "--json"]] {
        let (status, stdout, log) = import(&cut, &[&["--absent", "terminated"], options].concat());
        assert_eq!(status.code(), Some(1), "{stdout} {log}");
        assert!(log.contains("set 197 absent affiliates") && log.contains("--max-absent"), "{log}");
        // The command reports no absent affiliates until the service accepts the list.
        assert!(!stdout.contains("0 absent") && !stdout.contains("\"absent\""), "{stdout}");
        assert_eq!(read(&service, &token, "affiliates"), before);
    }
    let part = file(&data, "part.csv", roster(188).as_bytes());
    let runs = [
        (&["--dry-run"][..], "12 absent (12 would be set to terminated)"),
        (&[], "12 absent (12 set to terminated)"),
        (&[], "12 absent (0 set to terminated)"),
        (&["--dry-run"], "12 absent (0 would be set to terminated)"),
    ];
    for (options, expected) in runs {
        let (status, stdout, log) = import(&part, &[&["--absent", "terminated"], options].concat());
        assert!(status.success() && stdout.contains(expected), "{stdout} {log}");
        assert!(stdout.trim_end().ends_with("lists the absent affiliates"), "{stdout}");
    }
    let (status, made, log) = json_of(
        &data,
        &["import", "affiliates", &cut, "--company", "7", "--sync", "--absent", "terminated", "--max-absent", "186"],
    );
    assert!(status.success(), "{log}");
    let counts = ["created", "updated", "absent", "absent_changed"].map(|name| made[name].as_i64().unwrap());
    assert_eq!(counts, [1, 1, 197, 186], "{made}");
}

/// A sync identifies affiliates by the client's own identifier, so names can change. Repeating the sync changes nothing.
#[test]
fn sync_creates_updates_and_terminates_affiliates() {
    let data = migrated();
    let service = start(&data, &["serve"]);
    let token = token(&data, 7);
    let sync = |arguments: &[&str]| {
        json_of(&data, &[&["import", "affiliates"], arguments, &["--company", "7", "--sync"]].concat())
    };
    let first =
        file(&data, "first.csv", b"client_affiliate_id,affiliate_name,city\nA,Ann,Bonn\nB,Ben,Berlin\nC,Cem,\n");
    let (status, made, log) = sync(&[&first]);
    assert!(status.success(), "{log}");
    assert_eq!((&made["created"], &made["skipped"], &made["absent"]), (&json!(3), &json!(0), &Value::Null));

    // The second file swaps names, clears a field, omits an affiliate, and contains invalid rows.
    let roster = "{\"client_affiliate_id\":\"A\",\"affiliate_name\":\"Ben\",\"city\":null}
{\"client_affiliate_id\":\"B\",\"affiliate_name\":\"Ann\"}
{\"client_affiliate_id\":\"D\",\"affiliate_name\":\"Dea\"}
{\"client_affiliate_id\":\"E\"}
{\"client_affiliate_id\":\"F\",\"affiliate_name\":\"F\",\"email_one\":\"nobody\"}
{\"client_affiliate_id\":\"G\",\"affiliate_name\":\"G\"}
{\"client_affiliate_id\":\"G\",\"affiliate_name\":\"G two\"}
";
    let second = file(&data, "second.ndjson", roster.as_bytes());
    let report_file = format!("{second}.report.ndjson");
    let before = read(&service, &token, "affiliates");
    let arguments: &[&str] = &[&second, "--absent", "terminated"];
    for dry_run in [true, false] {
        let (status, made, log) = sync(&[arguments, if dry_run { &["--dry-run"] } else { &[] }].concat());
        assert_eq!(status.code(), Some(3), "{log}");
        let counts =
            ["rows", "created", "updated", "skipped", "absent", "bad"].map(|name| made[name].as_i64().unwrap());
        assert_eq!(counts, [7, 1, 2, 0, 1, 4], "{made}");
        let reported: Vec<(Value, String)> = report(&report_file)
            .into_iter()
            .map(|error| {
                (
                    error["row"].clone(),
                    format!("{} {}", error["field"].as_str().unwrap(), error["reason"].as_str().unwrap()),
                )
            })
            .collect();
        let has = |row: i64, text: &str| reported.iter().any(|(of, reason)| *of == row && reason.contains(text));
        assert!(has(4, "affiliate_name The affiliate name field is required."), "{reported:?}");
        assert!(has(5, "email_one"), "{reported:?}");
        assert!(has(6, "client_affiliate_id Rows 6, 7 have the same client affiliate id."), "{reported:?}");
        assert!(has(7, "Rows 6, 7 "), "{reported:?}");
        // A seemingly absent affiliate could be in an invalid row.
        assert!(has(0, "its status is none.") && log.contains("keep their status"), "{reported:?} {log}");
        assert_eq!(read(&service, &token, "affiliates") == before, dry_run);
    }
    let found: Vec<Value> = read(&service, &token, "affiliates");
    let of = |name: &str| found.iter().map(|affiliate| affiliate[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("distributor_name"), ["Ben", "Ann", "Cem", "Dea"]);
    assert_eq!(of("city"), [Value::Null, json!("Berlin"), Value::Null, Value::Null]);
    assert_eq!(of("distributor_status")[2], Value::Null);
    let whole: Vec<&str> = roster.lines().filter(|line| !line.contains("nobody")).collect();
    let whole = file(&data, "whole.ndjson", whole.join("\n").as_bytes());
    let (_, made, log) = sync(&[&whole, "--absent", "terminated"]);
    assert_eq!((&made["absent"], &made["updated"], &made["bad"]), (&json!(1), &json!(0), &json!(3)), "{made} {log}");
    assert_eq!(read(&service, &token, "affiliates")[2]["distributor_status"], "terminated");

    let (_, made, log) = sync(&[&first, "--absent", "report"]);
    let counts = ["created", "updated", "skipped", "absent", "bad"].map(|name| made[name].as_i64().unwrap());
    assert_eq!(counts, [0, 2, 1, 1, 0], "{made}, {log}");
    let (status, _, log) = sync(&[&first, "--absent", "gone"]);
    assert!(!status.success() && log.contains("expected report or a status: active,"), "{log}");
}
