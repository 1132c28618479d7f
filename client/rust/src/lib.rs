#![doc = include_str!("../README.md")]

mod builder;
mod client;
mod endpoint;
mod error;
mod lists;
mod request;
mod retries;
mod status;
mod token;
/// Messages of the contract (requests, responses and records), and plain clients of its services.
#[allow(
    missing_docs,
    unused_qualifications,
    clippy::pedantic,
    clippy::doc_lazy_continuation,
    reason = "generated: what the generators add to the declarations has no comments of ours"
)]
#[rustfmt::skip]
pub mod v1;

pub use builder::Builder;
pub use client::Client;
pub use error::{BoxError, Error, Violation};
pub use lists::List;
pub use request::{Request, UnaryRequest};
pub use retries::Retries;
pub use token::TokenSource;
