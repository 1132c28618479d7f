//! Compliance URLs: the web addresses monitored for the company.

mod add;
mod add_few;
mod list;
pub(crate) mod record;
mod service;

/// The statements that write URLs, with the types of their parameters.
pub(crate) const WRITE_STATEMENTS: [(&str, &str); 2] = [
    (include_str!("urls/add.sql"), "bigint, text[], bytea[], text[]"),
    (include_str!("urls/add_few.sql"), "bigint[], text[], bytea[], text[], text"),
];

pub(crate) use add::identity;
pub(crate) use list::{counted, read_statements, single, statements};
pub(crate) use service::ComplianceUrls;
