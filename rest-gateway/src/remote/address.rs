//! Resolves core addresses, opens connections to them, and reports connection failures.

use std::{
    collections::BTreeSet,
    error::Error,
    io,
    iter::successors,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use compliance_api::PrivateUrl;
use http::Uri;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use socket2::{SockRef, TcpKeepalive};
use telemetry::metrics::{count, describe};
use tls::{ClientTls, Failure, Reporting, TlsError};
use tokio::net::TcpStream;
use tokio_util::either::Either;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

use crate::{limits::KEEPALIVE, settings::Settings};

const FAILURES: &str = "compliance_gateway_connect_failures_total";
/// Failure reasons other than TLS.
const REASONS: [&str; 3] = ["refused", "unreachable", NOT_RESOLVED];
pub(super) const NOT_RESOLVED: &str = "name_not_resolved";

/// Why the gateway cannot connect to cores.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// A core's address is invalid.
    #[error("the core's address {url:?} must have the form http://host:port or https://host:port")]
    Address {
        /// The address, without its secrets.
        url: String,
    },
    /// Two addresses lead to the same core. Each core would count as two, which halves companies' rate limits.
    #[error("{first} and {second} are the same core: remove one of them")]
    Repeated {
        /// The first address, without its secrets.
        first: String,
        /// The second address, without its secrets.
        second: String,
    },
    /// The system's trusted certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// The address of one core, or of several cores behind one name.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// The name or IP address in the core's certificate.
    host: String,
    port: u16,
    /// The URI to connect to.
    uri: Uri,
    /// The configured URI, as sent to the core.
    origin: Uri,
    connect_timeout: Duration,
    /// Set for `https`.
    tls: Option<ClientTls>,
    /// Reason of the last logged failure, until the core serves again.
    logged: Arc<Mutex<Option<&'static str>>>,
}

impl Address {
    /// Parses comma-separated URLs. Fails if two of them have the same host and port.
    pub(super) fn parse_all(urls: &str, settings: &Settings) -> Result<Vec<Self>, RemoteError> {
        let mut all: Vec<Self> = Vec::new();
        for url in urls.split(',') {
            let address = Self::parse(url.trim(), settings)?;
            if let Some(first) = all.iter().find(|first| first.endpoint() == address.endpoint()) {
                return Err(RemoteError::Repeated { first: first.name(), second: address.name() });
            }
            all.push(address);
        }
        Ok(all)
    }

    fn parse(url: &str, settings: &Settings) -> Result<Self, RemoteError> {
        let wrong = || RemoteError::Address { url: PrivateUrl::from(url.to_owned()).to_string() };
        // Without this check, a Unix socket or a host without a scheme would pass.
        let is_secure = url.starts_with("https://");
        if !is_secure && !url.starts_with("http://") {
            return Err(wrong());
        }
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        // Accept only a host and a port: a user and a password would not be sent.
        let authority = uri.authority().ok_or_else(wrong)?;
        let port = authority.as_str().strip_prefix(authority.host()).ok_or_else(wrong)?;
        let is_port = port.is_empty() || authority.port_u16().is_some();
        if authority.host().is_empty() || port.contains('@') || !is_port {
            return Err(wrong());
        }
        let (host, port) = host_and_port(&uri);
        let tls = match &settings.core_tls {
            _ if !is_secure => None,
            Some(tls) => Some(tls.clone()),
            None => Some(ClientTls::load(None, None)?),
        };
        let (origin, connect_timeout) = (uri.clone(), settings.connect_timeout);
        Ok(Self { host, port, origin, uri, connect_timeout, tls, logged: Arc::default() })
    }

    pub(super) fn name(&self) -> String {
        self.uri.to_string()
    }

    /// Returns the host and port in a comparable form.
    pub(super) fn endpoint(&self) -> (String, u16) {
        let (host, port) = host_and_port(&self.uri);
        let ip = host.parse::<IpAddr>().map(|ip| ip.to_canonical().to_string());
        (ip.unwrap_or_else(|_| host.trim_end_matches('.').to_lowercase()), port)
    }

    /// Returns this address with one of its name's IP addresses.
    pub(super) fn at(&self, address: SocketAddr) -> Option<Self> {
        let uri = Uri::try_from(format!("{}://{address}", self.uri.scheme_str()?)).ok()?;
        Some(Self { uri, logged: Arc::default(), ..self.clone() })
    }

