//! The axum facade: the documented JSON interface in front of the gRPC service.
//!
//! A request passes through: token check → JSON to message → one call of the core, with the token, the request ID and a
//! deadline → message to JSON envelope. The gateway refuses only what no message can hold. Rules, rate limits and data
//! are the core's, which may run in the same process or on another machine.
//!
//! Modules depend on each other in one direction: [`router`] → `routes` → `caller`, `extract`, `envelope`, `error` → the
//! contract. `openapi` makes `docs/openapi.json`, which is served, from what the routes use; it is compiled for tests alone.

mod caller;
mod compression;
mod cors;
mod envelope;
mod error;
mod exchange;
mod extract;
mod found;
mod gateway;
#[cfg(test)]
mod json;
mod observe;
#[cfg(test)]
mod openapi;
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
