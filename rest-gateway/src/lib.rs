//! The axum facade: the documented JSON interface in front of the gRPC service.
//!
//! Modules depend on each other in one direction: [`router`] → `routes` → `caller`, `extract`, `envelope`, `error` → the
//! contract.

mod caller;
mod compression;
mod envelope;
mod error;
mod exchange;
mod extract;
mod found;
mod gateway;
mod ignored;
mod limits;
mod observe;
mod remote;
mod route;
mod router;
mod routes;
mod serve;
mod settings;
mod stream;

pub use remote::{CoreChannel, RemoteError, connect, remote};
pub use route::Route;
pub use router::{ROUTES, router, unready};
pub use serve::serve;
pub use settings::{RestConnections, Settings};
