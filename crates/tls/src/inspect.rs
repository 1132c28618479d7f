//! The certificate of a file, as `compliance doctor` shows it.

use std::path::Path;

use rustls::{
    client::verify_server_name,
    pki_types::{CertificateDer, ServerName},
    server::ParsedCertificate,
};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use crate::{
    config::certificates,
    files::{Contents, TlsError},
};

/// The certificate of a file.
#[derive(Debug)]
pub struct Inspected {
    /// When the whole chain becomes valid, in seconds since 1970.
    pub not_before: i64,
    /// When the first certificate of the chain expires.
    pub not_after: i64,
    /// Names and addresses in the certificate.
    pub names: Vec<String>,
    own: CertificateDer<'static>,
}

impl Inspected {
    /// Reads a file in PEM.
    pub fn read(path: &Path) -> Result<Self, TlsError> {
        let chain = certificates(path, &mut Contents::default())?;
        let mut read: Option<Self> = None;
        for certificate in &chain {
            let (_, parsed) =
                X509Certificate::from_der(certificate).map_err(|error| TlsError::unusable(path, error))?;
            let [from, to] = [parsed.validity().not_before, parsed.validity().not_after].map(|time| time.timestamp());
            if let Some(read) = &mut read {
                (read.not_before, read.not_after) = (read.not_before.max(from), read.not_after.min(to));
            } else {
                let (names, own) = (names(&parsed), certificate.clone());
                read = Some(Self { not_before: from, not_after: to, names, own });
            }
        }
        read.ok_or_else(|| TlsError::unusable(path, "it is empty"))
    }

    /// Returns whether the certificate names this host.
    pub fn is_for(&self, host: &str) -> bool {
        let name = ServerName::try_from(host.trim_start_matches('[').trim_end_matches(']'));
        let parsed = ParsedCertificate::try_from(&self.own);
        parsed.is_ok_and(|parsed| name.is_ok_and(|name| verify_server_name(&parsed, &name).is_ok()))
    }
}

fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let extension = certificate.subject_alternative_name().ok().flatten();
    let names = extension.map_or(&[][..], |extension| &extension.value.general_names);
    let shown = names.iter().filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match *bytes {
            [a, b, c, d] => Some(std::net::Ipv4Addr::new(*a, *b, *c, *d).to_string()),
            bytes => <[u8; 16]>::try_from(bytes).ok().map(|bytes| std::net::Ipv6Addr::from(bytes).to_string()),
        },
        _ => None,
    });
    shown.collect()
}
