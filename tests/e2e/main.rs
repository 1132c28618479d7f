//! End-to-end tests for the service, over real sockets and against a real PostgreSQL server.
//!
//! `docs/testing.md` describes the modules and how to add a case.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "the test's runtime aborts its tasks")]
#![allow(clippy::too_many_lines, clippy::type_complexity, reason = "tables of cases are long and wide")]

mod batch_read;
mod bounds;
mod cases;
mod citus;
mod company_limits;
mod concurrency;
mod conditions;
mod counts;
mod described;
mod encodings;
mod faults;
mod files;
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
mod programs;
mod rate_limit;
mod real_input;
mod restore;
mod roles;
mod sizes;
mod streams;
mod upgrade;
mod watch;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a server process for other tests"]
async fn serve_for_a_test() {
    test_support::serve_for_a_test().await;
}
