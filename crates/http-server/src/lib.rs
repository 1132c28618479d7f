//! The HTTP server of both layers.
//!
//! `axum::serve` and `tonic::transport::Server` limit neither the number of connections nor the time of a silent connection. Here, every
//! connection has a permit and timeouts, and a shutdown waits until load balancers have noticed it.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tasks of tests end with them"))]

mod combined_writes;
mod connection;
mod limits;
mod requests;
mod server;
mod traffic;

pub use connection::{App, FinishBy, closing, is_draining, peer};
pub use limits::ConnectionLimits;
pub use server::{Listener, serve};
