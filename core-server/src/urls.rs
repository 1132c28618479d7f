//! Compliance URLs: the web addresses monitored for the company.

mod add;
mod add_few;
mod list;
pub(crate) mod record;
mod service;

pub(crate) use add::identity;
pub(crate) use list::{single, statements};
pub(crate) use service::ComplianceUrls;
