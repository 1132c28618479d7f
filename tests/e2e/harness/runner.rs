//! Runs the tests in parallel over one database server, which ends with them.
//!
//! The harness of `cargo test` never runs code after the last test, so a database that all tests share would outlive
//! it. Here `main` owns it.

use std::{
    panic,
    process::ExitCode,
    sync::{Arc, Mutex},
    time::Duration,
};

use embedded_postgres::{Cluster, ClusterOptions, Endpoint};
use futures::future::LocalBoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
    sync::RwLock,
};

use super::{database, server_process};

/// A test: its name, and what it does.
pub(crate) struct Test {
    pub(crate) name: &'static str,
    pub(crate) run: fn() -> LocalBoxFuture<'static, ()>,
}

/// Declares `tests()` of a module: an asynchronous function that is not named here is dead code, and the build says so.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) fn tests() -> Vec<$crate::harness::Test> {
            vec![$($crate::harness::Test {
                name: concat!(module_path!(), "::", stringify!($name)),
                run: || Box::pin($name()),
            }),*]
        }
    };
}
pub(crate) use tests;

/// The `main` of the test program.
pub(crate) fn main(tests: Vec<Vec<Test>>) -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(server_process::ARGUMENT) {
        return server_process::main();
    }
    let arguments = Arguments::from_args();
    let trials = tests.into_iter().flatten().map(trial).collect();
    if arguments.list {
        return libtest_mimic::run(&arguments, trials).exit_code();
    }
    let runtime = runtime();
    runtime.spawn(stop_on_signal());
    let shared = runtime.block_on(async {
        let mut options = ClusterOptions::temporary();
        // Every service that is up at the same time has its own connections.
        options.settings.max_connections = 400;
        let cluster = OwnCluster::start(options).await;
        database::prepare(&cluster.endpoint).await;
        cluster
    });
    let conclusion = libtest_mimic::run(&arguments, trials);
    runtime.block_on(shared.stop());
    conclusion.exit_code()
}

fn trial(test: Test) -> Trial {
    // The crate's own name says nothing.
    let name = test.name.split_once("::").map_or(test.name, |(_, name)| name);
    Trial::test(name, move || {
        // A runtime of its own: whatever a test leaves running ends with it.
        let runtime = runtime();
        let result = panic::catch_unwind(panic::AssertUnwindSafe(|| runtime.block_on((test.run)())));
        runtime.shutdown_timeout(Duration::from_secs(10));
        result.map_err(|panic| match panic.downcast::<String>() {
            Ok(message) => Failed::from(*message),
            Err(panic) => Failed::from(panic.downcast_ref::<&str>().copied().unwrap_or("it panicked")),
        })
    })
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Database servers that run: they end with the tests, however those end.
static RUNNING: Mutex<Vec<Arc<Mutex<Option<Cluster>>>>> = Mutex::new(Vec::new());

/// Held for reading while a server starts and is not yet among those that run; for writing by who ends them all.
static STARTING: RwLock<()> = RwLock::const_new(());

/// A temporary database server.
pub(crate) struct OwnCluster {
    pub(crate) endpoint: Endpoint,
    cluster: Arc<Mutex<Option<Cluster>>>,
}

impl OwnCluster {
    pub(crate) async fn start(options: ClusterOptions) -> Self {
        let _starting = STARTING.read().await;
        let cluster = Cluster::start(options).await.unwrap_or_else(|error| panic!("no database for tests: {error}"));
        let endpoint = cluster.endpoint().clone();
        let cluster = Arc::new(Mutex::new(Some(cluster)));
        RUNNING.lock().unwrap().push(Arc::clone(&cluster));
        Self { endpoint, cluster }
    }

    pub(crate) async fn stop(&self) {
        stop(&self.cluster).await;
    }
}

impl Drop for OwnCluster {
    fn drop(&mut self) {
        // Of a test that failed: dropped, the server ends at once.
        drop(self.cluster.lock().unwrap().take());
    }
}

async fn stop(cluster: &Mutex<Option<Cluster>>) {
    let cluster = cluster.lock().unwrap().take();
    if let Some(cluster) = cluster {
        cluster.stop().await.unwrap();
    }
}

/// Whoever interrupts the tests does not want their databases to stay.
async fn stop_on_signal() {
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt()).unwrap(), signal(SignalKind::terminate()).unwrap());
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    let _no_more = STARTING.write().await;
    let running = std::mem::take(&mut *RUNNING.lock().unwrap());
    for cluster in running {
        stop(&cluster).await;
    }
    std::process::exit(130);
}
