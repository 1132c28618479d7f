//! Clients, workloads and checks for putting load on either layer of the service, and the service itself as child
//! processes over a database with made data.
#![allow(clippy::disallowed_methods, reason = "tasks end with the load")]

pub mod affiliate_list;
pub mod check;
pub mod grpc;
pub mod http;
pub mod load;
pub mod measure;
pub mod priority;
mod program;
pub mod service;
pub mod target;
pub mod workload;

pub use program::run;
