//! Connections to a server with a certificate.

use std::{fmt, io, path::PathBuf, sync::Arc};

use rustls::{ClientConfig, pki_types::ServerName};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{
    IdentityFiles, TlsError,
    current::Current,
    pem::{Identity, authorities, read},
    provider,
};

/// The files of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientFiles {
    /// The authorities of servers; without it, those that the system trusts.
    pub authority: Option<PathBuf>,
    /// The client's own certificate and key, for servers that ask for one.
    pub identity: Option<IdentityFiles>,
}

/// What a client trusts, and who it is. Clones share it.
#[derive(Clone)]
pub struct ClientTls(Arc<Inner>);

struct Inner {
    files: ClientFiles,
    current: Current<ClientConfig, Contents>,
}

#[derive(PartialEq, Eq)]
struct Contents {
    authority: Option<Vec<u8>>,
    identity: Option<Identity>,
}

impl ClientTls {
    /// Reads the files. The client speaks HTTP/2.
    pub fn load(files: ClientFiles) -> Result<Self, TlsError> {
        let contents = Contents::read(&files)?;
        let current = Current::new(contents.config(&files)?, contents);
        Ok(Self(Arc::new(Inner { files, current })))
    }

    /// Reads the files again. Returns whether they have changed; fails, and keeps what it has, if they cannot be used.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let Inner { files, current } = &*self.0;
        current.update(Contents::read(files)?, |contents| contents.config(files))
    }

    /// Makes a connection to `host` a secure one: the server's certificate must be of this name or address. The caller
    /// bounds the time that it takes.
    pub async fn connect<S>(&self, host: &str, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the host is not a name"))?;
        TlsConnector::from(self.0.current.get()).connect(name, stream).await
    }
}

impl PartialEq for ClientTls {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ClientTls {}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClientTls").field(&self.0.files).finish()
    }
}

impl Contents {
    fn read(files: &ClientFiles) -> Result<Self, TlsError> {
        let authority = files.authority.as_deref().map(read).transpose()?;
        Ok(Self { authority, identity: files.identity.as_ref().map(Identity::read).transpose()? })
    }

    fn config(&self, files: &ClientFiles) -> Result<ClientConfig, TlsError> {
        let certificate = files.identity.as_ref().map(|identity| identity.certificate.as_path());
        let path = certificate.or(files.authority.as_deref()).unwrap_or_else(|| "the system's certificates".as_ref());
        let unusable = |error: rustls::Error| TlsError::unusable(path, error);
        let config = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
        let config = config.map_err(unusable)?;
        let config = match (&files.authority, &self.authority) {
            (Some(path), Some(pem)) => config.with_root_certificates(authorities(path, pem)?),
            _ => config.with_platform_verifier().map_err(unusable)?,
        };
        let mut config = match (&files.identity, &self.identity) {
            (Some(files), Some(identity)) => {
                let (chain, key) = identity.parse(files)?;
                config.with_client_auth_cert(chain, key).map_err(unusable)?
            }
            _ => config.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }
}
