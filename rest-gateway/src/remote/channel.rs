//! A channel to the cores: a call goes to the core that is least busy, and to another one if that one did not process it.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use compliance_api::deadline::grpc_timeout;
use futures::future::BoxFuture;
use tokio::time::Instant;
use tonic::{Status, body::Body};
use tower::Service;

use super::{address::Address, cores::Cores, discovery, replay::Replay, retry::Failure};
use crate::Settings;

pub use super::address::RemoteError;

/// A channel to the cores at `core_urls` (`http://host:port` or `https://host:port`, several separated by commas). A name may have several
/// addresses. Connections are made when they are first needed, and again when they break.
///
/// To be called within a Tokio runtime, which watches the cores.
pub fn connect(core_urls: &str, settings: &Settings) -> Result<CoreChannel, RemoteError> {
    let addresses = Address::parse_all(core_urls, settings)?;
    let cores = Arc::new(Cores::new(&addresses, settings));
    discovery::start(&cores, addresses);
    Ok(CoreChannel { cores })
}

/// Connections to all cores. Clones share them.
#[derive(Clone, Debug)]
pub struct CoreChannel {
    cores: Arc<Cores>,
}

impl Service<http::Request<Body>> for CoreChannel {
    type Response = http::Response<Body>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Self::Response, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(call(Arc::clone(&self.cores), request))
    }
}

/// Sends a call until it has a response, may not be sent again, or was sent to every core and over every connection of one of
/// them: whatever closes one connection of a core often closes the others, too, which is not noticed before they are used.
async fn call(cores: Arc<Cores>, request: http::Request<Body>) -> Result<http::Response<Body>, Status> {
    // The core's time is over when the caller's is, however many cores are tried.
    let deadline = grpc_timeout(request.headers()).map(|timeout| Instant::now() + timeout);
    let mut replay = Replay::new(request)?;
    let mut unreachable = Vec::new();
    let mut last_error = None;
    let mut attempts = cores.len() + cores.connections();
    while attempts > 0
        && let Some(core) = cores.pick(&unreachable)
        && let Some(request) = replay.request(deadline.map(|deadline| deadline - Instant::now()))
    {
        attempts -= 1;
        match core.call(request).await {
            Ok(response) => return Ok(response),
            Err(error) => {
                let failure = Failure::of(&error);
                if failure == Failure::Deadline {
                    return Err(Status::deadline_exceeded("the deadline passed"));
                }
                cores.failed(&core);
                let error = Status::unavailable(format!("{}: {}", core.name(), text(&error)));
                if !failure.allows_retry(replay.path()) {
                    return Err(error);
                }
                tracing::debug!(error = error.message(), path = replay.path(), "a call is sent again");
                if failure == Failure::NotConnected {
                    unreachable.push(core);
                }
                last_error = Some(error);
            }
        }
    }
    Err(last_error.unwrap_or_else(|| Status::unavailable("there is no core")))
}

/// An error and its causes.
fn text(error: &dyn std::error::Error) -> String {
    let (mut text, mut source) = (error.to_string(), error.source());
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
