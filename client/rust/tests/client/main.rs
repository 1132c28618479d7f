//! The client against a real core over real sockets, with networks that break.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, reason = "tasks of tests end with them")]

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
        let settings = CoreSettings { rate_limit, ..CoreSettings::default() };
        let TestCore { core, .. } = TestCore::with_settings(fresh_database().await.options, 8, settings).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let end = shutdown.clone();
        tokio::spawn(async move { core.serve(listener, end).await });
        Self { address, company: new_company(), _shutdown: shutdown.drop_guard() }
    }

    /// Returns a client of the company with every scope.
    fn client(&self) -> Client {
        self.client_at(self.address).build().unwrap()
    }

    /// Returns the same client for another listener.
    fn client_at(&self, address: SocketAddr) -> Builder {
        Client::builder(format!("http://{address}")).token(token(self.company))
    }
}

/// Returns observations of this number of URLs, each of about this many bytes.
fn observations(count: usize, bytes: usize) -> ObserveUrlsRequest {
    let observation = |number| UrlObservation {
        url: Some(format!("https://example.org/{number}")),
        note: Some("x".repeat(bytes)),
        ..UrlObservation::default()
    };
    ObserveUrlsRequest { observations: (0..count).map(observation).collect() }
}
