//! The HTTP server of both layers.
//!
//! `axum::serve` and `tonic::transport::Server` limit neither the number of connections nor the time of a silent connection. Here, every
//! connection has a permit and timeouts, and a few connections are reserved for health checks.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tasks of tests end with them"))]

mod accept;
mod activity;
mod backlog;
mod connection;
mod connection_limits;
mod permits;
mod stream;
mod traffic;

pub use accept::{Listener, serve, serve_unready};
pub use connection::{App, FinishBy, peer, shutdown};
pub use connection_limits::{ConnectionLimits, HEALTH_CONNECTIONS};
pub use permits::network;
pub use stream::Refuse;
