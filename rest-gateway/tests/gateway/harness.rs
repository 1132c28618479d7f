//! Starts gateways on their own ports, and sends requests to them.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use compliance_api::client::Clients;
use reqwest::{Method, RequestBuilder};
use rest_gateway::{RestConnections, Settings, router, serve};
use test_support::{RestClient, RestResponse};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::fake::Fake;

/// Maximum wait on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Returns settings with timeouts longer than any wait in a test.
pub(crate) fn patient() -> Settings {
    let long = 10 * PATIENCE;
    let connections = RestConnections {
        header_timeout: long,
        idle_timeout: long,
        shutdown_delay: Duration::ZERO,
        shutdown_grace: long,
        ..RestConnections::default()
    };
    Settings { connections, ..Settings::default() }
}

/// A running gateway.
pub(crate) struct Gateway {
    pub(crate) addr: SocketAddr,
    pub(crate) token: String,
    pub(crate) client: RestClient,
    pub(crate) shutdown: CancellationToken,
    pub(crate) served: JoinHandle<std::io::Result<()>>,
}

/// Returns clients for a core in the same process.
pub(crate) fn in_process(fake: &Fake) -> Clients {
    let (reporter, _) = tonic_health::server::health_reporter();
    let service = Arc::new(fake.clone());
    Clients {
        access: Arc::clone(&service) as _,
        affiliates: Arc::clone(&service) as _,
        urls: Arc::clone(&service) as _,
        cases: Arc::clone(&service) as _,
        monitoring: service.clone(),
        overview: service.clone(),
        vocabularies: service.clone(),
        syncs: service.clone(),
        erasures: service.clone(),
        changes: service.clone(),
        webhooks: service.clone(),
        audit: service,
        health: Arc::new(tonic_health::server::HealthService::from_health_reporter(reporter)),
    }
}

impl Gateway {
    /// Starts a gateway in front of a core in the same process.
    pub(crate) async fn with_core(fake: &Fake) -> Self {
        Self::start(in_process(fake), patient()).await
    }

    pub(crate) async fn start(clients: Clients, settings: Settings) -> Self {
        let verifier = test_support::verifier().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let end = shutdown.clone();
        let routes = router(clients, None, verifier, &settings);
        let served = tokio::spawn(async move { serve(listener, routes, &settings, end).await });
        let token = test_support::token(7);
        let client = RestClient::new(addr, Some(token.clone()));
        Self { addr, token, client, shutdown, served }
    }

    /// Returns a request without a token.
    pub(crate) fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.with_token(None).request_to(method.as_str(), path)
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request_to(method.as_str(), path)
    }

    pub(crate) async fn get(&self, path: &str) -> RestResponse {
        RestResponse::of(self.request(Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> RestResponse {
        RestResponse::of(self.request(Method::POST, path).body(body)).await
    }
}
