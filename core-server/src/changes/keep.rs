//! The months of the record of changes: made before they begin, and dropped once all of their changes are old enough.

use sqlx::Executor as _;

use crate::{
    database::Connections,
    error::is_lock_timeout,
    limits::{CHANGE_UPKEEP, SHARED_LOCK_TIMEOUT},
    statement::Purpose,
};

/// Keeps changes for so many days, and those of a month as long as its last one, until this is dropped. There is no hurry at start: what
/// comes before a month is made is in the default partition.
pub(crate) async fn keep(pool: Connections, days: i32) {
    let pool = pool.with_lock_timeout(SHARED_LOCK_TIMEOUT);
    loop {
        tokio::time::sleep(CHANGE_UPKEEP).await;
        let keep = sqlx::query("select keep_changes($1)").bind(days);
        let kept = Purpose::of("upkeep of changes").run((&pool).execute(keep)).await;
        if let Err(error) = kept
            && !is_lock_timeout(&error)
        {
            tracing::warn!("the months of the record of changes could not be made or dropped: {error}");
        }
    }
}
