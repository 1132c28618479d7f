//! The axum facade: the documented JSON interface in front of the gRPC service.
//!
//! The way of a request: token checked → JSON to message (only what cannot be said as a message is refused here) → one
//! call of the core, bearer, request ID and deadline forwarded → message to JSON envelope. Rules, limits and data are
//! the core's, which may run in the same process or on another machine.

mod context;
mod envelope;
mod error;
mod extract;
mod gateway;
mod observe;
mod rate_limit;
mod remote;
mod router;
mod routes;
mod serve;
mod settings;
mod stream;

pub use remote::{CoreChannel, RemoteError, connect, remote};
pub use router::router;
pub use serve::serve;
pub use settings::Settings;
