//! The end-to-end tests: the real service over a real PostgreSQL, through real sockets.
//!
//! `docs/testing.md` describes the modules, and how to add a case.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::too_many_lines, clippy::type_complexity, reason = "tables are as long and as wide as what they list")]

mod batch_read;
mod bounds;
mod cases;
mod citus;
mod concurrency;
mod conditions;
mod counts;
mod described;
mod encodings;
mod faults;
mod formats;
mod grpc_only;
mod hostile;
mod http;
mod ignored;
mod isolation;
mod leavers;
mod model;
mod outage;
mod plans;
mod rate_limit;
mod real_input;
mod restore;
mod roles;
mod sizes;
mod streams;
mod upgrade;
mod watch;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(status) = test_support::serve_if_requested() {
        return status;
    }
    let status = test_support::run(vec![
        batch_read::tests(),
        bounds::all_tests(),
        cases::tests(),
        citus::tests(),
        concurrency::tests(),
        conditions::tests(),
        counts::tests(),
        described::all_tests(),
        encodings::tests(),
        faults::tests(),
        formats::tests(),
        grpc_only::tests(),
        hostile::tests(),
        http::tests(),
        ignored::tests(),
        isolation::all_tests(),
        leavers::tests(),
        model::tests(),
        outage::tests(),
        plans::tests(),
        rate_limit::tests(),
        real_input::tests(),
        restore::tests(),
        roles::tests(),
        sizes::tests(),
        streams::tests(),
        upgrade::tests(),
        watch::tests(),
    ]);
    cases::print_count();
    test_support::print_compared_with_document();
    status
}
