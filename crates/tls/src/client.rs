//! Connections to a server with a certificate.

use std::{
    io,
    path::{Path, PathBuf},
};

use rustls::{ClientConfig, pki_types::ServerName};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{
    current::{Contents, Reloaded},
    error::TlsError,
    pem::{IdentityFiles, authorities},
    provider::provider,
};

/// HTTP/2, by its name in TLS.
const HTTP2: &str = "h2";

/// What a client trusts, and who it is. Clones share it.
pub type ClientTls = Reloaded<ClientConfig>;

impl ClientTls {
    /// Reads the authorities of servers (without them, those that the system trusts count) and the client's own certificate, for
    /// servers that ask for one.
    pub fn load(authority: Option<PathBuf>, identity: Option<IdentityFiles>) -> Result<Self, TlsError> {
        Self::new(move |contents| config(authority.as_deref(), identity.as_ref(), contents))
    }

    /// Makes a connection to `host`, which the certificate must name, a secure one for HTTP/2. The caller bounds the time that it takes.
    pub async fn connect<S>(&self, host: &str, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        self.connect_with(HTTP2, host, stream).await
    }

    /// The same for a protocol, by its name in TLS: `h2` or `http/1.1`.
    pub async fn connect_with<S>(&self, protocol: &str, host: &str, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the host is not a name"))?;
        TlsConnector::from(self.get()).with_alpn(vec![protocol.into()]).connect(name, stream).await
    }
}

fn config(
    authority: Option<&Path>,
    identity: Option<&IdentityFiles>,
    contents: &mut Contents,
) -> Result<ClientConfig, TlsError> {
    let certificate = identity.map(|identity| identity.certificate.as_path());
    let path = certificate.or(authority).unwrap_or_else(|| "the system's certificates".as_ref());
    let unusable = |error: rustls::Error| TlsError::unusable(path, error);
    let config = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let config = config.map_err(unusable)?;
    let config = match authority {
        Some(path) => config.with_root_certificates(authorities(path, contents)?),
        None => config.with_platform_verifier().map_err(unusable)?,
    };
    let config = match identity {
        Some(identity) => {
            let (chain, key) = identity.read(contents)?;
            config.with_client_auth_cert(chain, key).map_err(unusable)?
        }
        None => config.with_no_client_auth(),
    };
    Ok(config)
}
