//! Compliance cases: incidents grouped for an affiliate.

mod list;
pub(crate) mod record;
mod service;

pub(crate) use list::{LIST, STATEMENTS, WHOLE, single};
pub(crate) use service::ComplianceCases;
