//! Requests to the service, for either layer.

mod bodies;
mod request;
mod scenario;
mod universe;

pub use bodies::{affiliate, affiliate_json};
pub use fastrand::Rng;
pub use request::{LoadRequest, rows_on};
pub use scenario::{Plan, Scenario};
pub use universe::{Ids, Universe};
