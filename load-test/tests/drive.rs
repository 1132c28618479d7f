//! Load on both layers of a small service, through the program itself.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{net::SocketAddr, path::PathBuf, process::Command, sync::Arc};

use compliance_api::token::{Claims, KeySource, Secret, Verifier, issue};
use core_server::{Core, CoreSettings, access::RateLimit, database};
use embedded_postgres::{Cluster, ClusterOptions};
use rest_gateway::Settings;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const SECRET: &str = "a secret of tests, of no use anywhere else";

/// A service in this process with some records of company 1.
struct Service {
    rest: SocketAddr,
    grpc: SocketAddr,
    folder: PathBuf,
    cluster: Cluster,
    shutdown: CancellationToken,
}

impl Service {
    async fn start() -> Self {
        let cluster = Cluster::start(ClusterOptions::temporary()).await.unwrap();
        cluster.create_database("test").await.unwrap();
        let pool = database::connect(cluster.connect_options("test"), 8).await.unwrap();
        database::migrate(&pool).await.unwrap();
        let made = "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
            select 1, 'A' || n, 'Affiliate ' || n from generate_series(1, 300) n";
        sqlx::query(made).execute(&pool).await.unwrap();

        let keys = KeySource { secret: Some(Secret::new(SECRET).unwrap()), ..KeySource::default() };
        let verifier = Arc::new(Verifier::new(keys, None).await.unwrap());
        let settings = CoreSettings { rate_limit: RateLimit::Off, ..CoreSettings::default() };
        let core = Core::new(&pool, Arc::clone(&verifier), &settings).await.unwrap();
        let router = rest_gateway::router(core.clients(), verifier, &Settings::default());
        let (rest, grpc) =
            (TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let addresses = (rest.local_addr().unwrap(), grpc.local_addr().unwrap());
        let shutdown = CancellationToken::new();
        let (ends, also_ends) = (shutdown.clone(), shutdown.clone());
        tokio::spawn(async move { rest_gateway::serve(rest, router, &Settings::default(), ends).await });
        tokio::spawn(async move { core.serve(grpc, also_ends).await });
        let folder = std::env::temp_dir().join(format!("load-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self { rest: addresses.0, grpc: addresses.1, folder, cluster, shutdown }
    }

    /// Runs the program; tells the result that it wrote, and whether it was content.
    async fn load(&self, layer: &str, scenario: &str, more: &[&str]) -> (serde_json::Value, bool) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
        let token = issue(&Secret::new(SECRET).unwrap(), &Claims::new(1, now, 600)).unwrap();
        let address = if layer == "rest" { self.rest } else { self.grpc };
        let file = self.folder.join(format!("{layer}-{scenario}.json"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_load-test"));
        command.args([layer, "--scenario", scenario, "--connections", "4", "--duration", "1", "--quiet"]);
        command.args(["--target", &format!("http://{address}"), "--token", &token, "--json"]).arg(&file).args(more);
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        let result = std::fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        eprintln!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (result.unwrap_or_default(), output.status.success())
    }

    async fn stop(self) {
        self.shutdown.cancel();
        let _ = std::fs::remove_dir_all(&self.folder);
        self.cluster.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_layers_answer_under_load() {
    let service = Service::start().await;
    for layer in ["rest", "grpc"] {
        for scenario in ["point-read", "list", "mixed"] {
            let (result, content) = service.load(layer, scenario, &[]).await;
            assert!(content, "{layer} {scenario}");
            assert!(result["summary"]["iters"]["total"].as_u64().unwrap() > 0, "{layer} {scenario}");
            assert_eq!(result["summary"]["success_ratio"], 1.0, "{layer} {scenario}");
        }
    }
    // A result is a baseline; and affiliates that are not there are wrong answers.
    let baseline = service.folder.join("rest-point-read.json");
    let baseline = baseline.to_str().unwrap();
    assert!(service.load("rest", "point-read", &["--baseline", baseline]).await.1);
    assert!(!service.load("rest", "point-read", &["--ids", "900001-900009"]).await.1);
    service.stop().await;
}
