//! Reads from streaming replicas.
//!
//! A read sees everything that was acknowledged before it arrived, through any core. So the primary reports its position in the write-ahead
//! log, once for all waiting reads. A replica serves a read once it has replayed the same history up to this position. In all other cases,
//! the primary serves the read.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use batcher::{BatchLimits, Batcher, Pending, RunBatch};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::time::timeout;

use super::{
    borrowed::fetch_all,
    open::Database,
    pool::Pool,
    replay::{Position, WRITTEN},
    session::Sessions,
    target::ReadTarget,
};
use crate::{
    limits::{CHECK_TIMEOUT, MAX_QUEUED_COALESCED},
    statement::StatementContext,
};

/// The replicas of a service.
#[derive(Debug)]
pub(super) struct Replicas {
    pub(super) all: Vec<Arc<Pool>>,
    pub(super) written: Batcher<AskPrimary>,
    next: AtomicUsize,
}

/// Asks for the primary's position. An error is a text for the log.
#[derive(Debug)]
pub(super) struct AskPrimary(Arc<Pool>);

impl RunBatch for AskPrimary {
    type Request = ();
    type Response = Result<Position, Arc<str>>;

    async fn run(&self, batch: Vec<Pending<(), Self::Response>>) {
        let asked = timeout(CHECK_TIMEOUT, fetch_all(&self.0, sqlx::query_as(WRITTEN)));
        let asked = StatementContext::of("WAL position").run(asked).await.unwrap_or(Err(sqlx::Error::PoolTimedOut));
        let position = asked.and_then(|rows| rows.first().copied().ok_or(sqlx::Error::RowNotFound));
        let position =
            position.map_err(|error| Arc::from(format!("the primary does not report its position: {error}")));
        for pending in batch {
            pending.respond(position.clone());
        }
    }
}

impl Replicas {
    /// Creates the pools of a primary's replicas. None is used before its first successful check.
    pub(super) fn new(primary: &Arc<Pool>, ReadTarget { target, max_lag }: &ReadTarget) -> Self {
        let limits = BatchLimits {
            max_in_flight: 1,
            max_in_flight_when_slow: 1,
            max_batch: MAX_QUEUED_COALESCED,
            ..BatchLimits::for_this_machine(1, MAX_QUEUED_COALESCED)
        };
        let written = Batcher::new(AskPrimary(Arc::clone(primary)), limits);
        let replica = |host: &PgConnectOptions| {
            let pool = PgPoolOptions::new().max_connections(primary.most()).connect_lazy_with(host.clone());
            let (target, sessions) = (target.clone(), Sessions::Own);
            let replica = Database { pool, target, sessions, on_citus: false, replicas: None };
            Pool::new(&replica, Arc::clone(&primary.inputs), Some(*max_lag), false)
        };
        Self { all: target.hosts().map(replica).collect(), written, next: AtomicUsize::new(0) }
    }

    /// Chooses a replica for a read that begins now. Returns the position that it must have replayed.
    pub(super) async fn for_read(&self) -> Option<(Arc<Pool>, Position)> {
        let first = self.next.fetch_add(1, Ordering::Relaxed) % self.all.len();
        let (before, after) = self.all.split_at(first);
        let replica = after.iter().chain(before).find(|replica| replica.responds())?;
        let required = self.written.call(()).await.ok()?.ok()?;
        Some((Arc::clone(replica), required))
    }

    /// Number of replicas in use.
    pub(super) fn in_use(&self) -> usize {
        self.all.iter().filter(|replica| replica.responds()).count()
    }
}
