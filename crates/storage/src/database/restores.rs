//! After a restore or a fail-over, positions and IDs jump ahead before the database is served.
//!
//! `migrations/20261128000020_restores.sql` explains how this is detected, and `…80_restores_by_time.sql` how far they jump.

use std::time::Duration;

use sqlx::{Connection as _, FromRow, PgConnection, PgPool};
use telemetry::metrics::{count, describe};
use tokio::time::{sleep, timeout};

use crate::error::{is_missing_object, text};

/// Number of detected restores.
const RESTORES: &str = "compliance_database_restores_total";
/// Timeout of the jump of all positions and IDs after a restore.
const RESTORE_TIMEOUT: Duration = Duration::from_mins(10);
/// Delay before a failed jump is retried.
const RESTORE_PAUSE: Duration = Duration::from_secs(1);

/// Without a statement timeout, because another process may be doing the same.
const BEGIN: &str = "begin; set local statement_timeout = 0; set local lock_timeout = 0";

/// Jump of one counter.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Jump {
    /// `company`, for its positions, or `sequence`, for IDs.
    pub kind: String,
    /// ID of the company, or name of the sequence.
    pub name: String,
    /// Last number before the jump.
    pub before: i64,
    /// Last number after the jump: the next one follows it.
    pub after: i64,
}

/// Moves the positions of all companies and all IDs ahead.
///
/// It does not check whether the database was restored.
///
/// # Errors
///
/// If the database does not respond, or the role does not own it.
pub async fn jump_ahead(connection: &mut PgConnection) -> Result<Vec<Jump>, sqlx::Error> {
    sqlx::query_as("select * from jump_ahead()").fetch_all(connection).await
}

/// Detects a restore before a service starts.
pub async fn start(pool: &PgPool) -> Result<(), sqlx::Error> {
    describe(
        RESTORES,
        "Number of detected database restores, and of standbys that took over.",
        "noticed",
        &["automatically"],
    );
    notice(&mut *pool.acquire().await?).await
}

/// Advances positions and IDs if the database was restored.
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

/// Like [`notice`], while the service runs. During a restore, the functions are missing, which is not logged.
///
/// After any other failure, it pauses, because each attempt reads all tables.
pub(super) async fn notice_if_ready(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let noticed = notice(connection).await;
    if let Err(error) = &noticed
        && !is_missing_object(error)
    {
        tracing::error!(
            "the database was restored, and its positions cannot jump ahead. If the restore has ended, run `compliance restored` as \
             the owner of the database: {}",
            text(error)
        );
        sleep(RESTORE_PAUSE).await;
    }
    noticed
}
