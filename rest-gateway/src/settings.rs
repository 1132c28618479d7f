//! What an operator can set, with the defaults that suit most.

use std::time::Duration;

use http::HeaderValue;
use http_server::ConnectionLimits;
use tls::ClientTls;

const MIB: usize = 1 << 20;

/// Limits of the gateway: every wait and every buffer has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The largest request body, in bytes.
    pub body_limit: usize,
    /// What requests may take in memory at the same time, in bytes: their bodies, the messages made of them and the work
    /// with those. A core in the same process has its own setting, which then counts for both.
    pub body_memory: usize,
    /// How long a request body may take to arrive.
    pub body_timeout: Duration,
    /// How long the core may take for one call.
    pub request_timeout: Duration,
    /// How long a whole streamed list may take, the client's reading included.
    pub list_timeout: Duration,
    /// Origins of web pages that may call the interface from a browser; `*` is any. None: only the service's own pages.
    pub cors_origins: Vec<HeaderValue>,
    /// Limits of clients' connections.
    pub connections: ConnectionLimits,
    /// Connections to a core that is reached over the network.
    pub core_connections: usize,
    /// How long a connection to the core may take to be made.
    pub connect_timeout: Duration,
    /// What the gateway trusts, and who it is, when it connects to cores at `https` addresses.
    pub core_tls: Option<ClientTls>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_limit: 32 * MIB,
            body_memory: 384 * MIB,
            body_timeout: Duration::from_mins(1),
            request_timeout: Duration::from_secs(30),
            list_timeout: Duration::from_mins(10),
            cors_origins: Vec::new(),
            connections: ConnectionLimits::default(),
            core_connections: 2,
            connect_timeout: Duration::from_secs(3),
            core_tls: None,
        }
    }
}

impl Settings {
    /// The largest message to or from the core. A result is longer than the shortest item that asks for it.
    pub(crate) fn message_limit(&self) -> usize {
        self.body_limit.saturating_mul(8).max(64 * MIB)
    }

    /// What the message of one request may take: short JSON items make large records, so the body's size alone does
    /// not bound it.
    pub(crate) fn message_memory(&self) -> usize {
        self.body_limit.saturating_mul(16).min(128 * MIB)
    }
}
