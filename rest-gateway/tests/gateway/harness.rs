//! A gateway on a port of its own, and the requests to it.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use compliance_api::{
    client::{AccessClient, AffiliateClient, Clients, ComplianceCaseClient, ComplianceUrlClient, HealthClient},
    token::{Claims, KeySource, Secret, Verifier, issue},
};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use rest_gateway::{Settings, router, serve};
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::fake::Fake;

/// A gateway that runs.
pub(crate) struct Gateway {
    pub(crate) addr: SocketAddr,
    pub(crate) token: String,
    pub(crate) client: reqwest::Client,
    pub(crate) shutdown: CancellationToken,
    pub(crate) served: JoinHandle<std::io::Result<()>>,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) async fn of(response: Response) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        Self { status, headers, text: response.text().await.unwrap() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The paths that a validation failure names.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.json()["errors"].as_object().unwrap().keys().cloned().collect()
    }
}

pub(crate) fn secret() -> Secret {
    Secret::new([7; 32]).unwrap()
}

pub(crate) fn token(ttl: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    issue(&secret(), &Claims::new(7, now, ttl)).unwrap()
}

/// The core in the same process.
pub(crate) fn in_process(fake: &Fake) -> Clients {
    let (reporter, _) = tonic_health::server::health_reporter();
    let service = Arc::new(fake.clone());
    Clients {
        access: AccessClient::local(Arc::clone(&service) as _),
        affiliates: AffiliateClient::local(Arc::clone(&service) as _),
        urls: ComplianceUrlClient::local(Arc::clone(&service) as _),
        cases: ComplianceCaseClient::local(service),
        health: HealthClient::local(tonic_health::server::HealthService::from_health_reporter(reporter)),
    }
}

impl Gateway {
    /// In front of a core in the same process, with limits as usual.
    pub(crate) async fn before(fake: &Fake) -> Self {
        Self::start(in_process(fake), Settings::default()).await
    }

    pub(crate) async fn start(clients: Clients, settings: Settings) -> Self {
        let source = KeySource { secret: Some(secret()), ..KeySource::default() };
        let verifier = Arc::new(Verifier::new(source, None).await.unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let token = shutdown.clone();
        let routes = router(clients, verifier, &settings);
        let served = tokio::spawn(async move { serve(listener, routes, &settings, token).await });
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_mins(1)).build().unwrap();
        Self { addr, token: self::token(600), client, shutdown, served }
    }

    /// A request without a token.
    pub(crate) fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("http://{}{path}", self.addr))
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.bare(method, path).bearer_auth(&self.token)
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path).send().await.unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        Answer::of(self.request(Method::POST, path).body(body).send().await.unwrap()).await
    }

    pub(crate) async fn put(&self, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        Answer::of(self.request(Method::PUT, path).body(body).send().await.unwrap()).await
    }
}
