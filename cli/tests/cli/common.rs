//! Runs commands and services of the `compliance` program.

use std::{
    fs,
    path::Path,
    process::{ChildStdin, Command},
    sync::OnceLock,
    thread,
};

use embedded_postgres::{Cluster, ClusterOptions, OWNER_ROLE};
use nix::sys::signal::Signal;
use test_support::remove_after_this_program;
pub(crate) use test_support::{DataDir, Program as Service, output, wait_until};
use tokio::runtime::Runtime;

/// Name of the second migrated database in each copy of the template.
pub(crate) const GIVEN: &str = "given";

/// Returns the path of the program: `COMPLIANCE_TEST_PROGRAM`, or this build. With an optimized program, tests measure the
/// performance that users get.
pub(crate) fn program() -> String {
    std::env::var("COMPLIANCE_TEST_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_compliance").to_owned())
}

/// Returns a command on a data folder, with free ports and without the caller's settings.
pub(crate) fn compliance(data: &DataDir) -> Command {
    test_support::service_command(&program(), data)
}

/// Returns a company's token, signed by the program with the secret in the data folder.
pub(crate) fn token(data: &DataDir, company: i64) -> String {
    test_support::program_token(&program(), data, company)
}

/// Starts the program and waits until it is ready.
pub(crate) fn start(data: &DataDir, arguments: &[&str]) -> Service {
    Service::start_as(compliance(data).args(arguments))
}

/// Returns a data folder with a migrated database.
///
/// The folder is a copy, because copying takes a fifth of the time of a first start.
pub(crate) fn migrated() -> DataDir {
    let data = DataDir::new();
    copy_template(data.path());
    data
}

/// Creates a data folder with two migrated databases: a service's own, and [`GIVEN`].
pub(crate) fn copy_template(folder: &Path) {
    static TEMPLATE: OnceLock<(DataDir, ChildStdin)> = OnceLock::new();
    let (template, _) = TEMPLATE.get_or_init(|| {
        let data = DataDir::new();
        let end = remove_after_this_program(data.path());
        let service = start(&data, &["serve"]);
        service.signal(Signal::SIGTERM);
        assert!(service.end().success());
        fs::remove_file(data.path().join("jwt-secret")).unwrap();
        // The first caller can be an asynchronous test, whose thread must not block on another runtime.
        let prepare = || {
            Runtime::new().unwrap().block_on(async {
                let cluster = Cluster::start(ClusterOptions::new(data.path())).await.unwrap();
                cluster.endpoint().create_database(GIVEN).await.unwrap();
                let url = cluster.endpoint().url(OWNER_ROLE, GIVEN);
                let (status, _, log) = output(compliance(&DataDir::new()).args(["migrate", "--database-url", &url]));
                assert!(status.success(), "{log}");
                cluster.stop().await.unwrap();
            });
        };
        thread::scope(|scope| scope.spawn(prepare).join()).unwrap();
        (data, end)
    });
    let (status, _, errors) = output(Command::new("cp").arg("-a").args([template.path(), folder]));
    assert!(status.success(), "{errors}");
}
