#![doc = include_str!("../README.md")]

mod builder;
mod client;
mod error;
mod request;
mod retries;
mod status;
mod token;
/// The contract's messages, and plain clients of its services.
#[allow(
    missing_docs,
    unused_qualifications,
    clippy::pedantic,
    clippy::doc_lazy_continuation,
    reason = "generated: the generators add items without comments"
)]
#[rustfmt::skip]
pub mod v1;

pub use builder::Builder;
pub use client::Client;
pub use error::{BoxError, Error, Violation};
pub use request::{List, Request, UnaryRequest};
pub use retries::Retries;
pub use token::TokenSource;
