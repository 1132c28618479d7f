//! Figures of all records of a company.

mod figures;
mod service;

pub(crate) use service::Overviews;

/// The statement that reads them, with the types of its parameters.
pub(crate) const STATEMENT: (&str, &str) = (include_str!("overview/overview.sql"), "bigint, timestamptz");
