//! The end-to-end tests: the real service over a real PostgreSQL, through real sockets.
//!
//! `docs/testing.md` tells what is where, and how to add a case.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cases;
mod harness;

use std::process::ExitCode;

fn main() -> ExitCode {
    let status = harness::main(vec![cases::tests()]);
    cases::tell_count();
    status
}
