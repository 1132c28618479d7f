//! Server and client TLS configurations, read from PEM files.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    server::WebPkiClientVerifier,
};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::files::{Contents, Reloaded, TlsError};

/// ALPN name of HTTP/2.
const HTTP2: &str = "h2";

/// PEM files with a certificate chain and its private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityFiles {
    /// The certificate and its chain.
    pub certificate: PathBuf,
    /// The certificate's private key.
    pub key: PathBuf,
}

/// A port's TLS configuration: its certificate and client authorities. Clones share it.
pub type ServerTls = Reloaded<ServerConfig>;

/// A client's TLS configuration: trusted authorities and its own certificate. Clones share it.
pub type ClientTls = Reloaded<ClientConfig>;

impl ServerTls {
    /// Reads a port's files. If `client_authority` is set, each client needs a certificate from that authority.
    ///
    /// `protocols` are ALPN names: `h2`, `http/1.1`.
    pub fn load(
        identity: IdentityFiles,
        client_authority: Option<PathBuf>,
        protocols: &'static [&'static str],
    ) -> Result<Self, TlsError> {
        Self::new(move |contents| server_config(&identity, client_authority.as_deref(), contents, protocols))
    }

    /// Performs the server handshake. The caller applies a timeout.
    pub async fn accept<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> io::Result<server::TlsStream<S>> {
        TlsAcceptor::from(self.get()).accept(stream).await
    }
}

impl ClientTls {
    /// Reads the trusted authorities and the client's own certificate.
    ///
    /// The client sends its certificate to servers that ask for one. If `authority` is `None`, the client trusts the system's authorities.
    pub fn load(authority: Option<PathBuf>, identity: Option<IdentityFiles>) -> Result<Self, TlsError> {
        Self::new(move |contents| client_config(authority.as_deref(), identity.as_ref(), contents))
    }

    /// Performs the client handshake for HTTP/2. The server's certificate must be valid for `host`. The caller applies a timeout.
    pub async fn connect<S>(&self, host: &str, stream: S) -> io::Result<client::TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        self.connect_with(HTTP2, host, stream).await
    }

    /// Like [`connect`](Self::connect), but for any ALPN protocol: `h2` or `http/1.1`.
    pub async fn connect_with<S>(&self, protocol: &str, host: &str, stream: S) -> io::Result<client::TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the host name is not valid"))?;
        TlsConnector::from(self.get()).with_alpn(vec![protocol.into()]).connect(name, stream).await
    }
}

impl IdentityFiles {
    /// Returns the error for a certificate and key that rustls rejects.
    fn unusable(&self, error: rustls::Error) -> TlsError {
        let Self { certificate, key } = self;
        match error {
            rustls::Error::InconsistentKeys(_) => TlsError::unusable(
                key,
                format!("the key does not belong to the certificate in {}", certificate.display()),
            ),
            error => TlsError::unusable(certificate, error),
        }
    }

    fn read(
        &self,
        contents: &mut Contents,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
        let chain = certificates(&self.certificate, contents)?;
        let parsed = chain.iter().filter_map(|certificate| X509Certificate::from_der(certificate).ok());
        contents.expires = parsed.map(|(_, certificate)| certificate.validity().not_after.timestamp()).min();
        let key = PrivateKeyDer::from_pem_slice(contents.read(&self.key)?);
        Ok((chain, key.map_err(|_| TlsError::missing(&self.key, "private key"))?))
    }
}

/// Reads all certificates in a file.
fn certificates(path: &Path, contents: &mut Contents) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(contents.read(path)?).collect();
    all.ok().filter(|certificates| !certificates.is_empty()).ok_or_else(|| TlsError::missing(path, "certificate"))
}

fn authorities(path: &Path, contents: &mut Contents) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path, contents)? {
        roots.add(certificate).map_err(|error| TlsError::unusable(path, error))?;
    }
    Ok(roots)
}

/// Returns the only cryptographic provider in use, even if a dependency enables others.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn server_config(
    identity: &IdentityFiles,
    client_authority: Option<&Path>,
    contents: &mut Contents,
    protocols: &[&str],
) -> Result<ServerConfig, TlsError> {
    let unusable = |error: rustls::Error| TlsError::unusable(&identity.certificate, error);
    let config = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let config = config.map_err(unusable)?;
    let config = match client_authority {
        Some(path) => {
            let roots = Arc::new(authorities(path, contents)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider()).build();
            config.with_client_cert_verifier(verifier.map_err(|error| TlsError::unusable(path, error))?)
        }
        None => config.with_no_client_auth(),
    };
    let (chain, key) = identity.read(contents)?;
    let mut config = config.with_single_cert(chain, key).map_err(|error| identity.unusable(error))?;
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Ok(config)
}

fn client_config(
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
    let Some(identity) = identity else { return Ok(config.with_no_client_auth()) };
    let (chain, key) = identity.read(contents)?;
    config.with_client_auth_cert(chain, key).map_err(|error| identity.unusable(error))
}
