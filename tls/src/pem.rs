//! Certificates and keys in PEM files.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

use crate::IdentityFiles;

/// The largest file, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Why files cannot be used for TLS. Never holds what is in them.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{path} holds no {what} in PEM", path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
    },
    /// The certificate, its key or its authority cannot be used.
    #[error("{path} cannot be used: {error}", path = path.display())]
    Unusable {
        /// The file of the certificate.
        path: PathBuf,
        /// Why.
        error: String,
    },
}

impl TlsError {
    pub(crate) fn unusable(path: &Path, error: impl ToString) -> Self {
        Self::Unusable { path: path.to_owned(), error: error.to_string() }
    }
}

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
    read.map_err(|error| TlsError::Read { path: path.to_owned(), error })?;
    Ok(bytes)
}

/// What the files of a certificate and its key hold.
#[derive(PartialEq, Eq)]
pub(crate) struct Identity {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// A certificate with those that lead to its authority, and its key.
pub(crate) type Chain = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl Identity {
    pub(crate) fn read(files: &IdentityFiles) -> Result<Self, TlsError> {
        Ok(Self { certificate: read(&files.certificate)?, key: read(&files.key)? })
    }

    pub(crate) fn parse(&self, files: &IdentityFiles) -> Result<Chain, TlsError> {
        let chain = certificates(&files.certificate, &self.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&self.key);
        let key = key.map_err(|_| TlsError::Missing { path: files.key.clone(), what: "private key" })?;
        Ok((chain, key))
    }
}

fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let missing = || TlsError::Missing { path: path.to_owned(), what: "certificate" };
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    all.ok().filter(|certificates| !certificates.is_empty()).ok_or_else(missing)
}

/// The authorities of a file.
pub(crate) fn authorities(path: &Path, pem: &[u8]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path, pem)? {
        roots.add(certificate).map_err(|error| TlsError::unusable(path, error))?;
    }
    Ok(roots)
}
