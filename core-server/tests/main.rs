//! The tests of the core over a real PostgreSQL. They are one program, so that it is linked once and starts one server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod changes;
mod citus;
mod doctor;
mod exhausted;
mod hosts;
mod monitoring;
mod open_streams;
mod schema;
mod shutdown;
mod single_reads;
mod webhooks;
mod wire;
mod writes;

use std::process::ExitCode;

fn main() -> ExitCode {
    test_support::run(vec![
        changes::tests(),
        changes::chain::tests(),
        changes::changed::tests(),
        changes::clock::tests(),
        changes::erasure::tests(),
        changes::names::tests(),
        changes::order::tests(),
        changes::owners::tests(),
        changes::past::tests(),
        changes::replay::tests(),
        changes::restores::tests(),
        changes::watch::tests(),
        citus::tests(),
        doctor::tests(),
        exhausted::tests(),
        hosts::tests(),
        monitoring::tests(),
        open_streams::tests(),
        schema::tests(),
        schema::large_tables::tests(),
        shutdown::tests(),
        single_reads::tests(),
        webhooks::tests(),
        webhooks::clocks::tests(),
        webhooks::endpoints::tests(),
        webhooks::hanging::tests(),
        webhooks::sizes::tests(),
        wire::tests(),
        writes::tests(),
    ])
}
