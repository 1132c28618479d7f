#![doc = include_str!("../README.md")]

mod builder;
mod client;
mod error;
mod request;
mod retries;
mod status;
mod token;
pub mod v1;

pub use builder::Builder;
pub use client::Client;
pub use error::{BoxError, Error, Violation};
// Message fields have these types.
pub use prost_types::{FieldMask, Timestamp};
pub use request::{List, Request, UnaryRequest};
pub use retries::Retries;
pub use token::TokenSource;
