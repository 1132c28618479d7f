//! The gateway through real sockets, in front of a core that is made up.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

mod bodies;
mod connections;
mod fake;
mod fake_services;
mod harness;
mod hostile;
mod lists;
mod order;
mod remote;
