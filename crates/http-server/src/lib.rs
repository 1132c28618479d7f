//! The HTTP server of both layers.
//!
//! `axum::serve` and `tonic::transport::Server` limit neither the number of connections nor the time of a silent connection. Here, every
//! connection has a permit and timeouts, and a few connections are reserved for health checks.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tasks of tests end with them"))]

mod accept;
mod activity;
mod backlog;
mod body;
mod coalesce;
mod connection;
mod connection_limits;
mod peer;
mod permits;
mod refusal;
mod stream;
mod traffic;
mod unready;

pub use accept::{Listener, serve};
pub use connection::{App, FinishBy};
pub use connection_limits::{ConnectionLimits, HEALTH_CONNECTIONS};
pub use peer::{peer, shutdown};
pub use permits::network;
pub use refusal::Refuse;
pub use unready::serve_unready;
