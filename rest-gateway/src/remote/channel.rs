//! A channel to a core on another machine: a small pool of HTTP/2 connections.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use compliance_api::PrivateUrl;
use futures::future::BoxFuture;
use tonic::{
    Status,
    body::Body,
    transport::{self, Endpoint},
};
use tower::{Service, ServiceExt as _};

use crate::Settings;

/// The address of the core is not one to connect to.
#[derive(Debug, thiserror::Error)]
#[error("the core's address {url:?} is not of the form http://host:port")]
pub struct RemoteError {
    url: String,
}

/// A channel to the core at `core_url` (`http://host:port`). Connections are made when they are first needed, and again
/// when they break.
pub fn connect(core_url: &str, settings: &Settings) -> Result<CoreChannel, RemoteError> {
    let wrong = || RemoteError { url: PrivateUrl::from(core_url.to_owned()).to_string() };
    // Other schemes would be taken for something: a Unix socket, a host without a scheme.
    if !core_url.starts_with("http://") {
        return Err(wrong());
    }
    let endpoint = Endpoint::from_shared(core_url.to_owned()).map_err(|_| wrong())?;
    // Nothing but a host and a port: a user and a password would not be sent.
    let authority = endpoint.uri().authority().ok_or_else(wrong)?;
    let port = authority.as_str().strip_prefix(authority.host()).ok_or_else(wrong)?;
    let is_port = port.is_empty() || authority.port_u16().is_some();
    if authority.host().is_empty() || port.contains('@') || !is_port {
        return Err(wrong());
    }
    let endpoint = endpoint
        .connect_timeout(settings.connect_timeout)
        .tcp_nodelay(true)
        .tcp_keepalive(Some(Duration::from_secs(30)))
        .http2_keep_alive_interval(Duration::from_secs(15))
        .keep_alive_timeout(Duration::from_secs(10))
        .keep_alive_while_idle(true)
        // Lists and batches are large; a window of 64 KiB would cost them a round trip for each 64 KiB.
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(8 << 20)
        // Statuses carry their details in headers.
        .http2_max_header_list_size(16 << 20);
    let connections = (0..settings.core_connections.max(1)).map(|_| endpoint.connect_lazy()).collect();
    Ok(CoreChannel { connections, next: Arc::default() })
}

/// Connections to one core, used in rotation. Clones share them.
#[derive(Clone, Debug)]
pub struct CoreChannel {
    connections: Arc<[transport::Channel]>,
    next: Arc<AtomicUsize>,
}

impl Service<http::Request<Body>> for CoreChannel {
    type Response = http::Response<Body>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Self::Response, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let index = self.next.fetch_add(1, Ordering::Relaxed) % self.connections.len();
        let connection = self.connections[index].clone();
        Box::pin(async move { connection.oneshot(request).await.map_err(unreachable_core) })
    }
}

/// A transport error means that the core cannot be reached, unless the deadline passed.
fn unreachable_core(error: transport::Error) -> Status {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    let mut text = String::new();
    while let Some(error) = source {
        if error.is::<tonic::TimeoutExpired>() {
            return Status::deadline_exceeded("the deadline passed");
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&error.to_string());
        source = error.source();
    }
    Status::unavailable(text)
}
