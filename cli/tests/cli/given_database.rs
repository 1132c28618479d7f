//! A database outside the data folder: `migrate`, and `serve --database-url`.

use crate::common::{DataDir, Service, compliance, output, token};
use embedded_postgres::ClusterOptions;
use nix::sys::signal::Signal;
use test_support::TestCluster;

#[tokio::test(flavor = "multi_thread")]
async fn a_given_database_is_migrated_and_served() {
    let cluster = TestCluster::start(ClusterOptions::temporary()).await;
    cluster.endpoint.create_database("given").await.unwrap();
    let url = cluster.endpoint.url("given");
    let data = DataDir::new();
    tokio::task::spawn_blocking(move || {
        for _ in 0..2 {
            let (status, stdout, log) = output(compliance(&data).args(["migrate", "--database-url", &url]));
            assert!(status.success() && stdout.is_empty(), "{log}");
        }
        let service = Service::start_as(compliance(&data).arg("serve").env("DATABASE_URL", &url));
        let token = token(&data, 7);
        let body = r#"{"urls": [{"url": "https://example.org/"}]}"#;
        assert_eq!(service.request("POST", "/api/urls", &token, body).0, 201);
        service.signal(Signal::SIGTERM);
        assert_eq!(service.end().code(), Some(0));
        // Only the secret is kept here.
        assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 1);
    })
    .await
    .unwrap();
    cluster.stop().await;
}
