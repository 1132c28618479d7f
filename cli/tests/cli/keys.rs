//! Tests token keys that change while the service runs.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, Stream};

use crate::{
    common::{DataDir, Service, compliance, migrated, output, wait_until},
    observability::{metrics, status_of},
    programs::Programs,
};

/// Two Ed25519 keys (`x`), each with a token for company 7 that never expires. The private keys no longer exist.
const FIRST: (&str, &str) = (
    "Ynf0goelchueOQCh_N0XFwE1JwtS2Lty6HMqCyEgh3k",
    "eyJhbGciOiJFZERTQSJ9.eyJjb21wYW55X2lkIjo3LCJleHAiOjk5OTk5OTk5OTksImF1ZCI6ImFmZmlsaWF0ZS1jb21wbGlhbmNlIn0.\
     sPFTyo7n-lcgerlgMY6zsUBez0emvkOW8pnvAjJIAUR8IM7LeF-w2AlHQ9RG7q3u2NmCgrBWv0p2AzO5-9siCA",
);
const SECOND: (&str, &str) = (
    "BmpfATyCFhGO4RwcFhYyPwBPEu4AqkiVewSH5wkW09U",
    "eyJhbGciOiJFZERTQSJ9.eyJjb21wYW55X2lkIjo3LCJleHAiOjk5OTk5OTk5OTksImF1ZCI6ImFmZmlsaWF0ZS1jb21wbGlhbmNlIn0.\
     7YN4MP5TlMPQBZQWL8Z-uoXkbZOL7JY4mu0pGs8nR3NnVI0LWlDMazOdKp3hprbOWOqRT5ez-yf3ocJIK_3DAw",
);

/// Atomically replaces the key set, as an issuer does.
fn write_key(path: &Path, x: &str) {
    let next = path.with_extension("next");
    fs::write(&next, format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}]}}"#)).unwrap();
    fs::rename(next, path).unwrap();
}

#[test]
fn both_secrets_are_accepted_during_rotation() {
    let (data, secrets) = (DataDir::new(), ["0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"]);
    let token = |secret: &str| {
        let mut command = compliance(&data);
        let (status, token, errors) =
            output(command.args(["token", "--company", "7"]).env("COMPLIANCE_JWT_SECRET", secret));
        assert!(status.success(), "{errors}");
        token.trim().to_owned()
    };
    let tokens = secrets.map(token);
    let second = [("COMPLIANCE_JWT_SECRET", secrets[0]), ("COMPLIANCE_JWT_SECOND_SECRET", secrets[1])];
    let service = Service::start_as(compliance(&data).arg("serve").envs(second));
    for token in &tokens {
        assert_eq!(service.request("GET", "/api/urls/1", token, "").0, 404);
    }
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
    let service = Service::start_as(compliance(&data).arg("serve").env("COMPLIANCE_JWT_SECRET", secrets[1]));
    assert_eq!(tokens.map(|token| service.request("GET", "/api/urls/1", &token, "").0), [401, 404]);
}

/// The issuer's certificate is from a private authority.
#[test]
fn private_issuer_ca_is_configurable() {
    let data = migrated();
    fs::create_dir_all(data.path()).unwrap();
    let issuer = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (authority, certificate) = (data.path().join("authority.pem"), issuer.cert.der().clone());
    fs::write(&authority, issuer.cert.pem()).unwrap();
    let key = tokio_rustls::rustls::pki_types::PrivateKeyDer::Pkcs8(issuer.signing_key.serialize_der().into());
    let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}/keys", listener.local_addr().unwrap().port());
    let body = format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{}"}}]}}"#, FIRST.0);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = stream.unwrap();
            let mut tls = Stream::new(&mut connection, &mut stream);
            // Clients that do not trust the certificate disconnect.
            let Ok(1..) = tls.read(&mut [0; 4096]) else { continue };
            let _ = write!(tls, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
            tls.conn.send_close_notify();
            let _ = tls.flush();
        }
    });
    let mut command = compliance(&data);
    command.args(["gateway", "--core-url", "http://127.0.0.1:9", "--jwks-url", &url]);
    let (status, _, errors) = output(&mut command);
    assert!(status.code() == Some(1) && errors.contains("certificate"), "{errors}");
    let gateway = Service::start_as(command.arg("--jwks-ca").arg(&authority));
    // The token is valid, but the gateway has no core.
    assert_eq!(gateway.request("GET", "/api/urls/1", FIRST.1, "").0, 503);
    fs::write(&authority, "nothing").unwrap();
    let (status, _, errors) = output(&mut command);
    assert!(status.code() == Some(2) && errors.contains("--jwks-ca"), "{errors}");
}

