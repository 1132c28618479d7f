//! Controls a program's life cycle: threads, clock, and shutdown by signals.

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

/// Maximum wait for connections to return to the pool. An abandoned statement delays its connection.
const POOL_CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs an asynchronous program on its own threads. Blocking calls in progress do not delay the exit.
pub(crate) fn block_on<T>(program: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let threads = threads.context("cannot start the program's threads")?;
    let result = threads.block_on(program);
    threads.shutdown_background();
    result
}

/// Runs a server until the token is cancelled. The first signal cancels the token, and the server finishes accepted requests. The second signal stops
/// the program immediately, with status 1.
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
                tracing::info!(signal, "stopping: finishing accepted requests; a second signal stops the process immediately");
                shutdown.cancel();
            }
        }
        tokio::select! {
            result = served => result.map(|()| ExitCode::SUCCESS),
            signal = signals.next() => {
                tracing::warn!(signal, "stopping immediately");
                Ok(ExitCode::FAILURE)
            }
        }
    })
}

/// Closes the database connections. After 10 s, aborts connections that are still in use.
pub(crate) async fn close_pool(pool: &PgPool) {
    if timeout(POOL_CLOSE_TIMEOUT, pool.close()).await.is_err() {
        tracing::warn!("closing database connections that are still in use");
    }
}

/// Returns the Unix time, in seconds. Fails if the system clock shows a time before 1970.
pub(crate) fn unix_now() -> anyhow::Result<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).context("the system clock shows a time before 1970")?;
    Ok(since.as_secs() as i64)
}
