//! Parses the target of a load test. It must be this machine, unless a flag allows others.

use std::net::{SocketAddr, ToSocketAddrs as _};

use anyhow::{Context as _, bail};
use tokio::net::TcpStream;
use url::Url;

/// A service under load.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address.
    pub address: SocketAddr,
    /// The URL's host and port.
    pub authority: String,
}

impl Target {
    /// Parses `http://host:port`.
    ///
    /// Unless `allow_remote` is true, every address of the host must be a loopback address.
    pub fn parse(text: &str, allow_remote: bool) -> anyhow::Result<Self> {
        let url = Url::parse(text).ok().filter(|url| url.scheme() == "http");
        let url = url.with_context(|| format!("{text:?} is not a URL such as http://127.0.0.1:8080"))?;
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
        let addresses: Vec<SocketAddr> = (host.trim_matches(['[', ']']), port)
            .to_socket_addrs()
            .with_context(|| format!("cannot resolve {host:?}"))?
            .collect();
        if !allow_remote && !addresses.iter().all(|address| address.ip().to_canonical().is_loopback()) {
            bail!("{host:?} is not this machine: get the consent of its owner, and set --allow-remote");
        }
        let address = *addresses.first().with_context(|| format!("{host:?} has no address"))?;
        Ok(Self { address, authority: format!("{host}:{port}") })
    }

    /// Opens a connection, without delaying small packets.
    pub async fn connect(&self) -> anyhow::Result<TcpStream> {
        let stream = TcpStream::connect(self.address).await;
        let stream = stream.with_context(|| format!("cannot connect to {}", self.authority))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Returns a target on this machine.
    pub fn local(address: SocketAddr) -> Self {
        Self { address, authority: address.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn remote_targets_require_allow_remote() {
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
