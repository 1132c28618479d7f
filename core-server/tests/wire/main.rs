//! What goes over the database's wire: one round trip an operation, counted between the service and a real PostgreSQL.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;
mod proxy;
mod round_trips;

use std::process::ExitCode;

fn main() -> ExitCode {
    common::main(vec![round_trips::tests()])
}
