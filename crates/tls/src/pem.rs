//! Certificates and keys in PEM files.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::{IdentityFiles, current::Contents};

/// Why files cannot be used for TLS. Never holds what is in them.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct TlsError {
    path: PathBuf,
    text: String,
}

impl TlsError {
    /// The file that cannot be used.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn unreadable(path: &Path, error: impl Display) -> Self {
        Self { path: path.to_owned(), text: format!("cannot read {}: {error}", path.display()) }
    }

    pub(crate) fn unusable(path: &Path, error: impl Display) -> Self {
        Self { path: path.to_owned(), text: format!("{} cannot be used: {error}", path.display()) }
    }

    fn missing(path: &Path, what: &str) -> Self {
        Self { path: path.to_owned(), text: format!("{} holds no {what} in PEM", path.display()) }
    }
}

impl IdentityFiles {
    /// The certificate with those that lead to its authority, and its key.
    pub(crate) fn read(
        &self,
        contents: &mut Contents,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
        let chain = certificates(&self.certificate, contents)?;
        let expires = chain.iter().filter_map(|certificate| X509Certificate::from_der(certificate).ok());
        contents.expires = expires.map(|(_, certificate)| certificate.validity().not_after.timestamp()).min();
        let key = PrivateKeyDer::from_pem_slice(contents.read(&self.key)?);
        Ok((chain, key.map_err(|_| TlsError::missing(&self.key, "private key"))?))
    }
}

/// The certificates of a file.
pub(crate) fn certificates(path: &Path, contents: &mut Contents) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(contents.read(path)?).collect();
    all.ok().filter(|certificates| !certificates.is_empty()).ok_or_else(|| TlsError::missing(path, "certificate"))
}

/// The authorities of a file.
pub(crate) fn authorities(path: &Path, contents: &mut Contents) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path, contents)? {
        roots.add(certificate).map_err(|error| TlsError::unusable(path, error))?;
    }
    Ok(roots)
}
