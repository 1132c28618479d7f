//! The addresses of cores.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use compliance_api::PrivateUrl;
use http::Uri;
use tonic::transport::Endpoint;

use crate::Settings;

/// An address of a core is not one to connect to.
#[derive(Debug, thiserror::Error)]
#[error("the core's address {url:?} is not of the form http://host:port")]
pub struct RemoteError {
    url: String,
}

/// Where a core is, or several under one name.
#[derive(Clone, Debug)]
pub(super) struct Address {
    host: String,
    port: u16,
    uri: Uri,
    connect_timeout: Duration,
}

impl Address {
    /// Reads URLs that are separated by commas.
    pub(super) fn parse_all(urls: &str, settings: &Settings) -> Result<Vec<Self>, RemoteError> {
        urls.split(',').map(|url| Self::parse(url.trim(), settings)).collect()
    }

    fn parse(url: &str, settings: &Settings) -> Result<Self, RemoteError> {
        let wrong = || RemoteError { url: PrivateUrl::from(url.to_owned()).to_string() };
        // Other schemes would be taken for something: a Unix socket, a host without a scheme.
        if !url.starts_with("http://") {
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
        let port = authority.port_u16().unwrap_or(80);
        let connect_timeout = settings.connect_timeout;
        Ok(Self { host, port, uri: endpoint.uri().clone(), connect_timeout })
    }

    /// As it was given.
    pub(super) fn name(&self) -> String {
        self.uri.to_string()
    }

    /// The endpoint of whatever the name stands for when a connection is made.
    pub(super) fn endpoint(&self) -> Endpoint {
        self.endpoint_of(self.uri.clone())
    }

    /// The endpoint of one of the addresses that the name stands for.
    pub(super) fn endpoint_at(&self, address: SocketAddr) -> Option<Endpoint> {
        let uri = Uri::try_from(format!("http://{address}")).ok()?;
        // The core still sees the name that was asked for.
        Some(self.endpoint_of(uri).origin(self.uri.clone()))
    }

    fn endpoint_of(&self, uri: Uri) -> Endpoint {
        Endpoint::from(uri)
            .connect_timeout(self.connect_timeout)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(Duration::from_secs(30)))
            .http2_keep_alive_interval(Duration::from_secs(15))
            .keep_alive_timeout(Duration::from_secs(10))
            .keep_alive_while_idle(true)
            // Lists and batches are large; a window of 64 KiB would cost them a round trip for each 64 KiB.
            .initial_stream_window_size(1 << 20)
            .initial_connection_window_size(8 << 20)
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
