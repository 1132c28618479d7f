//! Ports of a program, bound first and opened when the program can serve requests.

use std::{net::SocketAddr, os::fd::AsFd as _};

use anyhow::Context as _;
use tokio::net::{TcpListener, TcpSocket};

use super::{
    configuration::variable,
    failure::{InvalidSetting, named},
};

/// Maximum connections waiting to be accepted. The system's own limit is often lower.
const BACKLOG: u32 = 4096;

/// Fails if two ports have the same address. The system would report the conflict only after startup created a database.
pub(crate) fn refuse_equal(addresses: &[(&str, Option<SocketAddr>)]) -> Result<(), InvalidSetting> {
    let given = addresses.iter().filter_map(|(setting, address)| Some((setting, (*address)?)));
    let mut known = Vec::<(&str, SocketAddr)>::new();
    for (setting, address) in given.filter(|(_, address)| address.port() != 0) {
        if let Some((other, _)) = known.iter().find(|(_, other)| overlap(*other, address)) {
            return Err(InvalidSetting::of(named(setting))(format!("{address} is already used by --{other}")));
        }
        known.push((setting, address));
    }
    Ok(())
}

/// Returns whether both addresses accept some of the same connections. `0.0.0.0` and `::` match all addresses of a machine.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let covers = |one: SocketAddr, other: SocketAddr| {
        one.ip() == other.ip() || one.ip().is_unspecified() && (one.is_ipv6() || other.is_ipv4())
    };
    one.port() == other.port() && (covers(one, other) || covers(other, one))
}

/// A bound port. No other process can take the port, and the system refuses connections until the port is opened.
#[derive(Debug)]
pub(crate) struct Port {
    socket: TcpSocket,
    /// Error message if the port cannot be opened.
    error: String,
}

impl Port {
    /// Binds a port. If `reuse` is set, other processes can share the port. Errors name the address setting.
    pub(crate) fn bind(address: SocketAddr, reuse: bool, setting: &str) -> anyhow::Result<Self> {
        let variable = variable(setting);
        let error = format!("cannot listen on {address} (choose another address with --{setting} or {variable})");
        let bind = || -> std::io::Result<TcpSocket> {
            let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
            // Without this option, recently closed connections would block the port after a restart.
            socket.set_reuseaddr(true)?;
            socket.set_reuseport(reuse)?;
            socket.bind(address)?;
            Ok(socket)
        };
        let socket = bind().with_context(|| error.clone())?;
        Ok(Self { socket, error })
    }

    /// Opens the port. Listeners from several calls share its connections.
    pub(crate) fn listen(&self) -> anyhow::Result<TcpListener> {
        let copy = self.socket.as_fd().try_clone_to_owned();
        let listener = copy.and_then(|copy| TcpSocket::from_std_stream(copy.into()).listen(BACKLOG));
        listener.with_context(|| self.error.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::refuse_equal;

    #[test]
    fn overlapping_addresses_are_rejected() {
        let check = |rest: &str, grpc: &str| {
            refuse_equal(&[
                ("rest-addr", Some(rest.parse().unwrap())),
                ("admin-addr", None),
                ("grpc-addr", Some(grpc.parse().unwrap())),
            ])
        };
        for (rest, grpc) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("127.0.0.1:80", "[::]:80"),
            ("[::]:80", "[::1]:80"),
        ] {
            let error = check(rest, grpc).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("--grpc-addr (COMPLIANCE_GRPC_ADDR) is invalid: {grpc} is already used by --rest-addr")
            );
        }
        for (rest, grpc) in [
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("127.0.0.1:80", "127.0.0.2:80"),
            ("127.0.0.1:80", "127.0.0.1:81"),
            ("0.0.0.0:80", "[::1]:80"),
        ] {
            check(rest, grpc).unwrap();
        }
    }
}
