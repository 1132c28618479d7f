//! Compliance URLs: the web addresses monitored for the company.

mod add;
mod list;
pub(crate) mod record;
mod service;

/// The statement that finds URLs by their hashes, with the types of its parameters.
pub(crate) const KNOWN: (&str, &str) = (add::KNOWN, "bigint, bytea[]");

/// The statements that write URLs, with the types of their parameters.
pub(crate) const WRITE_STATEMENTS: [(&str, &str); 1] =
    [(include_str!("urls/add.sql"), "bigint[], text[], bytea[], text[], text[]")];

pub use add::FEW_URLS;
pub(crate) use add::identity;
pub(crate) use list::{LIST, STATEMENTS, WHOLE, search_statement, single};
pub(crate) use service::ComplianceUrls;
