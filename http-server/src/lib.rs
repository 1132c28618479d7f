//! An HTTP server with limits on connections, for both layers of the service.
//!
//! `axum::serve` and `tonic::transport::Server` limit neither the number of connections nor the time that a silent one
//! stays open. Here every connection has a permit, times, and a stated end; a few connections are reserved for health
//! checks, so that a full service still reports its health. A shutdown fails no accepted request.

mod accept;
mod activity;
mod backlog;
mod body;
mod coalesce;
mod connection;
mod limits;
mod listener;
mod permits;
mod refusal;
mod stream;
mod traffic;
mod warnings;

pub use accept::serve;
pub use coalesce::Coalesced;
pub use connection::{App, FinishBy};
pub use limits::{Limits, Protocols, RESERVED_CONNECTIONS};
pub use listener::Listener;
pub use refusal::Refuse;
