//! The core of the Affiliate Compliance Service: tonic services that implement every operation over PostgreSQL.
//!
//! A request passes through the pipeline (overload, [`access`], deadline, panics), its resource's service (rules), and one SQL statement.
//! [`Core::serve`] serves the network. [`Core::clients`] returns in-process clients.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "the test's runtime aborts its tasks"))]

pub mod access;
mod affiliates;
pub mod audit;
mod backend;
mod cases;
mod changes;
mod company_limits;
pub mod database;
pub mod doctor;
pub mod erasure;
mod gauges;
mod lists;
mod message_streams;
mod monitoring;
mod overview;
mod quotas;
mod record_sql;
mod schema;
mod search;
pub mod server;
mod settings;
mod urls;
mod webhooks;
mod whole_lists;

pub use company_limits::{CompanyLimit, Limit};
pub use schema::{list_statements, read_statements, scan_statements, write_statements};
pub use server::{Core, CoreService, StartError, unready};
pub use settings::{CoreSettings, GrpcConnections, WebhookSettings};
pub use storage::table::SchemaError;

/// Thresholds at which operations change strategy, and limits that tests exercise.
pub mod limits {
    pub use crate::{
        affiliates::MANY_AFFILIATES,
        changes::{CHANGED_ENTRIES, CHANGED_ROWS},
        erasure::{ERASED_RECORDS, ERASED_ROWS},
        lists::PART,
        message_streams::MESSAGE_BYTES,
        quotas::{CALL_SHARE, HEAVY_ITEMS, OPEN_STREAMS, WATCHERS_OF_A_COMPANY},
        urls::FEW_URLS,
        whole_lists::{MESSAGE_RECORDS, PAGE_RECORDS},
    };
}
