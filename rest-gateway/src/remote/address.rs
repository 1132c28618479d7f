//! The addresses of cores.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use compliance_api::PrivateUrl;
use http::Uri;
use tls::{ClientFiles, ClientTls, TlsError};
use tonic::transport::Endpoint;

use super::target::{KEEPALIVE, Secure, Target};
use crate::Settings;

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
    host: String,
    port: u16,
    uri: Uri,
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
        let endpoint = Endpoint::from_shared(url.to_owned()).map_err(|_| wrong())?;
        // Nothing but a host and a port: a user and a password would not be sent.
        let authority = endpoint.uri().authority().ok_or_else(wrong)?;
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
            None => Some(ClientTls::load(ClientFiles::default())?),
        };
        Ok(Self { host, port, uri: endpoint.uri().clone(), connect_timeout, tls })
    }

    /// As it was given.
    pub(super) fn name(&self) -> String {
        self.uri.to_string()
    }

    /// Whatever the name stands for when a connection is made.
    pub(super) fn target(&self) -> Target {
        self.target_of(self.endpoint_of(self.uri.clone()))
    }

    /// One of the addresses that the name stands for.
    pub(super) fn target_at(&self, address: SocketAddr) -> Option<Target> {
        let scheme = self.uri.scheme_str()?;
        let uri = Uri::try_from(format!("{scheme}://{address}")).ok()?;
        // The core still sees the name that was asked for.
        Some(self.target_of(self.endpoint_of(uri).origin(self.uri.clone())))
    }

    fn target_of(&self, endpoint: Endpoint) -> Target {
        Target::new(endpoint, self.tls.clone().map(|tls| Secure { tls, host: self.host.clone() }))
    }

    fn endpoint_of(&self, uri: Uri) -> Endpoint {
        Endpoint::from(uri)
            .connect_timeout(self.connect_timeout)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(KEEPALIVE))
            .http2_keep_alive_interval(Duration::from_secs(15))
            .keep_alive_timeout(Duration::from_secs(10))
            .keep_alive_while_idle(true)
            // Lists and batches are large; a window of 64 KiB would cost them a round trip for each 64 KiB.
            .initial_stream_window_size(1 << 20)
            // Large pages that nobody reads keep up to a window each. The memory of requests bounds their number.
            .initial_connection_window_size(128 << 20)
            // Statuses carry their details in headers.
            .http2_max_header_list_size(16 << 20)
    }

    /// Whether the host is a name, which may stand for several addresses.
    pub(super) fn is_name(&self) -> bool {
        self.host.parse::<IpAddr>().is_err()
    }

    /// Every address that the name stands for now.
    pub(super) async fn resolve(&self) -> std::io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((self.host.as_str(), self.port)).await?.collect())
    }
}
