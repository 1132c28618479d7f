//! Tests the client against a real core, over real sockets and broken networks.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "the test's runtime aborts its tasks")]

mod calls;
mod certificates;
mod lists;
mod tokens;

use std::net::SocketAddr;

use compliance_client::{
    Builder, Client,
    v1::{ObserveUrlsRequest, UrlObservation},
};
use core_server::{CoreSettings, access::RateLimit};
use test_support::{TestCore, fresh_database, new_company, token};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A core on its own port, and a company.
struct Service {
    address: SocketAddr,
    company: i64,
    _shutdown: DropGuard,
}

impl Service {
    async fn start() -> Self {
        Self::limited(RateLimit::Off).await
    }

    async fn limited(rate_limit: RateLimit) -> Self {
        Self::with(CoreSettings { rate_limit, ..CoreSettings::default() }).await
    }

    async fn with(settings: CoreSettings) -> Self {
        let TestCore { core, .. } = TestCore::with_settings(fresh_database().await.options, 8, settings).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let end = shutdown.clone();
        tokio::spawn(async move { core.serve(listener, end).await });
        Self { address, company: new_company(), _shutdown: shutdown.drop_guard() }
    }

    /// Returns a client for the company, with every scope.
    fn client(&self) -> Client {
        self.client_at(self.address).build().unwrap()
    }

    /// Returns a builder for the same client at this address.
    fn client_at(&self, address: SocketAddr) -> Builder {
        Client::builder(format!("http://{address}")).token(token(self.company))
    }
}

/// Returns observations of `count` URLs, each of about `bytes` bytes.
fn observations(count: usize, bytes: usize) -> ObserveUrlsRequest {
    let observation = |number| UrlObservation {
        url: Some(format!("https://example.org/{number}")),
        note: Some("x".repeat(bytes)),
        ..UrlObservation::default()
    };
    ObserveUrlsRequest { observations: (0..count).map(observation).collect() }
}
