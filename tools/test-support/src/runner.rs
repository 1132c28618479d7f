//! Runs tests in parallel over one database server, which ends with them.
//!
//! The harness of `cargo test` runs no code after the last test, so a database that all tests share would outlive
//! them. Here `main` owns it.

use std::{env, panic, process::ExitCode, time::Duration};

use embedded_postgres::ClusterOptions;
use futures::future::LocalBoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::{Builder, Runtime};

use crate::{citus, cluster, cluster::TestCluster, database};

/// A test: its name with the path of its module, and its body.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "see above")]
pub struct Test {
    pub name: &'static str,
    pub run: fn() -> LocalBoxFuture<'static, ()>,
}

/// Declares `tests()` of a module. An asynchronous function that is not named here is dead code, which the lints refuse.
#[macro_export]
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) fn tests() -> ::std::vec::Vec<$crate::Test> {
            ::std::vec![$($crate::Test {
                name: concat!(module_path!(), "::", stringify!($name)),
                run: || ::std::boxed::Box::pin($name()),
            }),*]
        }
    };
}

/// The `main` of a test program (`harness = false`): starts the database server, runs the tests that the command line
/// selects, and stops the server. As many run at a time as `RUST_TEST_THREADS` says, or as there are processors.
pub fn run(tests: Vec<Vec<Test>>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    if let (None, Ok(threads)) = (arguments.test_threads, env::var("RUST_TEST_THREADS")) {
        arguments.test_threads = Some(threads.parse().expect("RUST_TEST_THREADS is a number"));
    }
    if arguments.list {
        let trials = tests.into_iter().flatten().map(trial).collect();
        return libtest_mimic::run(&arguments, trials).exit_code();
    }
    let runtime = runtime();
    runtime.spawn(cluster::stop_on_signal());
    let server = runtime.block_on(async {
        if citus::prepare().await {
            return None;
        }
        let mut options = ClusterOptions::temporary();
        // Every service that runs at the same time has its own connections.
        options.max_connections = 400;
        let folder = options.data_dir.clone();
        let server = TestCluster::start(options).await;
        database::prepare(&server.endpoint).await;
        database::start_pooler(&server.endpoint, &folder).await;
        Some(server)
    });
    let trials = tests.into_iter().flatten().map(trial).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    database::stop_pooler();
    if let Some(server) = server {
        runtime.block_on(server.stop());
    }
    conclusion.exit_code()
}

fn trial(test: Test) -> Trial {
    // The name of the crate is the same for all.
    let name = test.name.split_once("::").map_or(test.name, |(_, name)| name);
    let skipped = citus::skipped(name);
    let trial = Trial::test(name, move || {
        // A runtime for each test: whatever a test leaves running ends with it.
        let runtime = runtime();
        let result = panic::catch_unwind(panic::AssertUnwindSafe(|| runtime.block_on((test.run)())));
        runtime.shutdown_timeout(Duration::from_secs(10));
        self::runtime().block_on(citus::drop_created());
        result.map_err(|panic| match panic.downcast::<String>() {
            Ok(message) => Failed::from(*message),
            Err(panic) => Failed::from(panic.downcast_ref::<&str>().copied().unwrap_or("it panicked")),
        })
    });
    match skipped {
        Some(reason) => trial.with_kind(reason).with_ignored_flag(true),
        None => trial,
    }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
