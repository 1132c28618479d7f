//! TLS with certificates from files that can change while the program runs.
//!
//! A connection keeps its certificate. New connections use the files as [`Reloaded::reload`] last read them.

mod config;
mod error;
mod failure;
mod inspect;
mod reloaded;
mod reporting;

pub use config::{ClientTls, IdentityFiles, ServerTls};
pub use error::TlsError;
pub use failure::Failure;
pub use inspect::Inspected;
pub use reloaded::Reloaded;
pub use reporting::{Reporting, begins_with_tls};
