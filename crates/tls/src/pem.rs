//! Certificates and keys in PEM files.

use std::path::{Path, PathBuf};

use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::{current::Contents, error::TlsError};

/// A certificate chain and its key, both as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityFiles {
    /// The certificate and its chain.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
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