#[test]
fn refreshed_key_set_rejects_replaced_keys() {
    let data = migrated();
    fs::create_dir_all(data.path()).unwrap();
    let file = data.path().join("keys.json");
    write_key(&file, FIRST.0);
    let mut command = compliance(&data);
    command.args(["serve", "--admin-addr", "127.0.0.1:0", "--jwks-refresh", "1s", "--jwks-file"]).arg(&file);
    let service = Service::start_as(&mut command);
    let status = |token: &str| service.request("GET", "/api/urls/1", token, "").0;
    let failures = || metrics(service.admin)["compliance_token_key_refresh_failures_total"];
    let loaded = || metrics(service.admin)["compliance_token_keys_loaded_timestamp_seconds"];
    let first = loaded();
    assert_eq!(failures(), 0);
    assert!((test_support::now() - first) < 3600, "{first}");
    // 404: the token is valid, but the URL is unknown.
    assert_eq!((status(FIRST.1), status(SECOND.1)), (404, 401));
    write_key(&file, SECOND.0);
    let replaced = Instant::now();
    wait_until("the service rejects the previous key's token", || status(FIRST.1) == 401);
    // The refresh interval, plus ten seconds for the download.
    assert!(replaced.elapsed() < Duration::from_secs(1 + 10), "{:?}", replaced.elapsed());
    assert_eq!(status(SECOND.1), 404);
    wait_until("the metric shows the refresh time", || loaded() > first);
    // An unreadable key set changes nothing.
    fs::write(&file, "{").unwrap();
    service.wait_for_log("the previous keys stay in use");
    assert!(failures() > 0);
    assert_eq!((status(FIRST.1), status(SECOND.1)), (401, 404));
}

/// Serves a replaceable key set over HTTP, and counts the fetches.
struct Issuer {
    url: String,
    keys: Arc<Mutex<String>>,
    fetched: Arc<AtomicUsize>,
}

fn key_set(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|x| format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}"#)).collect();
    format!(r#"{{"keys":[{}]}}"#, keys.join(","))
}

impl Issuer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let (keys, fetched) = (Arc::new(Mutex::new(key_set(&[FIRST.0]))), Arc::new(AtomicUsize::new(0)));
        let (served, counted) = (Arc::clone(&keys), Arc::clone(&fetched));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                counted.fetch_add(1, Ordering::SeqCst);
                let body = served.lock().unwrap().clone();
                let length = body.len();
                let _ =
                    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
            }
        });
        Self { url, keys, fetched }
    }

    fn fetched(&self) -> usize {
        self.fetched.load(Ordering::SeqCst)
    }
}

#[test]
fn gateway_log_names_different_token_keys() {
    let programs = Programs::new();
    let core =
        Service::start_as(programs.core(&[]).env("COMPLIANCE_JWT_SECRET", "another-0123456789abcdef0123456789abcdef"));
    let gateway = Service::start_as(&mut programs.gateway_of(&[core.grpc], &[]));
    assert_eq!(status_of(gateway.rest, "/api/urls", &crate::programs::token()), 401);
    gateway.wait_for_log("compare the token settings and the clocks of gateway and core");
    // A token that the gateway itself rejects is not compared.
    assert_eq!(status_of(gateway.rest, "/api/urls", FIRST.1), 401);
    assert!(!gateway.logged().join("\n").contains("compare the token keys"));
}

/// Each tier fetches the key set once for the first token with a new key. Tokens with unknown keys cause few fetches.
#[test]
fn both_tiers_fetch_new_keys_on_demand() {
    let issuer = Issuer::start();
    let programs = Programs::new();
    let settings = ["--jwks-url", &issuer.url, "--admin-addr", "127.0.0.1:0"];
    let core = Service::start_as(&mut programs.core(&settings));
    let gateway = Service::start_as(&mut programs.gateway_of(&[core.grpc], &settings));
    let rest = gateway.rest;
    let status = |path: &str, token: &str| status_of(rest, path, token);
    // A single read, which the gateway sends to the core in a batch, and a list.
    assert_eq!((status("/api/urls/1", FIRST.1), status("/api/urls", FIRST.1)), (404, 200));
    assert_eq!(issuer.fetched(), 2, "each process fetches the key set once");
    *issuer.keys.lock().unwrap() = key_set(&[FIRST.0, SECOND.0]);
    assert_eq!((status("/api/urls/1", SECOND.1), status("/api/urls", SECOND.1)), (404, 200));
    assert_eq!(issuer.fetched(), 4);
    assert_eq!(status("/api/urls", FIRST.1), 200);

    // A flood of tokens with unknown keys does not delay other callers. Their header is `{"alg":"EdDSA","kid":"unknown"}`.
    let unknown = SECOND.1.replacen("eyJhbGciOiJFZERTQSJ9", "eyJhbGciOiJFZERTQSIsImtpZCI6InVua25vd24ifQ", 1);
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..20).for_each(|_| assert_eq!(status("/api/urls", &unknown), 401)));
        }
        assert_eq!(status("/api/urls", FIRST.1), 200);
    });
    let allowed = 4 + 1 + started.elapsed().as_secs() as usize / 10;
    assert!(issuer.fetched() <= allowed, "{} fetches, {allowed} allowed", issuer.fetched());
}
