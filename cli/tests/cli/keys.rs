//! Keys of tokens that change while the service runs.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    path::Path,
    sync::Arc,
};

use nix::sys::signal::Signal;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, Stream};

use crate::{
    common::{DataDir, Service, compliance, output, wait_until},
    observability::metrics,
};

/// Two Ed25519 keys (`x`), and for each a token of company 7 without an end. The private keys are gone.
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

/// Replaces the key set at once, as an issuer does.
fn write_key(path: &Path, x: &str) {
    let next = path.with_extension("next");
    fs::write(&next, format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}]}}"#)).unwrap();
    fs::rename(next, path).unwrap();
}

#[test]
fn two_secrets_are_accepted_while_they_are_rotated() {
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

/// An issuer whose certificate is of an authority of one's own.
#[test]
fn the_authority_of_an_issuer_can_be_given() {
    let data = DataDir::new();
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
            // Who does not trust the certificate leaves.
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
    // The caller is known, and there is no core.
    assert_eq!(gateway.request("GET", "/api/urls/1", FIRST.1, "").0, 503);
    fs::write(&authority, "nothing").unwrap();
    let (status, _, errors) = output(&mut command);
    assert!(status.code() == Some(2) && errors.contains("--jwks-ca"), "{errors}");
}

#[test]
fn tokens_of_a_replaced_key_are_refused_after_the_refresh() {
    let data = DataDir::new();
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
    assert!((runtime::unix_now().unwrap() - first) < 3600, "{first}");
    // 404: the caller is known, the URL is not.
    assert_eq!((status(FIRST.1), status(SECOND.1)), (404, 401));
    write_key(&file, SECOND.0);
    wait_until("the token of the previous key is refused", || status(FIRST.1) == 401);
    assert_eq!(status(SECOND.1), 404);
    wait_until("the time of the refresh is known", || loaded() > first);
    // A key set that cannot be read changes nothing.
    fs::write(&file, "{").unwrap();
    service.wait_for_log("the previous keys stay in use");
    assert!(failures() > 0);
    assert_eq!((status(FIRST.1), status(SECOND.1)), (401, 404));
}
