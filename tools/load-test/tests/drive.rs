//! Load on both layers of a small service, through the program itself.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, reason = "tasks of tests end with them")]

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    process::{Command, Output},
};

use load_test::target::{HTTP1, HTTP2};
use serde_json::Value;
use test_support::{DataDir, Options, TestService, token};
use tls::{IdentityFiles, ServerTls};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};

const COMPANY: i64 = 1;

/// Runs the program against a service. Returns the result in its file, and its output.
async fn load(folder: &Path, service: &TestService, layer: &str, scenario: &str, more: &[&str]) -> (Value, Output) {
    // On a busy machine, one call may take longer than a second.
    for duration in ["1", "10"] {
        let (result, output) = load_for(duration, folder, service, layer, scenario, more).await;
        if requests(&result) > 0 {
            return (result, output);
        }
    }
    load_for("60", folder, service, layer, scenario, more).await
}

fn requests(result: &Value) -> u64 {
    result["requests"].as_u64().unwrap_or_default()
}

async fn load_for(
    duration: &str,
    folder: &Path,
    service: &TestService,
    layer: &str,
    scenario: &str,
    more: &[&str],
) -> (Value, Output) {
    let target = format!("http://{}", if layer == "rest" { service.rest } else { service.grpc });
    load_at(&target, duration, folder, layer, scenario, more).await
}

async fn load_at(
    target: &str,
    duration: &str,
    folder: &Path,
    layer: &str,
    scenario: &str,
    more: &[&str],
) -> (Value, Output) {
    let file = folder.join(format!("{layer}-{scenario}.json"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_load-test"));
    command.args([layer, "--scenario", scenario, "--duration", duration, "--warm-up", "0"]);
    if !more.contains(&"--connection-per-company") {
        command.args(["--connections", "4"]);
    }
    command.args(["--target", target, "--token", &token(COMPANY), "--json"]);
    command.arg(&file).args(if more.contains(&"--runs") { &[][..] } else { &["--runs", "1"] }).args(more);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let result = fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
    eprintln!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (result.unwrap_or_default(), output)
}

/// A service whose company has 300 affiliates.
async fn service(options: Options) -> TestService {
    let service = TestService::with(options).await;
    let affiliates = "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
        select $1, 'A' || n, 'Affiliate ' || n from generate_series(1, 300) n";
    sqlx::query(affiliates).bind(COMPANY).execute(&service.pool).await.unwrap();
    service
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_limit_makes_a_run_void() {
    let results = DataDir::new();
    fs::create_dir(results.path()).unwrap();
    for layer in ["rest", "grpc"] {
        // Finding the records takes three requests.
        let service = service(Options { rate_limit: "4/m".parse().unwrap(), ..Options::default() }).await;
        // An existing result does not change.
        let file = results.path().join(format!("{layer}-list.json"));
        fs::write(&file, "earlier").unwrap();
        let (_, output) = load_for("1", results.path(), &service, layer, "list", &[]).await;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains("--rate-limit off"), "{layer}: {errors}");
        let status =
            if layer == "rest" { "status 429 Too Many Requests" } else { "gRPC status 8 (ResourceExhausted): " };
        assert!(errors.contains(status) && !errors.contains("%20"), "{layer}: {errors}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "earlier");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_layers_respond_under_load() {
    let service = service(Options::default()).await;
    let results = DataDir::new();
    let folder = results.path();
    fs::create_dir(folder).unwrap();
    for layer in ["rest", "grpc"] {
        for scenario in ["point-read", "list", "update", "url-add-one", "mixed"] {
            let (result, output) = load(folder, &service, layer, scenario, &[]).await;
            assert!(output.status.success(), "{layer} {scenario}");
            assert!(requests(&result) > 0, "{layer} {scenario}");
        }
    }
    // The only company has the only connection, so it makes all requests.
    let (result, _) = load(folder, &service, "rest", "update", &["--connection-per-company"]).await;
    assert_eq!(result["of_a_company"], serde_json::json!([requests(&result), requests(&result)]));
    // A result can be the baseline of later runs.
    let baseline = folder.join("rest-point-read.json");
    let baseline = baseline.to_str().unwrap();
    let repeated = load(folder, &service, "rest", "point-read", &["--baseline", baseline, "--runs", "2"]).await;
    assert!(repeated.1.status.success() && repeated.0["runs"].as_array().is_some_and(|runs| runs.len() == 2));
    let text = String::from_utf8(repeated.1.stdout).unwrap();
    assert!(
        text.contains("noise") && text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)),
        "{text}"
    );
    // A result of another load cannot, and a worse result does not replace it.
    let (_, other) = load_for("1", folder, &service, "grpc", "point-read", &["--baseline", baseline]).await;
    assert!(!other.status.success() && String::from_utf8_lossy(&other.stderr).contains("another load"));
    let mut faster: Value = serde_json::from_slice(&fs::read(baseline).unwrap()).unwrap();
    faster["requests_per_second"] = 1e9.into();
    fs::write(baseline, faster.to_string()).unwrap();
    let more = ["--baseline", baseline, "--fail-on-regression"];
    let (kept, output) = load_for("1", folder, &service, "rest", "point-read", &more).await;
    assert!(!output.status.success() && kept == faster, "{kept}");
}

/// Opens a TLS port in front of a service, and returns its URL.
async fn secured(service: SocketAddr, identity: &IdentityFiles) -> String {
    let tls = ServerTls::load(identity.clone(), None, &[HTTP2, HTTP1]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let tls = tls.clone();
            tokio::spawn(async move {
                let Ok(mut client) = tls.accept(client).await else { return };
                let mut service = TcpStream::connect(service).await.unwrap();
                // Either side may close the connection.
                let _ = copy_bidirectional(&mut client, &mut service).await;
            });
        }
    });
    format!("https://localhost:{port}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_with_a_certificate_responds_under_load() {
    let service = service(Options::default()).await;
    let results = DataDir::new();
    let folder = results.path();
    fs::create_dir(folder).unwrap();
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let identity = IdentityFiles { certificate: folder.join("certificate.pem"), key: folder.join("key.pem") };
    fs::write(&identity.certificate, issued.cert.pem()).unwrap();
    fs::write(&identity.key, issued.signing_key.serialize_pem()).unwrap();
    let ca = ["--ca", identity.certificate.to_str().unwrap()];
    for (layer, address) in [("rest", service.rest), ("grpc", service.grpc)] {
        let target = secured(address, &identity).await;
        let (result, output) = load_at(&target, "10", folder, layer, "point-read", &ca).await;
        assert!(output.status.success() && requests(&result) > 0, "{layer}");
        assert!(result["generator"].as_f64().is_some_and(|used| used > 0.0), "{result}");
        // Without the file, the certificate is not trusted.
        let (_, refused) = load_at(&target, "1", folder, layer, "point-read", &[]).await;
        let errors = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && errors.contains("no secure connection to localhost:"), "{errors}");
    }
}
