//! TLS with certificates from files, which are read again while they are used.
//!
//! A connection keeps the certificate that it began with. New connections use what [`Reloaded::reload`] has read last.

mod client;
mod current;
mod failure;
mod inspect;
mod pem;
mod server;

pub use client::ClientTls;
pub use current::Reloaded;
pub use failure::{Failure, Plain, Reporting, begins_with_tls};
pub use inspect::Inspected;
pub use pem::TlsError;
pub use server::ServerTls;

use std::{path::PathBuf, sync::Arc};

use rustls::crypto::{CryptoProvider, aws_lc_rs};

/// A certificate chain and its key, both as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityFiles {
    /// The certificate, and those that lead to its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// The one implementation of cryptography, whatever others a dependency might bring.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}
