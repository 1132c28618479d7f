//! Compliance URLs: the web addresses monitored for the company.

mod add;
mod list;
mod record;
mod service;

pub(crate) use service::ComplianceUrls;
