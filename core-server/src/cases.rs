//! Compliance cases: incidents grouped for an affiliate.

mod list;
pub(crate) mod record;
mod service;

pub(crate) use list::{counted, read_statements, single, statements};
pub(crate) use service::ComplianceCases;
