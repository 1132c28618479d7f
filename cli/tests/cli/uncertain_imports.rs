//! Tests an import that loses the response to a committed batch.

use std::{os::unix::ffi::OsStrExt as _, path::Path};

use embedded_postgres::{ClusterOptions, OWNER_ROLE};
use serde_json::Value;
use test_support::{Proxy, TestCluster};

use crate::{
    common::{DataDir, compliance, output},
    data::file,
};

/// The import retries the batch, and does not report its own affiliates as duplicates.
#[tokio::test(flavor = "multi_thread")]
async fn retried_import_batch_reports_no_false_duplicates() {
    let cluster = TestCluster::start(ClusterOptions::temporary()).await;
    cluster.endpoint.create_database("given").await.unwrap();
    let folder = cluster.endpoint.socket_dir();
    let proxy = Proxy::postgresql(folder.join(".s.PGSQL.5432"));
    let url = cluster.endpoint.url(OWNER_ROLE, "given");
    let escaped = |path: &Path| {
        let bytes = path.as_os_str().as_bytes().iter();
        let escape = |byte: &u8| match char::from(*byte) {
            letter if letter.is_ascii_alphanumeric() => letter.to_string(),
            _ => format!("%{byte:02X}"),
        };
        bytes.map(escape).collect::<String>()
    };
    let through_proxy = url.replace(&escaped(folder), &escaped(proxy.folder()));
    assert_ne!(url, through_proxy);
    let proxy = tokio::task::spawn_blocking(move || {
        let data = DataDir::new();
        let (status, _, log) = output(compliance(&data).args(["migrate", "--database-url", &url]));
        assert!(status.success(), "{log}");
        let import = |text: &str, choice: &str| {
            let path = file(&data, "affiliates.csv", text.as_bytes());
            let arguments = ["import", "affiliates", &path, "--company", "7", "--on-duplicate", choice, "--json"];
            let (_, summary, log) = output(compliance(&data).args(arguments).args(["--database-url", &through_proxy]));
            let summary: Value = serde_json::from_str(&summary).unwrap_or_else(|_| panic!("{summary}{log}"));
            ["created", "updated", "skipped", "bad"].map(|count| summary[count].as_u64().unwrap())
        };
        let header = "client_affiliate_id,affiliate_name,country,start_date\n";
        assert_eq!(import(&format!("{header}A-0,Zed,DE,\n"), "fail"), [1, 0, 0, 0]);
        for (batch, choice, expected) in
            [(1, "fail", [2, 0, 0, 1]), (2, "skip", [2, 0, 1, 0]), (3, "update", [2, 1, 0, 0])]
        {
            // The third affiliate exists with different values.
            let rows = format!("B-{batch},Ann {batch},us,2026-05-01\nC-{batch},Ben {batch},,\nA-0,Zed,FR,\n");
            proxy.lose_answer_to("insert into affiliates");
            assert_eq!(import(&format!("{header}{rows}"), choice), expected, "{choice}");
            assert!(proxy.has_lost_answer());
        }
        // The service cannot tell whether the earlier attempt created a URL or case, so the report names these rows.
        for (kind, statement, row) in [
            ("urls", "insert into compliance_urls", r#"{"url":"https://a.example/"}"#),
            ("cases", "insert into compliance_cases", r#"{"request_id":"R-1","case":{"client_affiliate_id":"B-1"}}"#),
        ] {
            let path = file(&data, &format!("{kind}.ndjson"), row.as_bytes());
            proxy.lose_answer_to(statement);
            let arguments = ["import", kind, &path, "--company", "7", "--json", "--database-url", &through_proxy];
            let (status, summary, log) = output(compliance(&data).args(arguments));
            assert!(status.success() && proxy.has_lost_answer(), "{log}");
            let summary: Value = serde_json::from_str(&summary).unwrap();
            let counts = ["rows", "created", "updated", "skipped", "bad", "uncertain"].map(|name| &summary[name]);
            assert_eq!(counts, [1, 0, 0, 0, 0, 1], "{summary}");
            let report = std::fs::read_to_string(summary["report"].as_str().unwrap()).unwrap();
            assert!(report.starts_with(r#"{"row":1,"#) && report.contains("a response was lost"), "{report}");
        }
        proxy
    })
    .await
    .unwrap();
    drop(proxy);
    cluster.stop().await;
}
