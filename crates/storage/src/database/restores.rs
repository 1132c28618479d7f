//! Moves positions and IDs ahead after a restore or a failover, before the service uses the database.
//!
//! `migrations/20261128000020_restores.sql` explains the detection, and `…80_restores_by_time.sql` explains how far they jump.

use std::time::Duration;

use sqlx::{Connection as _, FromRow, PgConnection, PgPool};
use telemetry::metrics::{count, describe};
use tokio::time::{sleep, timeout};

use crate::error::{is_missing_object, text};

/// Metric that counts detected restores.
const RESTORES: &str = "compliance_database_restores_total";
/// Timeout for moving all positions and IDs ahead.
const RESTORE_TIMEOUT: Duration = Duration::from_mins(10);
/// Delay before retrying a failed jump.
const RESTORE_PAUSE: Duration = Duration::from_secs(1);

/// Disables timeouts, because another process may be moving the same positions and IDs. On Citus, the function changes a function after it reads
/// tables, so each node needs a single connection.
const BEGIN: &str = "begin; set local statement_timeout = 0; set local lock_timeout = 0;
    set local citus.multi_shard_modify_mode = 'sequential'";

/// Jump of one counter.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Jump {
    /// `company` for positions, `sequence` for IDs.
    pub kind: String,
    /// Company ID or sequence name.
    pub name: String,
    /// Last number before the jump.
    pub before: i64,
    /// Last number after the jump. The next number follows it.
    pub after: i64,
}

/// Moves all companies' positions and all IDs ahead.
///
/// Does not check whether the database was restored.
///
/// # Errors
///
/// If the database does not respond, or the role does not own it.
pub async fn jump_ahead(connection: &mut PgConnection) -> Result<Vec<Jump>, sqlx::Error> {
    let mut transaction = connection.begin_with(BEGIN).await?;
    let jumps = sqlx::query_as("select * from jump_ahead()").fetch_all(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(jumps)
}

/// Detects a restore before the service starts.
pub async fn start(pool: &PgPool) -> Result<(), sqlx::Error> {
    describe(RESTORES, "Detected database restores and standby promotions.", "noticed", &["automatically"]);
    notice(&mut *pool.acquire().await?).await
}

/// Moves positions and IDs ahead if the database was restored.
pub(super) async fn notice(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let noticed = async {
        let mut transaction = connection.begin_with(BEGIN).await?;
        let has_jumped: bool = sqlx::query_scalar("select notice_restore()").fetch_one(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(has_jumped)
    };
    if timeout(RESTORE_TIMEOUT, noticed).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))? {
        count(RESTORES, "noticed", "automatically");
        tracing::warn!(
            "the database was restored, or a standby took over: positions and IDs have jumped ahead, and readers of lost changes \
             must read all records again"
        );
    }
    Ok(())
}

/// Like [`notice`], but for a running service. Does not log missing functions, which occur during a restore.
///
/// Pauses after any other failure, because each attempt reads all tables.
pub(super) async fn notice_if_ready(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let noticed = notice(connection).await;
    if let Err(error) = &noticed
        && !is_missing_object(error)
    {
        tracing::error!(
            "the database was restored, but its positions cannot jump ahead. If the restore has ended, run `compliance restored` as \
             the database owner: {}",
            text(error)
        );
        sleep(RESTORE_PAUSE).await;
    }
    noticed
}
