//! Runs the program until it ends or receives a signal.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use tokio::signal::unix::{SignalKind, signal};

/// Runs a future until it ends or the process receives a signal.
///
/// A signal drops the future, which stops its child processes. Use few threads, because the generator shares the machine with the service.
pub(crate) fn run(name: &str, threads: usize, program: impl Future<Output = anyhow::Result<()>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let result = runtime.context("cannot start the async runtime").and_then(|runtime| {
        let result = runtime.block_on(async {
            let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
            tokio::select! {
                result = program => result,
                _ = terminate.recv() => bail!("stopped by a signal"),
                _ = interrupt.recv() => bail!("stopped by a signal"),
            }
        });
        runtime.shutdown_background();
        result
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
