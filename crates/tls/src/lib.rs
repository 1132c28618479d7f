//! TLS with certificates from files, which are read again while they are used.
//!
//! A connection keeps the certificate that it began with. New connections use what [`Reloaded::reload`] has read last.

mod client;
mod current;
mod error;
mod failure;
mod inspect;
mod pem;
mod provider;
mod reporting;
mod server;

pub use client::ClientTls;
pub use current::Reloaded;
pub use error::TlsError;
pub use failure::Failure;
pub use inspect::Inspected;
pub use pem::IdentityFiles;
pub use reporting::{Reporting, begins_with_tls};
pub use server::ServerTls;
