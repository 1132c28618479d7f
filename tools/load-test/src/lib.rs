//! Clients, requests and checks to load-test either layer of the service.
#![allow(clippy::disallowed_methods, reason = "spawned tasks end with the load")]

pub mod check;
pub mod client;
pub mod load;
pub mod measure;
pub mod target;
pub mod workload;
