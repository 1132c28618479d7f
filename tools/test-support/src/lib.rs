//! Test helpers for every crate: databases, tokens, clients, processes and cleanup.
//!
//! Functions panic on errors, which fails the test.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "the test's runtime aborts its tasks")]

#[cfg(feature = "core")]
mod citus;
mod cluster;
mod codec;
mod contract;
mod data_dir;
#[cfg(feature = "core")]
mod database;
mod grpc;
#[cfg(feature = "core")]
mod locked_table;
mod network_server;
mod pooler;
pub mod priority;
mod process;
mod program;
mod proxy;
mod records;
mod rest;
#[cfg(feature = "service")]
mod server_process;
#[cfg(feature = "service")]
mod service;
#[cfg(feature = "core")]
mod test_core;
mod tokens;
pub mod values;
#[cfg(feature = "core")]
mod webhook_receiver;

#[cfg(feature = "core")]
pub use citus::{activity, connect_to_citus};
pub use cluster::{TestCluster, remove_after_this_program};
pub use codec::Bytes;
pub use contract::{DocumentedRoute, documented_route, documented_routes_with_token};
pub use data_dir::DataDir;
#[cfg(feature = "core")]
pub use database::{TestDatabase, fresh_database};
pub use grpc::{Bearer, Calls, GrpcClients, reason_of};
#[cfg(feature = "core")]
pub use locked_table::LockedTable;
pub use network_server::NetworkServer;
pub use process::{command_line, is_running, kill_process, output, wait_until};
pub use program::{Program, program_token, service_command};
pub use proxy::{Held, Proxy};
pub use records::{named, update_of};
pub use rest::{RestClient, RestResponse};
#[cfg(feature = "service")]
pub use server_process::{ServerProcess, serve_for_a_test};
#[cfg(feature = "service")]
pub use service::{Layer, Options, TestService};
#[cfg(feature = "core")]
pub use test_core::{TestCore, webhooks};
pub use tokens::{
    every_scope, forged_token, invalid_tokens, new_company, now, secret, sign, token, token_with_scope, verifier,
};
#[cfg(feature = "core")]
pub use webhook_receiver::{Reaction, Received, WebhookReceiver};
