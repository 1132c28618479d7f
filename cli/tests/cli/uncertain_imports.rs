//! Tests an import that loses the response to a committed batch.

use std::{fs, process::Stdio};

use embedded_postgres::OWNER_ROLE;
use nix::sys::signal::Signal;
use serde_json::Value;
use test_support::Proxy;
use tokio::runtime::Runtime;

use crate::{
    common::{DataDir, GIVEN, compliance, output, start, token},
    data::file,
    files::Folder,
    programs::Programs,
};

/// The import retries the batch, and does not report its own affiliates as duplicates.
#[test]
fn retried_import_batch_reports_no_false_duplicates() {
    let programs = Programs::new();
    let threads = Runtime::new().unwrap();
    let proxy = threads.block_on(async { Proxy::postgresql(programs.socket_dir().join(".s.PGSQL.5432")) });
    let folder = proxy.folder().to_str().unwrap().replace('/', "%2F");
    let database = format!("postgres://{OWNER_ROLE}@{folder}:5432/{GIVEN}");
    let data = DataDir::new();
    let import = |text: &str, choice: &str| {
        let path = file(&data, "affiliates.csv", text.as_bytes());
        let arguments = ["import", "affiliates", &path, "--company", "7", "--on-duplicate", choice, "--json"];
        let (_, summary, log) = output(compliance(&data).args(arguments).args(["--database-url", &database]));
        let summary: Value = serde_json::from_str(&summary).unwrap_or_else(|_| panic!("{summary}{log}"));
        ["created", "updated", "skipped", "bad"].map(|count| summary[count].as_u64().unwrap())
    };
    let header = "client_affiliate_id,affiliate_name,country,start_date\n";
    assert_eq!(import(&format!("{header}A-0,Zed,DE,\n"), "fail"), [1, 0, 0, 0]);
    for (batch, choice, expected) in [(1, "fail", [2, 0, 0, 1]), (2, "skip", [2, 0, 1, 0]), (3, "update", [2, 1, 0, 0])]
    {
        // The third affiliate exists with different values.
        let rows = format!("B-{batch},Ann {batch},us,2026-05-01\nC-{batch},Ben {batch},,\nA-0,Zed,FR,\n");
        proxy.lose_answer_to("insert into affiliates");
        assert_eq!(import(&format!("{header}{rows}"), choice), expected, "{choice}");
        assert!(proxy.has_lost_answer());
    }
}

/// Unlike affiliates, URLs of an earlier attempt look like URLs that existed before the import.
#[test]
fn repeated_url_batches_are_reported_as_uncertain() {
    let folder = Folder::new();
    let service = start(&folder.data, &["serve"]);
    let threads = Runtime::new().unwrap();
    let proxy = threads.block_on(Proxy::tcp(service.grpc));
    let path = folder.path("urls.ndjson");
    let lines: Vec<String> = (0..3_000).map(|number| format!(r#"{{"url":"https://a.example/{number}"}}"#)).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    let mut command = compliance(&folder.data);
    command.args(["import", "urls", path.to_str().unwrap(), "--company", "7", "--json"]);
    command.args(["--core-url", &format!("http://{}", proxy.address())]).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let token = token(&folder.data, 7);
    let total = || {
        let (_, page) = service.request("GET", "/api/urls?per_page=1", &token, "");
        page["meta"]["total"].as_i64().unwrap()
    };
    let mut last = 0;
    while child.try_wait().unwrap().is_none() {
        // The response to the batch just saved may still be on its way.
        if std::mem::replace(&mut last, total()) != last {
            proxy.cut();
        }
    }
    let summary: Value = serde_json::from_reader(child.stdout.take().unwrap()).unwrap();
    assert!(child.wait().unwrap().success() && proxy.connections() > 1, "{summary}");
    let count = |name: &str| summary[name].as_i64().unwrap_or_default();
    assert_eq!((count("created") + count("uncertain"), total()), (3_000, 3_000), "{summary}");
    assert_eq!(["updated", "skipped", "bad", "without_result"].map(count), [0; 4], "{summary}");
    if count("uncertain") > 0 {
        let report = fs::read_to_string(summary["report"].as_str().unwrap()).unwrap();
        assert!(report.lines().count() == count("uncertain") as usize && report.contains("response was lost"));
    }
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
}
