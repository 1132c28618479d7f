//! The axum facade: the documented JSON interface in front of the gRPC service.
//!
//! Modules depend on each other in one direction: [`router`] → `routes` → `extract`, `streamed` → `caller` → `envelope`
//! → `head`, `route` → `accept`, `content` → the contract.

mod accept;
mod caller;
mod compression;
mod content;
mod envelope;
mod extract;
mod gateway;
mod head;
pub mod limits;
mod observe;
mod remote;
mod route;
mod router;
mod routes;
mod server;
mod settings;
mod sign_in;
mod streamed;

pub use content::{FILE_OPTIONS, FILES};
pub use remote::{CoreChannel, RemoteError, connect, remote};
pub use route::Route;
pub use router::{ROUTES, router, unready};
pub use server::serve;
pub use settings::{RestConnections, Settings};
pub use sign_in::{ConsoleSignIn, SentToken};
