//! Generates requests to the service, for either layer.

mod bodies;
mod request;
mod scenario;

pub use bodies::{affiliate, affiliate_json};
pub use fastrand::Rng;
pub use request::LoadRequest;
pub use scenario::{Plan, Scenario, Universe};
