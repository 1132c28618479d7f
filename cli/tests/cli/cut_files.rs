//! Checks that imports reject truncated and unsupported files with one error, before they apply anything.

use crate::{
    common::{DataDir, Service, compliance, migrated, output, start, token},
    data::{demo_data, file, read},
};
use serde_json::{Value, json};

/// Runs an import. Returns the exit status and the output.
fn import(data: &DataDir, service: &Service, arguments: &[&str]) -> (Option<i32>, String) {
    let core = format!("http://{}", service.grpc);
    let (status, stdout, log) = output(compliance(data).arg("import").args(arguments).args(["--core-url", &core]));
    (status.code(), format!("{stdout}{log}"))
}

/// Returns more rows than fit in a batch.
fn rows(row: impl Fn(usize) -> String) -> String {
    (0..1200).map(row).collect()
}

#[test]
fn csv_truncated_inside_quoted_cell_is_rejected() {
    let data = migrated();
    let service = start(&data, &["serve"]);
    let token = token(&data, 7);
    let files = [
        (
            "affiliates",
            "client_affiliate_id,affiliate_name,notes\n",
            rows(|number| format!("N{number},5\" wide {number},\"a\"\"b\n\"\n")),
            "N-x,Cut,\"and the",
        ),
        ("urls", "url,note\n", rows(|number| format!("https://example.org/{number},\"a;\"\"b\"\n")), "x,\"and \n the"),
        (
            "cases",
            "request_id,client_affiliate_id,tags\n",
            rows(|number| format!("r{number},N0,\"[\"\"a\"\"]\"\n")),
            "rx,N0,\"[\"\"a\"\"",
        ),
    ];
    let whole = ["client_affiliate_id,affiliate_name\nN0,Name\n", &"\n".repeat(3)].concat();
    assert_eq!(
        import(&data, &service, &["affiliates", &file(&data, "one.csv", whole.as_bytes()), "--company", "7"]).0,
        Some(0)
    );
    for (what, header, rows, end) in files {
        let before = read(&service, &token, what);
        let text = format!("{header}{rows}");
        let line = text.lines().count() + 1;
        let path = file(&data, "cut.csv", format!("{text}{end}").replace(',', ";").as_bytes());
        let mut variants = vec![&[][..], &["--dry-run"]];
        if what == "affiliates" {
            variants.extend([&["--no-csv-escape"][..], &["--sync"], &["--sync", "--absent", "report"]]);
        }
        for options in variants {
            let (code, printed) = import(&data, &service, &[&[what, &path, "--company", "7"], options].concat());
            assert_eq!(code, Some(2), "{what} {options:?}: {printed}");
            assert!(printed.contains(&format!("begins on line {line}: the file is truncated")), "{what}: {printed}");
        }
        let utf16 = format!("\u{feff}{text}{end}").encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let path = file(&data, "utf16.csv", &utf16);
        assert_eq!(import(&data, &service, &[what, &path, "--company", "7"]).0, Some(2), "{what}");
        assert_eq!(read(&service, &token, what), before, "{what}");
        // A closing quote completes the file.
        let path = file(&data, "whole.csv", format!("{text}{end}\"").as_bytes());
        let (_, printed) = import(&data, &service, &[what, &path, "--company", "7", "--dry-run"]);
        assert!(!printed.contains("truncated") && printed.contains("1201 rows"), "{what}: {printed}");
    }
}

#[test]
fn truncated_json_list_is_rejected() {
    let data = migrated();
    let service = start(&data, &["serve"]);
    let objects = |object: fn(usize) -> Value| (0..1200).map(object).collect::<Value>().to_string();
    for (what, list) in [
        ("affiliates", objects(|number| json!({"client_affiliate_id": number.to_string(), "affiliate_name": number}))),
        ("urls", objects(|number| json!({"url": format!("https://example.org/{number}")}))),
        ("cases", objects(|number| json!({"request_id": number.to_string(), "case": {"client_affiliate_id": "0"}}))),
    ] {
        let path = file(&data, "cut.json", &list.as_bytes()[..list.len() - 1]);
        let (code, printed) = import(&data, &service, &[what, &path, "--company", "7"]);
        assert!(code == Some(2) && printed.contains("record 1201 cannot be read"), "{what}: {printed}");
        assert_eq!(read(&service, &token(&data, 7), what), [Value::Null; 0], "{what}");
    }
}

/// A sync of a file with only a header would make all affiliates absent.
#[test]
fn sync_rejects_files_without_rows() {
    let data = migrated();
    let service = start(&data, &["serve"]);
    let header = "client_affiliate_id,affiliate_name\n";
    let lines: Vec<String> = (0..20).map(|number| format!("N{number},Name {number}\n")).collect();
    let whole = file(&data, "whole.csv", format!("{header}{}", lines.concat()).as_bytes());
    assert_eq!(import(&data, &service, &["affiliates", &whole, "--company", "7"]).0, Some(0));
    for (name, content) in [
        ("header.csv", header),
        ("blank.csv", "client_affiliate_id,affiliate_name\n\n\n"),
        ("list.json", "[]"),
        ("envelope.json", r#"{"code":"1026","data":[]}"#),
        ("lines.ndjson", "\n"),
    ] {
        let path = file(&data, name, content.as_bytes());
        let arguments = ["affiliates", &path, "--company", "7"];
        for options in
            [&[][..], &["--absent", "terminated", "--dry-run"], &["--absent", "terminated", "--max-absent", "100"]]
        {
            let (code, printed) = import(&data, &service, &[&arguments[..], &["--sync"], options].concat());
            assert_eq!(code, Some(1), "{name} {options:?}: {printed}");
            assert!(printed.contains("the file contains no rows") && !printed.contains("absent"), "{name}: {printed}");
        }
        // A normal import accepts the file, because an empty company's export also contains no rows.
        assert_eq!(import(&data, &service, &arguments).0, Some(0), "{name}");
    }
    let affiliates = read(&service, &token(&data, 7), "affiliates");
    assert_eq!(affiliates.len(), 20);
    assert!(affiliates.iter().all(|affiliate| affiliate["distributor_status"].is_null()));
}

#[test]
fn import_rejects_api_list_responses() {
    let data = migrated();
    let service = start(&data, &["serve"]);
    demo_data(&data, "1", ["5", "20", "10"], "3");
    for what in ["urls", "cases"] {
        let (_, body) = service.request("GET", &format!("/api/{what}"), &token(&data, 1), "");
        let records = body["data"].as_array().unwrap();
        let lines: Vec<String> = records.iter().map(Value::to_string).collect();
        let names: Vec<&str> = records[0].as_object().unwrap().keys().map(String::as_str).collect();
        for (name, text) in [
            ("list.csv", names.join(",")),
            ("list.ndjson", format!("\n{}\n", lines.join("\n"))),
            ("list.json", body.to_string()),
        ] {
            let path = file(&data, name, text.as_bytes());
            for options in [&[][..], &["--dry-run"]] {
                let arguments = [&[what, &path, "--company", "2"], options].concat();
                let (code, printed) = import(&data, &service, &arguments);
                assert_eq!(code, Some(2), "{what} {name}: {printed}");
                let unknown = if name == "list.csv" { "are not fields" } else { "unknown field" };
                assert!(printed.contains(unknown) && printed.contains("`compliance export`"), "{printed}");
            }
        }
    }
}
