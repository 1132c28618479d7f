//! Where a server listens.

use std::{io, net::SocketAddr};

use tls::ServerTls;
use tokio::net::TcpListener;

/// A port that is open, and its certificate if it is a secure one.
#[derive(Debug)]
pub struct Listener {
    pub(crate) tcp: TcpListener,
    pub(crate) tls: Option<ServerTls>,
}

impl Listener {
    /// A port with this certificate, if it has one.
    pub fn new(tcp: TcpListener, tls: Option<ServerTls>) -> Self {
        Self { tcp, tls }
    }

    /// The address that it listens at.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self::new(tcp, None)
    }
}
