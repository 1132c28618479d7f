#![doc = include_str!("../README.md")]

mod builder;
mod client;
mod error;
mod lists;
mod retries;
mod token;

pub use builder::Builder;
pub use client::Client;
pub use compliance_api::UnaryRequest;
/// Messages of the contract: requests, responses and records.
pub use compliance_api::v1;
pub use error::{BoxError, Error, Violation};
pub use lists::List;
pub use retries::Retries;
pub use token::TokenSource;
