//! The addresses of cores, and how connections to them are made.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use compliance_api::PrivateUrl;
use http::Uri;
use hyper_util::rt::TokioIo;
use socket2::{SockRef, TcpKeepalive};
use tls::{ClientTls, Failure, Reporting, TlsError};
use tokio::net::TcpStream;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

use super::unreachable::{self, NotResolved};
use crate::{limits::KEEPALIVE, settings::Settings};

/// Cores cannot be connected to.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The address of a core is none.
    #[error("the core's address {url:?} is not of the form http://host:port or https://host:port")]
    Address {
        /// The address, without its secrets.
        url: String,
    },
    /// The certificates that the system trusts cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Where a core is, or several under one name.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// The name or address that the core's certificate must be of.
    host: String,
    port: u16,
    /// Where connections are made to.
    uri: Uri,
    /// The name that was given, which the core sees.
    origin: Uri,
    connect_timeout: Duration,
    /// For `https`.
    tls: Option<ClientTls>,
}

impl Address {
    /// Reads URLs that are separated by commas.
    pub(super) fn parse_all(urls: &str, settings: &Settings) -> Result<Vec<Self>, RemoteError> {
        urls.split(',').map(|url| Self::parse(url.trim(), settings)).collect()
    }

    fn parse(url: &str, settings: &Settings) -> Result<Self, RemoteError> {
        let wrong = || RemoteError::Address { url: PrivateUrl::from(url.to_owned()).to_string() };
        // Other schemes would be taken for something: a Unix socket, a host without a scheme.
        let is_secure = url.starts_with("https://");
        if !is_secure && !url.starts_with("http://") {
            return Err(wrong());
        }
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        // Nothing but a host and a port: a user and a password would not be sent.
        let authority = uri.authority().ok_or_else(wrong)?;
        let (host, port) = (authority.host(), authority.as_str().strip_prefix(authority.host()).ok_or_else(wrong)?);
        let is_port = port.is_empty() || authority.port_u16().is_some();
        if host.is_empty() || port.contains('@') || !is_port {
            return Err(wrong());
        }
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let connect_timeout = settings.connect_timeout;
        let tls = match &settings.core_tls {
            _ if !is_secure => None,
            Some(tls) => Some(tls.clone()),
            None => Some(ClientTls::load(None, None)?),
        };
        Ok(Self { host, port, origin: uri.clone(), uri, connect_timeout, tls })
    }

    pub(super) fn name(&self) -> String {
        self.uri.to_string()
    }

    /// One of the addresses that the name stands for.
    pub(super) fn at(&self, address: SocketAddr) -> Option<Self> {
        let uri = Uri::try_from(format!("{}://{address}", self.uri.scheme_str()?)).ok()?;
        Some(Self { uri, ..self.clone() })
    }

    /// Whether the host is a name, which may stand for several addresses.
    pub(super) fn is_name(&self) -> bool {
        self.host.parse::<IpAddr>().is_err()
    }

    /// Every address that the name stands for now.
    pub(super) async fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((self.host.as_str(), self.port)).await?.collect())
    }

    /// A connection, made when it is first needed, and again when it breaks. A response that is not read keeps up to a window.
    pub(super) fn connect_lazy(&self, window: u32) -> Channel {
        // The endpoint's own connector knows one certificate for good, and not why a core ends a connection. An `https` URI would make
        // it add a TLS of its own, if any crate of the build enables that.
        let endpoint = self.endpoint(Uri::from_static("http://core"), window);
        let (host, uri) = (self.host.clone(), self.uri.clone());
        match self.tls.clone() {
            Some(tls) => endpoint.connect_with_connector_lazy(service_fn(move |_| {
                let (tls, host, uri) = (tls.clone(), host.clone(), uri.clone());
                async move {
                    Ok::<_, io::Error>(TokioIo::new(Reporting::secure(
                        tls.connect(&host, open(&uri).await?).await?,
                        reporter(&uri),
                    )))
                }
            })),
            None => endpoint.connect_with_connector_lazy(service_fn(move |_| {
                let uri = uri.clone();
                async move { Ok::<_, io::Error>(TokioIo::new(Reporting::plain(open(&uri).await?, reporter(&uri)))) }
            })),
        }
    }

    fn endpoint(&self, uri: Uri, window: u32) -> Endpoint {
        Endpoint::from(uri)
            .origin(self.origin.clone())
            .initial_stream_window_size(window)
            .connect_timeout(self.connect_timeout)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(KEEPALIVE))
            .http2_keep_alive_interval(Duration::from_secs(15))
            .keep_alive_timeout(Duration::from_secs(10))
            .keep_alive_while_idle(true)
            // Large pages that nobody reads keep up to a window each. The memory of requests bounds their number.
            .initial_connection_window_size(128 << 20)
            // Statuses carry their details in headers.
            .http2_max_header_list_size(16 << 20)
    }
}

/// Opens a connection. The endpoint bounds the time that it takes.
async fn open(uri: &Uri) -> io::Result<TcpStream> {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    let addresses: Vec<_> = tokio::net::lookup_host((host, port)).await.map_err(NotResolved::of)?.collect();
    let stream = TcpStream::connect(&addresses[..]).await?;
    stream.set_nodelay(true)?;
    SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))?;
    Ok(stream)
}

/// Reports what ends a connection.
fn reporter(uri: &Uri) -> impl FnOnce(Failure, &io::Error) + Unpin + Send + use<> {
    let core = uri.to_string();
    move |failure, error| unreachable::report(&core, failure.label(), error)
}
