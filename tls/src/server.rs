//! The certificate of a port.

use std::{fmt, io, path::PathBuf, sync::Arc};

use rustls::{ServerConfig, server::WebPkiClientVerifier};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::{
    IdentityFiles, TlsError,
    current::Current,
    pem::{Identity, authorities, read},
    provider,
};

/// The files of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFiles {
    /// Its certificate and key.
    pub identity: IdentityFiles,
    /// The authorities of clients. If they are given, a client must have a certificate of one of them.
    pub client_authority: Option<PathBuf>,
}

/// The certificate of a port, and what is asked of its clients. Clones share it.
#[derive(Clone)]
pub struct ServerTls(Arc<Inner>);

struct Inner {
    files: ServerFiles,
    /// What the server speaks, as in ALPN.
    protocols: &'static [&'static str],
    current: Current<ServerConfig, Contents>,
}

#[derive(PartialEq, Eq)]
struct Contents {
    identity: Identity,
    client_authority: Option<Vec<u8>>,
}

impl ServerTls {
    /// Reads the files. `protocols` are what the server speaks, as in ALPN: `h2`, `http/1.1`.
    pub fn load(files: ServerFiles, protocols: &'static [&'static str]) -> Result<Self, TlsError> {
        let contents = Contents::read(&files)?;
        let current = Current::new(contents.config(&files, protocols)?, contents);
        Ok(Self(Arc::new(Inner { files, protocols, current })))
    }

    /// Reads the files again. Returns whether they have changed; fails, and keeps what it has, if they cannot be used.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let Inner { files, protocols, current } = &*self.0;
        current.update(Contents::read(files)?, |contents| contents.config(files, protocols))
    }

    /// Makes a connection a secure one. The caller bounds the time that it takes.
    pub async fn accept<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> io::Result<TlsStream<S>> {
        TlsAcceptor::from(self.0.current.get()).accept(stream).await
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerTls").field(&self.0.files).finish()
    }
}

impl Contents {
    fn read(files: &ServerFiles) -> Result<Self, TlsError> {
        let client_authority = files.client_authority.as_deref().map(read).transpose()?;
        Ok(Self { identity: Identity::read(&files.identity)?, client_authority })
    }

    fn config(&self, files: &ServerFiles, protocols: &[&str]) -> Result<ServerConfig, TlsError> {
        let path = &files.identity.certificate;
        let unusable = |error: rustls::Error| TlsError::unusable(path, error);
        let config = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
        let config = config.map_err(unusable)?;
        let config = match (&files.client_authority, &self.client_authority) {
            (Some(path), Some(pem)) => {
                let roots = Arc::new(authorities(path, pem)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider()).build();
                config.with_client_cert_verifier(verifier.map_err(|error| TlsError::unusable(path, error))?)
            }
            _ => config.with_no_client_auth(),
        };
        let (chain, key) = self.identity.parse(&files.identity)?;
        let mut config = config.with_single_cert(chain, key).map_err(unusable)?;
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        Ok(config)
    }
}
