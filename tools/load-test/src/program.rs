//! How a program runs.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use tokio::signal::unix::{SignalKind, signal};

/// Runs a program until its end or a signal. Dropping it stops the processes that it has started. The generator shares the
/// machine with the service, so more threads than needed would compete with it.
pub fn run(name: &str, threads: usize, program: impl Future<Output = anyhow::Result<()>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let result = runtime.context("the program cannot start its threads").and_then(|runtime| {
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
