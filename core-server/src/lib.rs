//! The core of the Affiliate Compliance Service: a tonic service that implements every operation over PostgreSQL.
//!
//! A request passes the pipeline (overload, [`access`], deadline, panics), the service of its resource (rules) and one SQL
//! statement. [`Core::serve`] serves the network, [`Core::clients`] are clients in the same process.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tasks of tests end with them"))]

pub mod access;
mod affiliates;
pub mod audit;
mod backend;
mod cases;
mod changes;
mod chunks;
mod company_limits;
pub mod database;
pub mod doctor;
pub mod erasure;
mod etag;
mod gauges;
mod health;
mod infraction_lists;
pub mod limits;
mod lists;
mod monitoring;
mod overview;
mod record_pages;
mod record_query;
mod requests;
mod roles;
mod schema;
mod search;
pub mod serve;
mod settings;
mod shares;
mod statements;
mod urls;
mod usage;
mod webhooks;

pub use company_limits::{CompanyLimit, Limit};
pub use serve::{Core, CoreService, StartError, unready};
pub use settings::{CoreSettings, GrpcConnections, WebhookSettings};
pub use statements::{list_statements, read_statements, scan_statements, write_statements};
pub use storage::table::SchemaError;