    /// Returns whether the host is a name, which can have several addresses.
    pub(super) fn is_name(&self) -> bool {
        self.host.parse::<IpAddr>().is_err()
    }

    /// Resolves the name to all its current addresses, at least one.
    pub(super) async fn resolve(&self) -> io::Result<BTreeSet<SocketAddr>> {
        let addresses: BTreeSet<_> = tokio::net::lookup_host((self.host.as_str(), self.port)).await?.collect();
        if addresses.is_empty() {
            Err(io::Error::other("the name does not resolve to an address"))
        } else {
            Ok(addresses)
        }
    }

    /// Returns a connection that opens on first use, and reopens after it breaks.
    ///
    /// An unread response buffers up to `window` bytes.
    pub(super) fn connect_lazy(&self, window: u32) -> Channel {
        let address = self.clone();
        // The endpoint's own connector loads a certificate only once, and does not report why a core closes a connection.
        let connector = service_fn(move |_| {
            let address = address.clone();
            async move {
                let stream = open(&address.uri).await?;
                let (host, tls) = (address.host.clone(), address.tls.clone());
                let report = move |failure: Failure, error: &io::Error| {
                    address.report_failure(&address.name(), failure.label(), error);
                };
                let stream = match tls {
                    Some(tls) => Either::Left(Reporting::secure(tls.connect(&host, stream).await?, report)),
                    None => Either::Right(Reporting::plain(stream, report)),
                };
                Ok::<_, io::Error>(TokioIo::new(stream))
            }
        });
        // With an `https` URI, the endpoint would add its own TLS if any crate in the build enables it.
        Endpoint::from(Uri::from_static("http://core"))
            .origin(self.origin.clone())
            .initial_stream_window_size(window)
            .connect_timeout(self.connect_timeout)
            .http2_keep_alive_interval(Duration::from_secs(15))
            .keep_alive_timeout(Duration::from_secs(10))
            .keep_alive_while_idle(true)
            // Each unread large page buffers up to one window. Request memory limits the number of pages.
            .initial_connection_window_size(128 << 20)
            // gRPC sends status details in headers.
            .http2_max_header_list_size(16 << 20)
            .connect_with_connector_lazy(connector)
    }

    /// Counts a connection that failed to open, or that the core closed. Logs it unless the last failure had the same reason.
    pub(super) fn report_failure(&self, core: &str, reason: &'static str, error: &(dyn Error + 'static)) {
        count(FAILURES, "reason", reason);
        if self.logged.lock().replace(reason) != Some(reason) {
            tracing::warn!(core, reason, error = tls::describe(error), "cannot connect to a core");
        }
    }

    /// Logs the next failure, whatever its reason.
    pub(super) fn recovered(&self) {
        *self.logged.lock() = None;
    }
}

fn host_and_port(uri: &Uri) -> (String, u16) {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    (host.to_owned(), port)
}

/// Opens a connection. The endpoint applies the timeout.
async fn open(uri: &Uri) -> io::Result<TcpStream> {
    // Connecting never fails with `NotFound`, so this kind identifies the failure.
    let not_resolved = |error| io::Error::new(io::ErrorKind::NotFound, format!("the name cannot be resolved: {error}"));
    let addresses: Vec<_> = tokio::net::lookup_host(host_and_port(uri)).await.map_err(not_resolved)?.collect();
    let stream = TcpStream::connect(&addresses[..]).await?;
    stream.set_nodelay(true)?;
    SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))?;
    Ok(stream)
}

pub(super) fn describe_failures() {
    let mut reasons: Vec<_> = Failure::ALL.iter().map(|failure| failure.label()).collect();
    reasons.extend(REASONS);
    describe(FAILURES, "Failed connections to cores, by reason.", "reason", &reasons);
}

/// Returns why a connection failed to open.
pub(super) fn failure_reason(error: &(dyn Error + 'static)) -> &'static str {
    if let Some(failure) = Failure::of(error) {
        return failure.label();
    }
    for error in successors(Some(error), |error| (*error).source()) {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return match error.kind() {
                io::ErrorKind::NotFound => NOT_RESOLVED,
                io::ErrorKind::ConnectionRefused => "refused",
                io::ErrorKind::TimedOut => "timeout",
                io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "unreachable",
                _ => Failure::of_handshake(error).label(),
            };
        }
    }
    Failure::Other.label()
}
