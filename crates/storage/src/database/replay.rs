//! Positions in the write-ahead log: what the primary has written, and what a replica has replayed.

use std::time::Duration;

use sqlx::{FromRow as _, PgConnection};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    error::{Unavailable, is_disconnected},
    limits::CHECK_TIMEOUT,
};

/// Delay before a replica that has not replayed enough is asked again.
const REPLAY_PAUSE: Duration = Duration::from_millis(2);

/// Reads the primary's [`Position`].
pub(super) const WRITTEN: &str = include_str!("sql/written.sql");

/// Reads a standby's [`Position`]; no row from a server that is not one.
const REPLAYED: &str = include_str!("sql/replayed.sql");

/// Position in the write-ahead log of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(super) struct Position {
    cluster: i64,
    timeline: i32,
    lsn: i64,
}

impl Position {
    /// Fails unless it includes `required`. [`Unavailable::Behind`] may pass later.
    fn includes(self, required: Self) -> Result<(), Unavailable> {
        if (self.cluster, self.timeline) != (required.cluster, required.timeline) {
            return Err(Unavailable::OtherHistory);
        }
        if self.lsn < required.lsn { Err(Unavailable::Behind) } else { Ok(()) }
    }

    /// Reads the position of a server that takes writes. Returns `None` if the role may not read it.
    pub(super) async fn written(connection: &mut PgConnection) -> Result<Option<Self>, sqlx::Error> {
        let asked = timeout(CHECK_TIMEOUT, sqlx::raw_sql(WRITTEN).fetch_one(connection)).await;
        match asked.unwrap_or_else(|_| Err(Unavailable::Hung.into())) {
            Ok(row) => Self::from_row(&row).map(Some),
            Err(error) if is_disconnected(&error) => Err(error),
            Err(error) => {
                tracing::debug!("the timeline of the database cannot be read: {error}");
                Ok(None)
            }
        }
    }

    /// Returns whether a standby was promoted since.
    pub(super) fn is_of_former_primary(self, other: Self) -> bool {
        self.cluster == other.cluster && self.timeline < other.timeline
    }
}

/// Waits until a replica has replayed the required position.
///
/// `replayed` is the position that this connection saw last.
pub(super) async fn wait_for_replay(
    connection: &mut PgConnection,
    replayed: &mut Option<Position>,
    required: Position,
    max_lag: Duration,
) -> Result<(), sqlx::Error> {
    if replayed.is_some_and(|replayed| replayed.includes(required).is_ok()) {
        return Ok(());
    }
    let deadline = Instant::now() + max_lag;
    loop {
        let asked = sqlx::query_as(REPLAYED).fetch_optional(&mut *connection);
        // Each question has the whole time. A response shortly after the deadline does not mean that the replica hangs.
        *replayed = timeout(max_lag, asked).await.map_err(|_| Unavailable::Hung)??;
        match replayed.ok_or(Unavailable::NoStandby)?.includes(required) {
            Err(Unavailable::Behind) if Instant::now() + REPLAY_PAUSE < deadline => sleep(REPLAY_PAUSE).await,
            included => return Ok(included?),
        }
    }
}
