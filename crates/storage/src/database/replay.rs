//! Positions in the write-ahead log: what a primary has written, and what a replica has replayed.

use std::time::Duration;

use sqlx::PgConnection;
use tokio::time::{Instant, sleep, timeout};

use crate::{error::Unavailable, limits::REPLAY_PAUSE};

/// What the primary has written and flushed, so what it has acknowledged: its cluster, its timeline and its position. Commits
/// that are not flushed before they are acknowledged are written by then.
pub(super) const WRITTEN: &str = "
    select s.system_identifier as cluster, ('x' || left(pg_walfile_name(p.lsn), 8))::bit(32)::integer as timeline,
        (p.lsn - '0/0')::bigint as lsn
    from pg_control_system() s, (
        select case current_setting('synchronous_commit')
            when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn()
        end
    ) p (lsn)";

/// What a standby has replayed. It follows a timeline only if it has replayed nothing that is not a part of its history, so it
/// follows the timeline that it receives. Without the right to see this (`pg_read_all_stats`), the query returns the timeline at its
/// last restart point.
const REPLAYED: &str = "
    select s.system_identifier as cluster,
        greatest(c.timeline_id, r.min_recovery_end_timeline, w.received_tli) as timeline,
        (pg_last_wal_replay_lsn() - '0/0')::bigint as lsn
    from pg_control_system() s, pg_control_checkpoint() c, pg_control_recovery() r
    left join pg_stat_get_wal_receiver() w on true
    where pg_is_in_recovery()";

/// A position in the write-ahead log of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(super) struct Position {
    cluster: i64,
    timeline: i32,
    lsn: i64,
}

impl Position {
    /// Fails if it does not include `required`: for good, or [`Unavailable::Behind`] for now.
    fn includes(self, required: Self) -> Result<(), Unavailable> {
        if (self.cluster, self.timeline) != (required.cluster, required.timeline) {
            return Err(Unavailable::OtherHistory);
        }
        if self.lsn < required.lsn { Err(Unavailable::Behind) } else { Ok(()) }
    }
}

/// Waits until the replica of a connection has replayed what is required. `replayed` is what it had replayed before.
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
        // Not until the deadline: a response that is late by a little does not mean that the replica hangs.
        *replayed = timeout(max_lag, asked).await.map_err(|_| Unavailable::Hung)??;
        match replayed.ok_or(Unavailable::NoStandby)?.includes(required) {
            Err(Unavailable::Behind) if Instant::now() + REPLAY_PAUSE < deadline => sleep(REPLAY_PAUSE).await,
            included => return Ok(included?),
        }
    }
}
