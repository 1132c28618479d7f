//! Tests of the core with a real PostgreSQL. They are one program, which is linked once and starts one server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, reason = "tasks of tests end with them")]

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
