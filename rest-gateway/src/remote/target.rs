//! How connections to one address of a core are made.

use std::{io, time::Duration};

use http::Uri;
use hyper_util::rt::TokioIo;
use socket2::{SockRef, TcpKeepalive};
use tls::ClientTls;
use tokio::net::TcpStream;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

/// After how much silence the system asks whether the peer is still there.
pub(super) const KEEPALIVE: Duration = Duration::from_secs(30);

/// One address of a core.
#[derive(Clone, Debug)]
pub(super) struct Target {
    endpoint: Endpoint,
    secure: Option<Secure>,
}

/// What a secure connection needs.
#[derive(Clone, Debug)]
pub(super) struct Secure {
    pub(super) tls: ClientTls,
    /// The name or address that the core's certificate must be of.
    pub(super) host: String,
}

impl Target {
    pub(super) fn new(endpoint: Endpoint, secure: Option<Secure>) -> Self {
        Self { endpoint, secure }
    }

    /// The same, with these windows of HTTP/2.
    pub(super) fn with_windows(&self, stream: u32, connection: u32) -> Self {
        let endpoint = self.endpoint.clone();
        let endpoint = endpoint.initial_stream_window_size(stream).initial_connection_window_size(connection);
        Self { endpoint, secure: self.secure.clone() }
    }

    /// A connection, which is made when it is first needed, and again when it breaks.
    pub(super) fn connect_lazy(&self) -> Channel {
        let Some(secure) = self.secure.clone() else { return self.endpoint.connect_lazy() };
        // The endpoint's own connector knows one certificate for good.
        self.endpoint.connect_with_connector_lazy(service_fn(move |uri| connect(secure.clone(), uri)))
    }
}

/// The endpoint bounds the time that it takes.
async fn connect(
    Secure { tls, host }: Secure,
    uri: Uri,
) -> io::Result<TokioIo<tokio_rustls::client::TlsStream<TcpStream>>> {
    let address = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((address, uri.port_u16().unwrap_or(443))).await?;
    stream.set_nodelay(true)?;
    SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))?;
    Ok(TokioIo::new(tls.connect(&host, stream).await?))
}
