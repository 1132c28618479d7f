//! CSV files and workbooks as request bodies.

use std::{
    fmt::Write as _,
    io::{Cursor, Write as _},
};

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use test_support::{RestClient, RestResponse, TestService, new_company};
use zip::{ZipWriter, write::SimpleFileOptions};

const CSV: &str = "text/csv";
const WORKBOOK: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/// Builds a workbook with these text rows in its first sheet.
fn workbook(rows: &[&[&str]]) -> Vec<u8> {
    let mut cells = String::new();
    for (number, row) in (1..).zip(rows) {
        let _ = write!(cells, r#"<row r="{number}">"#);
        for (column, text) in ('A'..).zip(*row).filter(|(_, text)| !text.is_empty()) {
            let _ = write!(cells, r#"<c r="{column}{number}" t="inlineStr"><is><t>{text}</t></is></c>"#);
        }
        cells.push_str("</row>");
    }
    workbook_of(&cells)
}

/// Builds a workbook whose first sheet contains these XML rows.
fn workbook_of(rows: &str) -> Vec<u8> {
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
    const TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml";
    let parts = [
        (
            "[Content_Types].xml",
            format!(
                r#"<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="{TYPE}.worksheet+xml"/></Types>"#
            ),
        ),
        (
            "_rels/.rels",
            format!(
                r#"<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>"#
            ),
        ),
        (
            "xl/workbook.xml",
            format!(
                r#"<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets><sheet name="Sheet1" sheetId="1" r:id="r1"/></sheets></workbook>"#
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            format!(
                r#"<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" Type="{RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#
            ),
        ),
        ("xl/worksheets/sheet1.xml", format!(r#"<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>"#)),
    ];
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Builds a CSV file and a workbook with these rows. Returns each file's content type, its bytes, and its position key in errors.
fn both(rows: &[&[&str]]) -> [(&'static str, Vec<u8>, &'static str); 2] {
    let lines: String = rows.iter().map(|row| row.join(",") + "\n").collect();
    [(CSV, lines.into_bytes(), "column"), (WORKBOOK, workbook(rows), "cell")]
}

async fn send(rest: &RestClient, path: &str, kind: &str, body: impl Into<Vec<u8>>) -> RestResponse {
    RestResponse::of(rest.request("POST", path).header("Content-Type", kind).body(body.into())).await
}

fn names(affiliates: &Value) -> Vec<&str> {
    affiliates["data"].as_array().unwrap().iter().map(|one| one["distributor_name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_rows_sync_like_json_items() {
    let service = TestService::shared().await;
    let rows: &[&[&str]] = &[
        &["Your affiliate ID", "affiliate_name", "city"],
        &["A-1", "Ann", "Bern"],
        &["", "", ""],
        &["A-2", "Ben", ""],
    ];
    for (kind, file, _) in both(rows) {
        let company = new_company();
        for rest in [service.rest(company), service.rest_remote(company)] {
            let dry = send(&rest, "/affiliates:sync?validate_only=true", kind, file.clone()).await.with_status(200);
            let first = send(&rest, "/affiliates:sync", kind, file.clone()).await.with_status(200);
            let outcomes = |answer: &Value| -> Vec<(Value, Value)> {
                let results = answer["data"]["results"].as_array().unwrap();
                results.iter().map(|result| (result["row"].clone(), result["outcome"].clone())).collect()
            };
            let expected = |outcome| vec![(json!(2), json!(outcome)), (json!(4), json!(outcome))];
            let is_new = names(&rest.get("/affiliates").await.json()).len() == 2
                && dry["data"]["results"][0]["affiliate_id"].is_null();
            let outcome = if is_new { "created" } else { "unchanged" };
            assert_eq!((outcomes(&dry), outcomes(&first)), (expected(outcome), expected(outcome)), "{kind}");
            let again = send(&rest, "/affiliates:sync", kind, file.clone()).await.with_status(200);
            assert_eq!(outcomes(&again), expected("unchanged"), "{kind}");
            assert_eq!(again["detail"]["msg"], "The affiliates are up to date.");
            // An empty cell clears the field.
            let cleared: &[&[&str]] = &[&["client_affiliate_id", "city"], &["A-1", ""]];
            let [(_, csv, _), _] = both(cleared);
            let cleared = send(&rest, "/affiliates:sync", CSV, csv).await.with_status(200);
            assert_eq!(cleared["data"]["results"][0]["changed_fields"], json!(["city"]));
            send(&rest, "/affiliates:sync", kind, file.clone()).await.with_status(200);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejected_sync_rows_report_their_position() {
    let service = TestService::shared().await;
    let rows: &[&[&str]] = &[
        &["client_affiliate_id", "affiliate_name", "email_one", "zip"],
        &["A-1", "Ann", "ann@example.com", "1"],
        &["A-2", "Ben", "nobody", "12345678901234567"],
        &["A-3", "Cem", "", "#N/A"],
        &["A-4", "Dan", "", ""],
        &["A-4", "Eve", "", ""],
        &["NULL", "Fay", "", ""],
    ];
    for (kind, file, place) in both(rows) {
        let company = new_company();
        for rest in [service.rest(company), service.rest_remote(company)] {
            let absent = r#"{"client_affiliate_id":"Z-9","affiliate_name":"Zoe","status":"active"}"#;
            rest.post("/affiliates", absent).await;
            let path = "/affiliates:sync?absent_status=terminated&max_absent=5";
            let answer = send(&rest, path, kind, file.clone()).await.with_status(207);
            let msg = "5 items were refused. The service did not check for absent affiliates, because a refused row may be one of them.";
            assert_eq!((&answer["code"], &answer["detail"]["msg"]), (&json!("1021"), &json!(msg)));
            let results = answer["data"]["results"].as_array().unwrap();
            let rows: Vec<i64> = results.iter().map(|result| result["row"].as_i64().unwrap()).collect();
            assert_eq!(rows, [2, 3, 4, 5, 6, 7]);
            let at = |column: &str, cell: &str| {
                if place == "cell" { format!("cell {cell}") } else { format!("column {column}") }
            };
            let violations = results[1]["violations"].as_array().unwrap();
            let shown: Vec<_> = violations.iter().map(|it| (it["row"].as_i64(), it[place].as_str().unwrap())).collect();
            let places = if place == "cell" { ["C3", "D3"] } else { ["email_one", "zip"] };
            assert_eq!(shown, places.map(|place| (Some(3), place)));
            let email = format!("Row 3, {}: The email one field must be a valid email address.", at("email_one", "C3"));
            assert_eq!(
                violations[0],
                json!({"field": "email_one", "description": email, "row": 3,
                "cell": (place == "cell").then_some("C3"), "column": (place == "column").then_some("email_one")})
            );
            assert_eq!(results[1]["msg"], format!("{email} (and 1 more error)"));
            assert_eq!(
                (&results[1]["outcome"], &results[2]["violations"][0]["field"]),
                (&json!("refused"), &json!("zip"))
            );
            assert_eq!(results[3]["msg"], "Several rows have this identifier: 5, 6.");
            assert_eq!(results[4]["conflicting_positions"], json!([3, 4]));
            let ids: Vec<_> = results.iter().map(|result| result["client_affiliate_id"].as_str()).collect();
            assert_eq!(ids, [Some("A-1"), Some("A-2"), Some("A-3"), Some("A-4"), Some("A-4"), None]);
            assert_eq!((&answer["data"]["absent"], &answer["data"]["absent_total"]), (&json!([]), &json!(0)));
            assert_eq!(names(&rest.get("/affiliates").await.json()), ["Zoe", "Ann"], "{kind}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_results_have_the_key_order_of_json() {
    let service = TestService::shared().await;
    let rest = service.rest(new_company());
    let file = "client_affiliate_id,affiliate_name,email_one\nA,Ann,\nB,Ben,nobody\n";
    let synced = send(&rest, "/affiliates:sync", CSV, file).await;
    let item = r#"{"affiliates":[{"client_affiliate_id":"A"}]}"#;
    let json = rest.post("/affiliates:sync", item.to_owned()).await;
    let keys = |text: &str| -> Vec<String> {
        let (_, result) = text.split_once(r#""results":[{"#).unwrap();
        result
            .split_once('}')
            .unwrap()
            .0
            .split(r#"":"#)
            .filter_map(|key| Some(key.rsplit_once('"')?.1.to_owned()))
            .collect()
    };
    let (of_file, of_json) = (keys(&synced.text), keys(&json.text));
    assert_eq!((of_file[0].as_str(), &of_file[1..]), ("row", &*of_json), "{}", synced.text);
    let refused = r#"{"row":3,"code":"1021","outcome":"refused","affiliate_id":null,"client_affiliate_id":"B","changed_fields":[],"conflicting_ids":[],"conflicting_positions":[],"violations":[{"field":"email_one","description":"#;
    assert!(synced.text.contains(refused), "{}", synced.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_syncs_update_absent_affiliates() {
    let service = TestService::shared().await;
    let (company, other) = (new_company(), new_company());
    let (rest, others) = (service.rest(company), service.rest(other));
    for rest in [&rest, &others] {
        for id in ["A", "B", "C"] {
            let body = json!({"client_affiliate_id": id, "affiliate_name": id, "status": "active"}).to_string();
            rest.post("/affiliates", body).await.with_status(201);
        }
    }
    let [(_, file, _), _] = both(&[&["client_affiliate_id"], &["A"]]);
    let path = "/affiliates:sync?absent_status=terminated";
    let refused = send(&rest, &format!("{path}&max_absent=1"), CSV, file.clone()).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    let dry = send(&rest, &format!("{path}&validate_only=true"), CSV, file.clone()).await.with_status(200);
    assert_eq!(dry["data"]["absent_changed"], 2);
    let synced = send(&rest, path, CSV, file).await.with_status(200);
    assert_eq!(synced["data"]["absent_total"], 2);
    let statuses = async |rest: &RestClient| {
        let affiliates = rest.get("/affiliates").await.json();
        let all = affiliates["data"].as_array().unwrap().iter().map(|one| one["distributor_status"].clone());
        all.collect::<Vec<_>>()
    };
    assert_eq!(statuses(&rest).await, ["active", "terminated", "terminated"]);
    assert_eq!(statuses(&others).await, ["active"; 3], "the sync changed another company");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_rows_with_ids_count_as_present() {
    let service = TestService::shared().await;
    let rest = service.rest(new_company());
    for id in ["A", "B", "C", "D"] {
        let body = json!({"client_affiliate_id": id, "affiliate_name": id, "status": "active"}).to_string();
        rest.post("/affiliates", body).await.with_status(201);
    }
    let rows: &[&[&str]] = &[
        &["client_affiliate_id", "affiliate_name", "city", "email_one"],
        &["A", "Ann", "Bern", "#N/A"],
        &["B", "B", "Bern", ""],
        &["C", "C", "", ""],
        &["C", "C", "Bern", "nobody"],
    ];
    for (kind, file, _) in both(rows) {
        let answer = send(&rest, "/affiliates:sync?absent_status=terminated", kind, file).await.with_status(207);
        let changed = i32::from(kind == CSV);
        let msg = format!("3 items were refused. Absent affiliates set to terminated: {changed} of 1.");
        assert_eq!(answer["detail"]["msg"], msg);
        assert_eq!(answer["data"]["absent"][0]["client_affiliate_id"], "D");
        let results = answer["data"]["results"].as_array().unwrap();
        let outcomes: Vec<_> = results.iter().map(|it| (&it["client_affiliate_id"], &it["outcome"])).collect();
        let saved = if kind == CSV { "updated" } else { "unchanged" };
        let expected = [("A", "refused"), ("B", saved), ("C", "refused"), ("C", "refused")];
        assert_eq!(json!(outcomes), json!(expected));
        assert_eq!(results[2]["msg"], "Several rows have this identifier: 4, 5.");
        let affiliates = rest.get("/affiliates").await.json();
        assert_eq!(names(&affiliates), ["A", "B", "C", "D"]);
        let cities: Vec<_> = affiliates["data"].as_array().unwrap().iter().map(|one| one["city"].as_str()).collect();
        assert_eq!(cities, [None, Some("Bern"), None, None]);
    }

    // An invalid row with an unknown identifier may be any affiliate: here, one with another case, and a shifted row.
    let rows: &[&[&str]] = &[
        &["affiliate_name", "client_affiliate_id", "email_one"],
        &["B", "B", ""],
        &["C", "c", "nobody"],
        &["Smith", " John", "A", ""],
    ];
    for (kind, file, _) in both(rows) {
        let answer = send(&rest, "/affiliates:sync?absent_status=forgotten", kind, file).await.with_status(207);
        assert_eq!(
            answer["detail"]["msg"],
            "2 items were refused. The service did not check for absent affiliates, because a refused row may be one of them.",
            "{kind}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_rows_reject_the_whole_affiliate_file() {
    let service = TestService::shared().await;
    let header: &[&str] = &["client_affiliate_id", "affiliate_name", "zip"];
    for index in 0..2 {
        for rest in [service.rest(new_company()), service.rest_remote(new_company())] {
            let file = |rows: &[&[&str]]| both(rows)[index].clone();
            let (kind, bad, place) = file(&[header, &["1", "Ann", "1"], &["2", "", "12345678901234567"]]);
            let answer = send(&rest, "/affiliates", kind, bad).await.with_status(422);
            let at = |column: &str, cell: &str| match place {
                "cell" => format!("Row 3, cell {cell}: "),
                _ => format!("Row 3, column {column}: "),
            };
            let name = at("affiliate_name", "B3") + "The affiliate name field is required.";
            let zip = at("zip", "C3") + "The zip field must not be greater than 16 characters.";
            assert_eq!(answer["message"], format!("{name} (and 1 more error)"));
            let errors = json!({"affiliates.1.affiliate_name": [name], "affiliates.1.zip": [zip]});
            assert_eq!(answer["errors"], errors);
            assert_eq!(answer["violations"][1]["path"], "affiliates.1.zip");
            assert_eq!(answer["violations"][1][place], if place == "cell" { "C3" } else { "zip" });
            assert_eq!(names(&rest.get("/affiliates").await.json()), [""; 0]);

            let (kind, good, _) = file(&[header, &["1", "Ann", "1"], &["2", "Ben", ""]]);
            let checked = send(&rest, "/affiliates?validate_only=true", kind, good.clone()).await.with_status(201);
            assert_eq!((checked[0]["row"].clone(), checked[0]["detail"].get("affiliate_id")), (json!(2), None));
            let created = send(&rest, "/affiliates", kind, good.clone()).await.with_status(201);
            assert_eq!((&created[1]["row"], &created[1]["code"]), (&json!(3), &json!("1020")));
            let again = send(&rest, "/affiliates", kind, good).await.with_status(207);
            let id = &created[0]["detail"]["affiliate_id"];
            let msg = format!("An affiliate with this name already exists. Its ID is {id}.");
            assert_eq!((&again[0]["code"], &again[0]["detail"]["msg"]), (&json!("1023"), &json!(msg)));
            assert_eq!(names(&rest.get("/affiliates").await.json()), ["Ann", "Ben"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_invalid_row_fails_the_whole_url_file() {
    let service = TestService::shared().await;
    for index in 0..2 {
        for rest in [service.rest(new_company()), service.rest_remote(new_company())] {
            let file = |rows: &[&[&str]]| both(rows)[index].clone();
            let (kind, bad, place) = file(&[&["url"], &["https://a.example/"], &["a.example"]]);
            let answer = send(&rest, "/urls", kind, bad).await.with_status(422);
            let violation = &answer["violations"][0];
            assert_eq!((&violation["path"], &violation["row"]), (&json!("urls.1.url"), &json!(3)));
            assert_eq!(violation[place], if place == "cell" { "A3" } else { "url" });
            let (kind, good, _) = file(&[&["url"], &["https://a.example/"], &["HTTPS://A.example:443"]]);
            let added = send(&rest, "/urls", kind, good).await.with_status(201);
            let results: Vec<_> =
                added.as_array().unwrap().iter().map(|it| (it["row"].as_i64(), &it["code"])).collect();
            assert_eq!(results, [(Some(2), &json!("1020")), (Some(3), &json!("1023"))]);
            assert_eq!(rest.get("/urls").await.json()["meta"]["total"], 1);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unsupported_and_damaged_files_are_rejected() {
    let service = TestService::shared().await;
    let rest = service.rest(new_company());
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let good = workbook(&[&["url"], &["https://a.example/"]]);
    for (kind, body, status, part) in [
        (CSV, b"%PDF-1.7".to_vec(), 415, "The file is a PDF"),
        (CSV, gzip(b"url\nhttps://a.example/\n"), 415, "gzip"),
        (CSV, br#"{"urls":[{"url":"https://a.example/"}]}"#.to_vec(), 415, "JSON"),
        (WORKBOOK, vec![0xd0, 0xcf, 0x11, 0xe0, 0xa1], 415, "Excel 97"),
        (WORKBOOK, good[..good.len() / 2].to_vec(), 422, "damaged"),
        (CSV, Vec::new(), 422, "."),
        (CSV, b"url\n".to_vec(), 422, "."),
        (CSV, b"url,url\nhttps://a.example/,\n".to_vec(), 422, "url"),
        (CSV, b"url\nhttps://a.example/\xfc\n".to_vec(), 422, "."),
    ] {
        let answer = send(&rest, "/urls", kind, body).await;
        assert_eq!(answer.status, status, "{part}: {}", answer.text);
        let json = answer.json();
        let message = if status == 422 { &json["message"] } else { &json["detail"]["msg"] };
        assert!(message.as_str().is_some_and(|message| message.contains(part)), "{part}: {message}");
    }
    assert_eq!(rest.get("/urls").await.json()["meta"]["total"], 0);
    // The service accepts gzip with a `Content-Encoding` header, and detects a workbook despite the wrong content type.
    let request = rest.request("POST", "/urls").header("Content-Type", CSV).header("Content-Encoding", "gzip");
    RestResponse::of(request.body(gzip(&good))).await.with_status(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_options_are_query_parameters() {
    let service = TestService::shared().await;
    let rest = service.rest(new_company());
    let file = b"Member no.;affiliate_name;start_date;Fax\n1;J\xfcrgen;1/5/2026;5\n".to_vec();
    let (columns, path) = ("columns=Member+no.%3Dclient_affiliate_id&columns=Fax%3D", "/affiliates:sync");
    for (query, kind, refused) in [
        ("dates=dmy", CSV, "encoding"),
        ("encoding=windows-1252", CSV, "dates"),
        ("dates=day&encoding=latin1", CSV, "dates encoding"),
        ("dates=dmy", "text/csv; charset=koi8-r", "Content-Type"),
        ("dates=dmy&encoding=macintosh", "text/csv; charset=iso-8859-1", "encoding"),
        ("dates=dmy&encoding=utf-8", "text/csv; charset=koi8-r", "Content-Type"),
        ("dates=dmy&dates=mdy&encoding=macintosh&encoding=macintosh", CSV, "dates encoding"),
        ("dates=dmy&encoding=windows-1252&sheet=May", CSV, "sheet"),
        (
            "dates=dmy&encoding=windows-1252&validateonly=true&Sheet=&absentStatus=x",
            CSV,
            "validateonly Sheet absentStatus",
        ),
        (
            "dates=dmy&encoding=windows-1252&max_absent=-1&absent_status=gone&validate_only=1",
            CSV,
            "max_absent absent_status validate_only",
        ),
    ] {
        let answer = send(&rest, &format!("{path}?{columns}&{query}"), kind, file.clone()).await;
        let (mut paths, mut expected) = (answer.paths(), refused.split(' ').collect::<Vec<_>>());
        paths.sort();
        expected.sort_unstable();
        assert_eq!(
            (answer.status, paths),
            (422, expected.into_iter().map(str::to_owned).collect()),
            "{query}: {}",
            answer.text
        );
    }
    let unmapped = send(&rest, &format!("{path}?dates=dmy&encoding=windows-1252"), CSV, file.clone()).await;
    assert_eq!((unmapped.status, unmapped.paths()), (422, vec!["columns".to_owned()]), "{}", unmapped.text);
    let misspelt = send(&rest, &format!("{path}?Encodng=macintosh"), CSV, file.clone()).await.with_status(422);
    assert_eq!(misspelt["message"], "The option Encodng does not exist. Use encoding.");
    for (path, option) in
        [(path, "dry_run"), ("/urls", "absent_status"), ("/urls", "Dry-Run"), ("/affiliates", "maxAbsent")]
    {
        let refused = send(&rest, &format!("{path}?{option}=1"), CSV, file.clone()).await;
        assert_eq!((refused.status, refused.paths()), (422, vec![option.to_owned()]), "{}", refused.text);
    }
    for (query, kind) in [("?encoding=cp850", CSV), ("", "text/csv; charset=ibm850")] {
        let refused = send(&rest, &format!("{path}{query}"), kind, file.clone()).await.with_status(422);
        assert!(refused["message"].as_str().unwrap().contains("other encodings as CSV in UTF-8"), "{refused}");
    }
    let synced =
        send(&rest, &format!("{path}?{columns}&dates=dmy&colour=red"), "Text/CSV; charset=\"Windows-1252\"", file)
            .await;
    assert_eq!(synced.header("x-ignored-parameters"), Some("colour"));
    synced.with_status(200);
    // Workbooks have no charset, although some programs send one.
    let (kind, book) = (format!("{WORKBOOK}; charset=koi8-r"), workbook(&[&["url"], &["https://b.example/"]]));
    send(&rest, "/urls?validate_only=true", &kind, book.clone()).await.with_status(201);
    let refused = send(&rest, "/urls?encoding=macintosh&dates=dmy", WORKBOOK, book).await;
    assert_eq!((refused.status, refused.paths()), (422, vec!["encoding".to_owned()]), "{}", refused.text);
    let affiliates = rest.get("/affiliates").await.json();
    assert_eq!((names(&affiliates), &affiliates["data"][0]["start_date"]), (vec!["J\u{fc}rgen"], &json!("2026-05-01")));
    // In JSON, options that control reading have no effect. An option that would prevent a save is rejected.
    let json = r#"{"urls":[{"url":"https://a.example/"}]}"#;
    for (method, path, option) in [
        ("POST", "/urls", "validate_only"),
        ("POST", "/affiliates", "validateOnly"),
        ("POST", "/urls", "dry-run"),
        ("POST", "/affiliates:sync", "absent_status"),
        ("PUT", "/affiliates/1", "validate_only"),
    ] {
        let request = rest.request(method, &format!("{path}?{option}=true")).body(json);
        let refused = RestResponse::of(request).await;
        assert_eq!((refused.status, refused.paths()), (422, vec![option.to_owned()]), "{}", refused.text);
    }
    let added = RestResponse::of(rest.request("POST", "/urls?dates=x").body(json)).await;
    assert_eq!((added.status, added.header("x-ignored-parameters")), (201, Some("dates")));
}

/// Every response lists the ignored rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_responses_report_ignored_rows() {
    let service = TestService::shared().await;
    let affiliates: &[&[&str]] =
        &[&["Partners"], &["client_affiliate_id", "affiliate_name", "zip"], &["1", "Ann", ""], &["2", "Ben", ""]];
    let wrong: &[&[&str]] = &[&["Partners"], affiliates[1], &["1", "Ann", "12345678901234567"]];
    let urls: &[&[&str]] =
        &[&["Links", ""], &["url", "id"], &["https://a.example/", "1"], &["https://b.example/", "2"]];
    let note = json!(["ignored rows above the headings: 1 to 1"]);
    for index in 0..2 {
        for rest in [service.rest(new_company()), service.rest_remote(new_company())] {
            let created = {
                let (kind, file, _) = both(affiliates)[index].clone();
                send(&rest, "/affiliates", kind, file).await.with_status(201)
            };
            assert_eq!((&created[0]["notes"], created[1].get("notes")), (&note, None));
            let (kind, file, _) = both(affiliates)[index].clone();
            let again = send(&rest, "/affiliates", kind, file).await.with_status(207);
            assert_eq!(again[0]["notes"], note);
            let (kind, file, _) = both(wrong)[index].clone();
            let refused = send(&rest, "/affiliates", kind, file).await.with_status(422);
            assert_eq!((&refused["notes"], &refused["violations"][0]["row"]), (&note, &json!(3)));
            let (kind, file, _) = both(urls)[index].clone();
            let added = send(&rest, "/urls?columns=id%3D", kind, file).await.with_status(201);
            assert_eq!((&added[0]["notes"], added[1].get("notes")), (&note, None));
            let (kind, file, _) = both(affiliates)[index].clone();
            let synced = send(&rest, "/affiliates:sync", kind, file).await.with_status(200);
            assert_eq!((&synced["data"]["notes"], synced["data"]["results"][0].get("notes")), (&note, None));
        }
    }
    let rest = service.rest(new_company());
    let json = rest.post("/urls", r#"{"urls":[{"url":"https://a.example/"}]}"#).await.with_status(201);
    assert_eq!(json[0].get("notes"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unsupported_content_types_suggest_file_types() {
    let service = TestService::shared().await;
    let rest = service.rest(new_company());
    let csv = "client_affiliate_id,affiliate_name\n1,Ann\n";
    let form = format!("--x\r\nContent-Type: text/csv\r\n\r\n{csv}\r\n--x--\r\n");
    for (kind, body) in [
        ("text/plain", csv.as_bytes()),
        ("application/octet-stream", csv.as_bytes()),
        ("application/x-www-form-urlencoded", csv.as_bytes()),
        ("multipart/form-data; boundary=x", form.as_bytes()),
        ("application/vnd.oasis.opendocument.spreadsheet", b"PK\x03\x04\xff"),
        ("application/vnd.ms-excel", b"\xd0\xcf\x11\xe0"),
    ] {
        for path in ["/affiliates", "/affiliates:sync", "/urls"] {
            let answer = send(&rest, path, kind, body).await.with_status(422);
            let message = answer["errors"]["body"][0].as_str().unwrap();
            assert!(["--data-binary", CSV, WORKBOOK].iter().all(|part| message.contains(part)), "{kind}: {message}");
        }
    }
    // These operations accept JSON with any content type, and other operations do not accept files.
    let json = r#"{"client_affiliate_id":"1","affiliate_name":"Ann"}"#;
    send(&rest, "/affiliates", "text/plain", json).await.with_status(201);
    send(&rest, "/affiliates", "application/json", csv).await.with_status(422);
    let cut = send(&rest, "/affiliates", "application/x-www-form-urlencoded", &json[..20]).await.with_status(422);
    assert_eq!(cut["errors"]["body"][0], "The body must be valid JSON. The error is at line 1, column 20.");
    send(&rest, "/affiliates", "text/plain", "").await.with_status(422);
    send(&rest, "/cases", "text/plain", csv).await.with_status(422);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_files_are_rejected() {
    let service = TestService::start().await;
    let rest = service.rest(new_company());
    let many_rows = "url\n".to_owned() + &"https://a.example/\n".repeat(100_001);
    let many_columns = format!("url{}\nhttps://a.example/\n", ",x".repeat(200));
    let spaces = format!(r#"<row r="1"><c r="A1" t="inlineStr"><is><t>url</t></is></c></row>{}"#, " ".repeat(65 << 20));
    for (kind, body, status) in [
        (CSV, many_rows.into_bytes(), 422),
        (CSV, many_columns.into_bytes(), 422),
        (WORKBOOK, workbook_of(&spaces), 422),
        (CSV, vec![b' '; 33 << 20], 413),
    ] {
        let size = body.len();
        let answer = send(&rest, "/urls", kind, body).await;
        assert_eq!((answer.status, answer.header("retry-after")), (status, None), "{size}: {}", answer.text);
    }
    assert_eq!(rest.get("/urls").await.json()["meta"]["total"], 0);
}
