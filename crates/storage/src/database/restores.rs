//! A database that was restored, or that a standby took over: its positions and IDs jump ahead before it is served.
//! `migrations/20261128000020_restores.sql` says how that is noticed, and `…80_restores_by_time.sql` how far they jump.

use std::time::Duration;

use sqlx::{Connection as _, FromRow, PgConnection, PgExecutor, PgPool};
use telemetry::metrics::{count, describe};
use tokio::time::{sleep, timeout};

use crate::error::is_missing_object;

/// How often this process noticed that.
const RESTORES: &str = "compliance_database_restores_total";
/// Timeout of the jump of all positions and IDs after a restore.
const RESTORE_TIMEOUT: Duration = Duration::from_mins(10);
/// Delay before a failed jump is retried.
const RESTORE_PAUSE: Duration = Duration::from_secs(1);

const IS_RESTORED: &str = "select not is_database_known()";
/// It waits for another process that does the same.
const BEGIN: &str = "begin; set local statement_timeout = 0; set local lock_timeout = 0";

/// How far a counter has jumped ahead.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Jump {
    /// `company`, for its positions, or `sequence`, for IDs.
    pub kind: String,
    /// The company's ID, or the name of the sequence.
    pub name: String,
    /// The last number before.
    pub before: i64,
    /// The number that the next one follows.
    pub after: i64,
}

/// Lets the positions of all companies and all IDs jump ahead, whether or not the database was restored. Only its owner can.
///
/// # Errors
///
/// If the database does not respond, or if the role does not own it.
pub async fn jump_ahead(connection: &mut PgConnection) -> Result<Vec<Jump>, sqlx::Error> {
    sqlx::query_as("select * from jump_ahead()").fetch_all(connection).await
}

/// Whether the database is another one than the one that was served last.
pub(super) async fn is_restored(executor: impl PgExecutor<'_>) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(IS_RESTORED).fetch_one(executor).await
}

/// Does so before a service starts.
pub async fn start(pool: &PgPool) -> Result<(), sqlx::Error> {
    describe(
        RESTORES,
        "How often the database was found to be restored, or taken over by a standby.",
        "noticed",
        &["automatically"],
    );
    notice(&mut *pool.acquire().await?).await
}

/// Lets positions and IDs jump ahead if the database was restored.
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
             are told to read all records again"
        );
    }
    Ok(())
}

/// Does the same if the schema is complete: while a restore runs, the functions are missing. After another failure it waits, since each
/// attempt reads all tables.
pub(super) async fn notice_if_ready(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let noticed = notice(connection).await;
    if let Err(error) = &noticed
        && !is_missing_object(error)
    {
        tracing::error!(
            "the database was restored, and its positions cannot jump ahead: unless the restore still runs, run `compliance restored` as \
             its owner: {error}"
        );
        sleep(RESTORE_PAUSE).await;
    }
    noticed
}
