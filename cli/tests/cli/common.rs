//! The `compliance` program for tests: its commands and processes.

use std::process::Command;

pub(crate) use test_support::{DataDir, Program as Service, output, wait_until};

/// The program of this build, or the program in `COMPLIANCE_TEST_PROGRAM`. With an optimized program, tests measure the performance that
/// users get.
pub(crate) fn program() -> String {
    std::env::var("COMPLIANCE_TEST_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_compliance").to_owned())
}

/// A command of the program on a data folder, with free ports and none of the caller's settings.
pub(crate) fn compliance(data: &DataDir) -> Command {
    test_support::service_command(&program(), data)
}

/// A token of a company, issued by the program with the secret in the data folder.
pub(crate) fn token(data: &DataDir, company: i64) -> String {
    test_support::program_token(&program(), data, company)
}

/// Starts the program and waits until it is ready.
pub(crate) fn start(data: &DataDir, arguments: &[&str]) -> Service {
    Service::start_as(compliance(data).args(arguments))
}
