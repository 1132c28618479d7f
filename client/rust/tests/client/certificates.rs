//! Tests TLS and mutual TLS.

use std::{fs, time::Duration};

use compliance_client::{Builder, Client, Error, Retries, v1::CheckAccessRequest};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use test_support::{DataDir, token};
use tls::{IdentityFiles, ServerTls};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::Service;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Returns a certificate and its key, in PEM.
fn issue(authority: &Authority) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    (params.signed_by(&key, authority).unwrap().pem(), key.serialize_pem())
}

/// Starts a TLS proxy in front of a service. Clients need a certificate from the authority.
async fn secure(service: &Service, authority: &Authority) -> (u16, JoinSet<()>) {
    let folder = DataDir::new();
    fs::create_dir(folder.path()).unwrap();
    let file = |name: &str, pem: &str| {
        fs::write(folder.path().join(name), pem).unwrap();
        folder.path().join(name)
    };
    let (certificate, key) = issue(authority);
    let files = IdentityFiles { certificate: file("own.pem", &certificate), key: file("key.pem", &key) };
    let tls = ServerTls::load(files, Some(file("ca.pem", &authority.pem())), &["h2"]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, address) = (listener.local_addr().unwrap().port(), service.address);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((client, _)) = listener.accept().await {
            let tls = tls.clone();
            connections.spawn(async move {
                if let Ok(mut client) = tls.accept(client).await {
                    let mut service = TcpStream::connect(address).await.unwrap();
                    let _ = copy_bidirectional(&mut client, &mut service).await;
                }
            });
        }
    });
    (port, tasks)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mutual_tls_requires_trusted_certificates() {
    let service = Service::start().await;
    let [ours, other] = ["ours", "other"].map(authority);
    let (port, _listening) = secure(&service, &ours).await;
    let builder = || {
        let builder = Client::builder(format!("https://localhost:{port}")).token(token(service.company));
        builder.connect_timeout(Duration::from_mins(1)).deadline(Duration::from_mins(2)).retries(Retries::none())
    };
    let identity = |builder: Builder, authority| {
        let (certificate, key) = issue(authority);
        builder.client_certificate(certificate, key)
    };
    let known = identity(builder().ca_certificate(ours.pem()), &ours).build().unwrap();
    assert_eq!(known.call(CheckAccessRequest {}).await.unwrap().company_id, service.company);

    let refused = [
        (builder().ca_certificate(ours.pem()), ""),
        (identity(builder().ca_certificate(ours.pem()), &other), ""),
        (identity(builder().ca_certificate(other.pem()), &ours), "invalid peer certificate"),
    ];
    for (builder, reason) in refused {
        let error = builder.build().unwrap().call(CheckAccessRequest {}).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable { .. }) && error.to_string().contains(reason), "{error:?}");
    }

    // The service's alert can arrive after a broken connection, which the client retries.
    let secure = |port: u16| Client::builder(format!("https://localhost:{port}")).token(token(service.company));
    let permanent = [
        (secure(port).ca_certificate(ours.pem()), "the service requires a client certificate"),
        (identity(secure(port).ca_certificate(other.pem()), &ours), "the service's certificate is not valid"),
        (secure(service.address.port()).ca_certificate(ours.pem()), "the port does not use TLS"),
    ];
    for (builder, reason) in permanent {
        let client = builder.connect_timeout(Duration::from_mins(1)).deadline(Duration::from_mins(2)).build().unwrap();
        let error = client.call(CheckAccessRequest {}).await.unwrap_err();
        assert!(!error.is_temporary() && error.to_string().contains(reason), "{error:?}");
    }
}
