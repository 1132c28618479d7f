//! The target of the load: this machine, unless a flag allows another one.

use std::{
    net::{SocketAddr, ToSocketAddrs as _},
    path::Path,
};

use anyhow::{Context as _, bail, ensure};
use tls::ClientTls;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;
use url::Url;

/// HTTP/1.1, by its name in TLS.
pub const HTTP1: &str = "http/1.1";
/// HTTP/2, by its name in TLS.
pub const HTTP2: &str = "h2";

/// A connection to a target.
pub type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// A service under load.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address.
    pub address: SocketAddr,
    /// The host and port of the URL.
    pub authority: String,
    /// The name in the certificate, and the trusted authorities. `None` without TLS.
    tls: Option<(String, ClientTls)>,
}

impl Target {
    /// Parses `http://host:port` or `https://host:port`.
    ///
    /// Unless `allow_remote`, every address of the host must be a loopback address. The authorities in the file `ca`, or the system's
    /// authorities, verify certificates.
    pub fn parse(text: &str, allow_remote: bool, ca: Option<&Path>) -> anyhow::Result<Self> {
        let url = Url::parse(text).with_context(|| format!("{text:?} is not a URL such as http://127.0.0.1:8080"))?;
        let is_secure = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => bail!("{text:?} is neither http nor https"),
        };
        ensure!(is_secure || ca.is_none(), "--ca is for https, and the target is {text}");
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
        let bare = host.trim_matches(['[', ']']);
        let addresses: Vec<SocketAddr> =
            (bare, port).to_socket_addrs().with_context(|| format!("{host:?} cannot be resolved"))?.collect();
        if !allow_remote && !addresses.iter().all(|address| is_own(*address)) {
            bail!("{host:?} is not this machine: load on another machine needs its owner's consent and --allow-remote");
        }
        let address = *addresses.first().with_context(|| format!("{host:?} has no address"))?;
        let trusted = || ClientTls::load(ca.map(Path::to_owned), None).context("the certificates cannot be used");
        let tls = is_secure.then(trusted).transpose()?.map(|trusted| (bare.to_owned(), trusted));
        Ok(Self { address, authority: format!("{host}:{port}"), tls })
    }

    /// Opens a connection for [`HTTP1`] or [`HTTP2`], without delaying small packets.
    pub async fn connect(&self, protocol: &str) -> anyhow::Result<Stream> {
        let stream = TcpStream::connect(self.address).await;
        let stream = stream.with_context(|| format!("nothing accepts connections at {}", self.authority))?;
        stream.set_nodelay(true)?;
        let Some((name, tls)) = &self.tls else { return Ok(Either::Left(stream)) };
        let secure = tls.connect_with(protocol, name, stream).await;
        Ok(Either::Right(Box::new(secure.with_context(|| format!("no secure connection to {}", self.authority))?)))
    }

    /// Whether connections have TLS.
    pub fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// A service on this machine.
    pub fn local(address: SocketAddr) -> Self {
        Self { address, authority: address.to_string(), tls: None }
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
        for own in ["http://127.0.0.1:8080", "http://127.9.9.9", "https://[::1]:80", "http://[::ffff:127.0.0.1]:80"] {
            assert!(Target::parse(own, false, None).is_ok(), "{own}");
        }
        for other in ["http://10.0.0.1:80", "https://192.168.1.1", "http://0.0.0.0:80", "http://[2001:db8::1]:80"] {
            assert!(Target::parse(other, false, None).is_err(), "{other}");
            assert!(Target::parse(other, true, None).is_ok(), "{other}");
        }
        for wrong in ["127.0.0.1:80", "ftp://127.0.0.1", "x"] {
            assert!(Target::parse(wrong, true, None).is_err(), "{wrong}");
        }
        let authorities = Some("authority.pem".as_ref());
        let error = Target::parse("http://127.0.0.1:80", false, authorities).unwrap_err().to_string();
        assert!(error.contains("--ca is for https"), "{error}");
    }
}
