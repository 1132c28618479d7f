//! The `compliance` program for tests: its commands and processes.

use std::process::{Command, Stdio};

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

/// Names the programs, separated by commas, that the tests can run without.
const WITHOUT: &str = "COMPLIANCE_TESTS_WITHOUT";

/// Fails without the programs that a test needs, because a test that runs nothing must not pass. Returns false if the variable allows their
/// absence.
pub(crate) fn have(programs: &[&str]) -> bool {
    let without = std::env::var(WITHOUT).unwrap_or_default();
    for program in programs {
        if without.split(',').any(|allowed| allowed == *program) {
            println!("{WITHOUT} names {program}: what needs it is NOT tried");
            return false;
        }
        let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(version.is_ok(), "{program} is not installed. {WITHOUT}={program} leaves out what needs it");
    }
    true
}
