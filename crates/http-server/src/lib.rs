//! The HTTP server for the gateway and the core.
//!
//! `axum::serve` and `tonic::transport::Server` limit neither the number of connections nor the time a connection stays silent. This server
//! requires a permit for each connection, applies timeouts, and delays shutdown until load balancers have noticed it.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "the test's runtime aborts its tasks"))]

mod combined_writes;
mod connection;
mod limits;
mod requests;
mod server;
mod traffic;

pub use connection::{App, FinishBy, closing, is_draining, peer};
pub use limits::ConnectionLimits;
pub use server::{Listener, serve};
