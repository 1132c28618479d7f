//! The life of a program: its threads, its clock, and how signals end it.

use std::{
    pin::pin,
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::Context as _;
use sqlx::PgPool;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::program::signals::Signals;

/// How long connections may take to come back to the pool, as after an abandoned statement.
const POOL_CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs an asynchronous program to its end on threads of its own. Blocking calls that are still running then do not
/// delay the exit.
pub(crate) fn block_on<T>(program: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let threads = threads.context("the program cannot start its threads")?;
    let result = threads.block_on(program);
    threads.shutdown_background();
    result
}

/// Runs a program that serves until the token is cancelled. The first signal cancels it, so that accepted requests are
/// finished; the second ends the program at once, with status 1.
pub(crate) fn serve_until_signal<F>(serve: impl FnOnce(CancellationToken) -> F) -> anyhow::Result<ExitCode>
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

/// Closes the connections to the database; those that do not come back within 10 s are cut off.
pub(crate) async fn close_pool(pool: &PgPool) {
    if timeout(POOL_CLOSE_TIMEOUT, pool.close()).await.is_err() {
        tracing::warn!("connections to the database are still in use and are cut off");
    }
}

/// The seconds since 1970, as tokens count them. Fails if the system's clock shows an earlier time.
pub(crate) fn unix_now() -> anyhow::Result<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock shows a time before 1970")?;
    Ok(since.as_secs() as i64)
}
