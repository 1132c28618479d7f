//! Runs the load generator against both layers of a small service.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "the test's runtime aborts its tasks")]

use std::{
    fs,
    process::{Command, Output},
};

use serde_json::Value;
use test_support::{DataDir, Options, TestService, token};

const COMPANY: i64 = 1;

/// Runs the program against a service, and returns its output.
async fn load(layer: &str, target: &str, scenario: &str, more: &[&str]) -> Output {
    // On a busy machine, a call can take longer than a second.
    for duration in ["1", "10"] {
        let output = load_for(duration, layer, target, scenario, more).await;
        if !String::from_utf8_lossy(&output.stderr).contains("no response arrived") {
            return output;
        }
    }
    load_for("60", layer, target, scenario, more).await
}

async fn load_for(duration: &str, layer: &str, target: &str, scenario: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_load-test"));
    command.args([layer, "--target", target, "--scenario", scenario, "--token", &token(COMPANY)]);
    command.args(["--duration", duration, "--warm-up", "0", "--connections", "4"]).args(more);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    eprintln!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    output
}

/// Starts a service with a company that owns 300 affiliates. Returns the service's URL for each layer.
async fn service(options: Options) -> (TestService, [(&'static str, String); 2]) {
    let service = TestService::with(options).await;
    let affiliates = "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
        select $1, 'A' || n, 'Affiliate ' || n from generate_series(1, 300) n";
    sqlx::query(affiliates).bind(COMPANY).execute(&service.pool).await.unwrap();
    let urls = [("rest", format!("http://{}", service.rest)), ("grpc", format!("http://{}", service.grpc))];
    (service, urls)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejected_requests_count_as_errors() {
    // The generator first sends three requests to find the records.
    let (_service, urls) = service(Options { rate_limit: "6/m".parse().unwrap(), ..Options::default() }).await;
    let output = load("rest", &urls[0].1, "list", &[]).await;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && text.contains("x status 429 Too Many Requests instead of 200"), "{text}");
    assert!(text.contains("--rate-limit off"), "{text}");
    // Both layers share the limit, so the generator cannot find the records over gRPC.
    let output = load("grpc", &urls[1].1, "list", &[]).await;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("gRPC status 8 (ResourceExhausted): "), "{errors}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn both_layers_respond_under_load() {
    let (_service, urls) = service(Options::default()).await;
    let folder = DataDir::new();
    fs::create_dir(folder.path()).unwrap();
    let file = folder.path().join("result.json");
    for (layer, url) in urls {
        for scenario in ["point-read", "list", "update", "url-add-one", "mixed"] {
            let rate = ["--rate", "20", "--json", file.to_str().unwrap()];
            let output = load(layer, &url, scenario, &rate).await;
            assert!(output.status.success(), "{layer} {scenario}");
            let result: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            assert!(result["requests"].as_u64().is_some_and(|requests| requests > 0), "{result}");
            assert_eq!(result["errors"], serde_json::json!({}));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_layers_port_is_reported() {
    let (_service, [(rest, rest_url), (grpc, grpc_url)]) = service(Options::default()).await;
    for (layer, url, name) in [(rest, grpc_url, "REST"), (grpc, rest_url, "gRPC")] {
        let output = load(layer, &url, "list", &[]).await;
        let expected =
            format!("load-test: {} does not seem to be the {name} port: ", url.trim_start_matches("http://"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.starts_with(&expected), "{errors}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_below_the_rate_fail() {
    let (_service, [(rest, url), _]) = service(Options::default()).await;
    let output = load(rest, &url, "list", &["--rate", "1000000"]).await;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && text.contains("--rate is 1000000 requests a second"), "{text}");
    let output = load(rest, &url, "list", &["--token", ""]).await;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("a token is empty"), "{errors}");
}
