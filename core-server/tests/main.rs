//! Integration tests for the core, against a real PostgreSQL server. A single binary is linked once and starts one server.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "the test's runtime aborts its tasks")]

mod changes;
mod citus;
mod doctor;
mod exhausted;
mod monitoring;
mod open_streams;
mod schema;
mod search;
mod shutdown;
mod single_reads;
mod webhooks;
mod wire;
mod writes;
