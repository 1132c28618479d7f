//! The target of the load: this machine, unless a flag allows others.

use std::net::{SocketAddr, ToSocketAddrs as _};

use anyhow::{Context as _, bail};
use tokio::net::TcpStream;
use url::Url;

/// A service under load.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address.
    pub address: SocketAddr,
    /// The host and port as they were given.
    pub authority: String,
}

impl Target {
    /// Parses `http://host:port`. Unless `allow_remote`, every address of the host must be a loopback address.
    pub fn parse(text: &str, allow_remote: bool) -> anyhow::Result<Self> {
        let url = Url::parse(text).with_context(|| format!("{text:?} is no URL such as http://127.0.0.1:8080"))?;
        if url.scheme() != "http" {
            bail!("{text:?} is not plain HTTP, which is the only supported protocol");
        }
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
        let bare = host.trim_matches(['[', ']']);
        let addresses: Vec<SocketAddr> =
            (bare, port).to_socket_addrs().with_context(|| format!("{host:?} cannot be resolved"))?.collect();
        if !allow_remote && !addresses.iter().all(|address| is_own(*address)) {
            bail!("{host:?} is not this machine: load on another machine needs its owner's consent and --allow-remote");
        }
        let address = *addresses.first().with_context(|| format!("{host:?} has no address"))?;
        Ok(Self { address, authority: format!("{host}:{port}") })
    }

    /// Opens a connection, which sends small requests at once.
    pub async fn connect(&self) -> anyhow::Result<TcpStream> {
        let stream = TcpStream::connect(self.address).await;
        let stream = stream.with_context(|| format!("nothing accepts connections at {}", self.authority))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// A service on this machine.
    pub fn local(address: SocketAddr) -> Self {
        Self { address, authority: address.to_string() }
    }
}

/// Whether an address is a loopback address.
fn is_own(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn other_machines_need_a_flag() {
        for own in ["http://127.0.0.1:8080", "http://127.9.9.9", "http://[::1]:80", "http://[::ffff:127.0.0.1]:80"] {
            assert!(Target::parse(own, false).is_ok(), "{own}");
        }
        for other in ["http://10.0.0.1:80", "http://192.168.1.1", "http://0.0.0.0:80", "http://[2001:db8::1]:80"] {
            assert!(Target::parse(other, false).is_err(), "{other}");
            assert!(Target::parse(other, true).is_ok(), "{other}");
        }
        for wrong in ["127.0.0.1:80", "https://127.0.0.1", "x"] {
            assert!(Target::parse(wrong, true).is_err(), "{wrong}");
        }
    }
}
