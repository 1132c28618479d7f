//! The life of a program: its threads, and how signals end it.

use std::{pin::pin, process::ExitCode};

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use crate::Signals;

/// Runs an asynchronous program to its end on threads of its own. Blocking calls that are still running then do not
/// delay the exit.
pub fn block_on<T>(program: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let threads = threads.context("the program cannot start its threads")?;
    let result = threads.block_on(program);
    threads.shutdown_background();
    result
}

/// Runs a program that serves until the token is cancelled. The first signal cancels it, so that accepted requests are
/// finished; the second ends the program at once, with status 1.
pub fn serve_until_signal<F>(serve: impl FnOnce(CancellationToken) -> F) -> anyhow::Result<ExitCode>
where
    F: Future<Output = anyhow::Result<()>>,
{
    block_on(async {
        let mut signals = Signals::listen()?;
        let shutdown = CancellationToken::new();
        let mut served = pin!(serve(shutdown.clone()));
        tokio::select! {
            result = &mut served => return result.map(|()| ExitCode::SUCCESS),
            signal = signals.next() => {
                tracing::info!(signal, "stopping: accepted requests are finished first; a second signal cuts them off");
                shutdown.cancel();
            }
        }
        tokio::select! {
            result = served => result.map(|()| ExitCode::SUCCESS),
            signal = signals.next() => {
                tracing::warn!(signal, "stopping at once");
                Ok(ExitCode::FAILURE)
            }
        }
    })
}
