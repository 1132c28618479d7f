//! TLS with certificate files that can change while the program runs.
//!
//! A connection keeps its certificate. New connections use the files that [`Reloaded::reload`] read last.

mod config;
mod failure;
mod files;

pub use config::{ClientTls, IdentityFiles, ServerTls};
pub use failure::{Failure, Reporting, begins_with_tls, describe, plain};
pub use files::{Reloaded, TlsError};
