//! The two ports: taken before anything else is done, opened when requests can be answered.

use std::net::SocketAddr;

use anyhow::Context as _;
use tokio::net::{TcpListener, TcpSocket};

/// Connections that may wait to be accepted; the system's own limit is often lower.
const BACKLOG: u32 = 4096;

/// A port that is taken: nobody else gets it, and who connects is refused until it is opened.
#[derive(Debug)]
pub(super) struct Port {
    socket: TcpSocket,
    flag: &'static str,
    variable: &'static str,
    address: SocketAddr,
}

impl Port {
    /// Takes a port; `flag` and `variable` set its address.
    pub(super) fn take(address: SocketAddr, flag: &'static str, variable: &'static str) -> anyhow::Result<Self> {
        let take = || -> std::io::Result<TcpSocket> {
            let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
            // Without it, connections that ended just now would keep a restarted service from its port.
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            Ok(socket)
        };
        let socket = take().with_context(|| complaint(address, flag, variable))?;
        Ok(Self { socket, flag, variable, address })
    }

    /// Lets clients connect.
    pub(super) fn open(self) -> anyhow::Result<TcpListener> {
        let Self { socket, flag, variable, address } = self;
        socket.listen(BACKLOG).with_context(|| complaint(address, flag, variable))
    }
}

fn complaint(address: SocketAddr, flag: &str, variable: &str) -> String {
    format!("cannot listen at {address} (choose another address with {flag} or {variable})")
}

#[cfg(test)]
mod tests {
    use super::Port;

    #[tokio::test]
    async fn a_port_in_use_is_named_with_its_flag() {
        let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = taken.local_addr().unwrap();
        let complaint = Port::take(address, "--rest-addr", "COMPLIANCE_REST_ADDR").unwrap_err().to_string();
        assert!(complaint.contains(&address.to_string()) && complaint.contains("--rest-addr"), "{complaint}");
    }
}
