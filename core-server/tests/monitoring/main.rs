//! The internal write side, over a real PostgreSQL: what it is told, and what partners then read.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;

mod cases;
mod concurrency;
mod dates;
mod export;
mod ground;
mod incidents;
mod infractions;
mod isolation;
mod observations;
mod stream;
mod vocabularies;

use std::process::ExitCode;

fn main() -> ExitCode {
    common::main(vec![
        cases::tests(),
        concurrency::tests(),
        dates::tests(),
        export::tests(),
        incidents::tests(),
        infractions::tests(),
        isolation::tests(),
        observations::tests(),
        stream::tests(),
        vocabularies::tests(),
    ])
}
