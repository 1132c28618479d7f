//! The steps of an orderly shutdown.

use std::time::Duration;

use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

/// How long connections may take to come back to the pool. A connection whose statement was abandoned comes back only
/// when the statement has ended.
const POOL_CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Closes the connections to the database; those that do not come back within 10 s are cut off.
pub async fn close_pool(pool: &PgPool) {
    if tokio::time::timeout(POOL_CLOSE_TIMEOUT, pool.close()).await.is_err() {
        tracing::warn!("connections to the database are still in use and are cut off");
    }
}

/// Runs a step of the start. Returns `None` if `shutdown` is cancelled before the step is complete.
pub async fn until_shutdown<T>(
    shutdown: &CancellationToken,
    step: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<Option<T>> {
    shutdown.run_until_cancelled(step).await.transpose()
}
