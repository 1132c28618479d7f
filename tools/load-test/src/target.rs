//! Parses the target of a load test. It must be this machine, unless a flag allows others.

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

/// ALPN name of HTTP/1.1.
pub const HTTP1: &str = "http/1.1";
/// ALPN name of HTTP/2.
pub const HTTP2: &str = "h2";

/// A connection to a target.
pub type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// A service under load.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address.
    pub address: SocketAddr,
    /// The URL's host and port.
    pub authority: String,
    /// The name in the certificate, and the trusted CA certificates, or `None` if connections do not use TLS.
    tls: Option<(String, ClientTls)>,
}

impl Target {
    /// Parses `http://host:port` or `https://host:port`.
    ///
    /// Unless `allow_remote` is true, every address of the host must be a loopback address. `ca` is a PEM file with the CA certificates
    /// to trust instead of the system's.
    pub fn parse(text: &str, allow_remote: bool, ca: Option<&Path>) -> anyhow::Result<Self> {
        let url = Url::parse(text).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
        let url = url.with_context(|| format!("{text:?} is not a URL such as http://127.0.0.1:8080"))?;
        let is_secure = url.scheme() == "https";
        ensure!(is_secure || ca.is_none(), "--ca is for https, but the target is {text}");
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
        let bare = host.trim_matches(['[', ']']);
        let addresses: Vec<SocketAddr> =
            (bare, port).to_socket_addrs().with_context(|| format!("cannot resolve {host:?}"))?.collect();
        if !allow_remote && !addresses.iter().all(|address| is_own(*address)) {
            bail!("{host:?} is not this machine: get the consent of its owner, and set --allow-remote");
        }
        let address = *addresses.first().with_context(|| format!("{host:?} has no address"))?;
        let trusted = || ClientTls::load(ca.map(Path::to_owned), None).context("cannot load the CA certificates");
        let tls = is_secure.then(trusted).transpose()?.map(|trusted| (bare.to_owned(), trusted));
        Ok(Self { address, authority: format!("{host}:{port}"), tls })
    }

    /// Opens a connection for [`HTTP1`] or [`HTTP2`], without delaying small packets.
    pub async fn connect(&self, protocol: &str) -> anyhow::Result<Stream> {
        let stream = TcpStream::connect(self.address).await;
        let stream = stream.with_context(|| format!("cannot connect to {}", self.authority))?;
        stream.set_nodelay(true)?;
        let Some((name, tls)) = &self.tls else { return Ok(Either::Left(stream)) };
        let secure = tls.connect_with(protocol, name, stream).await.map_err(|error| {
            // rustls reports a response without TLS as a corrupt message.
            let is_plain = error.to_string().contains("corrupt message");
            let advice = if is_plain { ": the port seems to use http, not https" } else { "" };
            anyhow::Error::new(error).context(format!("no secure connection to {}{advice}", self.authority))
        });
        Ok(Either::Right(Box::new(secure?)))
    }

    /// Returns whether connections use TLS.
    pub fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Returns a target on this machine, without TLS.
    pub fn local(address: SocketAddr) -> Self {
        Self { address, authority: address.to_string(), tls: None }
    }
}

/// Returns whether an address is a loopback address.
fn is_own(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn remote_targets_require_allow_remote() {
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
