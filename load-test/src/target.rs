//! Where the load goes: to this machine, unless told otherwise.

use std::net::{SocketAddr, ToSocketAddrs as _};

use anyhow::{Context as _, bail};
use url::Url;

/// What is under load.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    /// The host and port as the caller wrote them.
    pub(crate) authority: String,
}

impl Target {
    /// Reads `http://host:port`. Every address that the host may stand for must be this machine's own.
    pub(crate) fn parse(text: &str, allow_remote: bool) -> anyhow::Result<Self> {
        let url = Url::parse(text).with_context(|| format!("{text:?} is no address such as http://127.0.0.1:8080"))?;
        if url.scheme() != "http" {
            bail!("{text:?} is not served by plain HTTP, which is all that the load is made of");
        }
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
        let bare = host.trim_matches(['[', ']']);
        let addresses: Vec<SocketAddr> =
            (bare, port).to_socket_addrs().with_context(|| format!("{host:?} cannot be found"))?.collect();
        if !allow_remote && !addresses.iter().all(|address| is_own(*address)) {
            bail!("{host:?} is not this machine: load on somebody else's machine needs their word and --allow-remote");
        }
        let address = *addresses.first().with_context(|| format!("{host:?} has no address"))?;
        Ok(Self { address, authority: format!("{host}:{port}") })
    }

    /// A service that was started here.
    pub(crate) fn local(address: SocketAddr) -> Self {
        Self { address, authority: address.to_string() }
    }
}

/// Whether an address is of the loopback range.
fn is_own(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn only_this_machine_is_put_under_load_unasked() {
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
