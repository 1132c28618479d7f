//! Tests the gateway over real sockets, in front of a fake core.

#![expect(clippy::unwrap_used, reason = "an error fails the test")]
#![allow(clippy::disallowed_methods, reason = "the test's runtime aborts its tasks")]

mod connections;
mod fake;
mod fake_services;
mod harness;
mod hostile;
mod lists;
mod order;
mod remote;
