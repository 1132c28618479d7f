//! The certificate of a port.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{ServerConfig, server::WebPkiClientVerifier};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::{
    current::{Contents, Reloaded},
    error::TlsError,
    pem::{IdentityFiles, authorities},
    provider::provider,
};

/// The certificate of a port, and what is asked of its clients. Clones share it.
pub type ServerTls = Reloaded<ServerConfig>;

impl ServerTls {
    /// Reads the files of the certificate and of the authorities of clients: if they are given, a client must have a certificate
    /// of one of them. `protocols` are what the server speaks, as in ALPN: `h2`, `http/1.1`.
    pub fn load(
        identity: IdentityFiles,
        client_authority: Option<PathBuf>,
        protocols: &'static [&'static str],
    ) -> Result<Self, TlsError> {
        Self::new(move |contents| config(&identity, client_authority.as_deref(), contents, protocols))
    }

    /// Makes a connection a secure one. The caller bounds the time that it takes.
    pub async fn accept<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> io::Result<TlsStream<S>> {
        TlsAcceptor::from(self.get()).accept(stream).await
    }
}

fn config(
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
    let mut config = config.with_single_cert(chain, key).map_err(unusable)?;
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Ok(config)
}
