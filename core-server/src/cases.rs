//! Compliance cases: incidents grouped for an affiliate.

mod list;
mod record;
mod service;

pub(crate) use service::ComplianceCases;
