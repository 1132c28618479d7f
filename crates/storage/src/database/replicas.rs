//! Reads from streaming replicas.
//!
//! A read sees everything that was acknowledged before it arrived, through any core. So the primary is asked for its position in
//! the write-ahead log, once for all reads that wait, and a replica serves a read once it has replayed that much of the same
//! history. Whatever else happens, the primary serves it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use batcher::{BatchLimits, Batcher, Pending, RunBatch};
use sqlx::{
    PgConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use telemetry::background::Task;
use tokio::time::{Instant, sleep, timeout};

use super::{
    Database, DatabaseError, Target,
    connection::Unavailable,
    connections::{Connections, SharedConnections},
    pooler::{self, Sessions},
    probe::{check_idle, suspect},
    target::name,
};
use crate::{
    error::is_disconnected,
    limits::{CHECK_INTERVAL, CHECK_TIMEOUT, MAX_QUEUED_COALESCED, REPLAY_PAUSE, SHORTEST_CHECK_INTERVAL},
    statement::Purpose,
};

/// What the primary has written and flushed, so what it has acknowledged: its cluster, its timeline and its position. Commits
/// that are not flushed before they are acknowledged are written by then.
const WRITTEN: &str = "
    select s.system_identifier as cluster, ('x' || left(pg_walfile_name(p.lsn), 8))::bit(32)::integer as timeline,
        (p.lsn - '0/0')::bigint as lsn
    from pg_control_system() s, (
        select case current_setting('synchronous_commit')
            when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn()
        end
    ) p (lsn)";

/// What a standby has replayed. It follows a timeline only if it has replayed nothing that is not a part of its history, so the one
/// that it receives is the one that it follows. Without the right to know that (`pg_read_all_stats`), it is the one that it had
/// replayed when it last saved its state.
const REPLAYED: &str = "
    select s.system_identifier as cluster,
        greatest(c.timeline_id, r.min_recovery_end_timeline, w.received_tli) as timeline,
        (pg_last_wal_replay_lsn() - '0/0')::bigint as lsn
    from pg_control_system() s, pg_control_checkpoint() c, pg_control_recovery() r
    left join pg_stat_get_wal_receiver() w on true
    where pg_is_in_recovery()";

/// A position in the write-ahead log of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Position {
    cluster: i64,
    timeline: i32,
    lsn: i64,
}

/// The replicas of a database.
#[derive(Clone, Debug)]
pub struct ReadTarget {
    /// Their hosts.
    pub target: Target,
    /// How long a read waits for a replica.
    pub max_lag: Duration,
}

/// How a replica follows its primary.
#[derive(Clone, Debug)]
pub(super) struct Follower {
    written: Batcher<AskPrimary>,
    max_lag: Duration,
}

/// The replicas of a service.
#[derive(Debug)]
pub struct Replicas {
    all: Vec<Connections>,
    written: Batcher<AskPrimary>,
    next: AtomicUsize,
}

/// Asks for the primary's position. Without it, the reason is for people.
#[derive(Debug)]
struct AskPrimary(Connections);

impl RunBatch for AskPrimary {
    type Request = ();
    type Response = Result<Position, Arc<str>>;

    async fn run(&self, batch: Vec<Pending<(), Self::Response>>) {
        let asked = timeout(CHECK_TIMEOUT, sqlx::query_as(WRITTEN).fetch_one(&self.0));
        let asked = Purpose::of("WAL position").run(asked).await.unwrap_or(Err(sqlx::Error::PoolTimedOut));
        let position = asked.map_err(|error| Arc::from(format!("the primary does not report its position: {error}")));
        for pending in batch {
            pending.respond(position.clone());
        }
    }
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
async fn wait_for_replay(
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

impl Follower {
    /// Waits until the replica of a connection has replayed what is required. `replayed` is what it had replayed before.
    pub(super) async fn wait_for_replay(
        &self,
        connection: &mut PgConnection,
        replayed: &mut Option<Position>,
        required: Position,
    ) -> Result<(), sqlx::Error> {
        wait_for_replay(connection, replayed, required, self.max_lag).await
    }
}

/// Refuses a pooler that changes sessions between transactions: what a replica has replayed is known for one server alone.
pub(super) async fn check_session(connection: &mut PgConnection, host: &PgConnectOptions) -> Result<(), DatabaseError> {
    match pooler::check(connection, host, false).await {
        Ok(Sessions::Own) => Ok(()),
        Ok(Sessions::Shared) | Err(DatabaseError::SharedSettings { .. }) => {
            Err(DatabaseError::SharedReplica { host: name(host) })
        }
        Err(error) => Err(error),
    }
}

impl Connections {
    /// These connections, with those to the replicas of the database for reads.
    pub fn with_replicas(&self, database: &Database) -> Self {
        let Some(ReadTarget { target, max_lag }) = &database.replicas else { return self.clone() };
        let limits = BatchLimits {
            max_in_flight: 1,
            max_in_flight_when_slow: 1,
            max_batch: MAX_QUEUED_COALESCED,
            ..BatchLimits::for_this_machine(1, MAX_QUEUED_COALESCED)
        };
        let written = Batcher::new(AskPrimary(self.clone()), limits);
        let replica = |host: &PgConnectOptions| {
            let pool = PgPoolOptions::new().max_connections(self.most()).connect_lazy_with(host.clone());
            let (target, sessions) = (target.clone(), Sessions::Own);
            let replica = Database { pool, target, sessions, on_citus: false, replicas: None };
            let follower = Follower { written: written.clone(), max_lag: *max_lag };
            self.to_server(&replica, Arc::clone(&self.inner.inputs), Some(follower))
        };
        let all = target.hosts().map(replica).collect();
        Self { replicas: Some(Arc::new(Replicas { all, written, next: AtomicUsize::new(0) })), ..self.clone() }
    }

    /// The replicas, whether they are used or not.
    pub fn replicas(&self) -> &[Self] {
        self.replicas.as_ref().map_or(&[], |replicas| &replicas.all)
    }

    /// Counts the replicas that are used, until they are dropped.
    pub fn measure_replicas(&self) -> impl Fn() -> Option<f64> + Send + use<> {
        let replicas = self.replicas.as_ref().map(Arc::downgrade);
        move || {
            let replicas = replicas.as_ref()?.upgrade()?;
            Some(replicas.all.iter().filter(|replica| replica.inner.responds()).count() as f64)
        }
    }

    /// Whether reads may run on other servers.
    pub(super) fn has_other_servers(&self) -> bool {
        self.is_divided() || self.replicas.is_some()
    }

    /// The connections to another server for a read of [`company_id`](Self::company_id) that begins now: a replica, or the node of Citus
    /// that has the company's records.
    pub(super) async fn server_for_read(&self) -> Option<Self> {
        if !self.is_divided() {
            return self.replica().await;
        }
        if self.company_id > 0 {
            self.locate(&[self.company_id]).await;
        }
        self.node()
    }

    /// The connections to a replica for a read that begins now. Its statements wait until the replica has replayed what was
    /// acknowledged by now.
    async fn replica(&self) -> Option<Self> {
        let replicas = self.replicas.as_ref()?;
        let first = replicas.next.fetch_add(1, Ordering::Relaxed) % replicas.all.len();
        let (before, after) = replicas.all.split_at(first);
        let replica = after.iter().chain(before).find(|replica| replica.inner.responds())?;
        let required = replicas.written.call(()).await.ok()?.ok()?;
        Some(Self { required: Some(required), ..replica.clone() })
    }

    /// Reports that a statement failed on this replica or node. It is not used until it is found to serve again, unless the error
    /// concerns that statement alone, as when it conflicts with what is replayed.
    pub(super) fn report_failure(&self, error: &sqlx::Error) {
        let is_lost = is_disconnected(error) && Unavailable::of(error) != Some(Unavailable::Down);
        if is_lost && self.inner.responds.send_replace(false) {
            log_unused(&self.inner, &error.to_string());
            self.inner.check_soon.notify_one();
        }
    }
}

fn log_unused(replica: &SharedConnections, reason: &str) {
    tracing::warn!(server = replica.current.host(), reason, "{} is not used until it serves again", kind(replica));
}

fn kind(server: &SharedConnections) -> &'static str {
    if server.current.follower.is_some() { "a replica" } else { "a node of Citus" }
}

/// Keeps it known whether a replica can be read from, or a node of Citus can be used, until the task is dropped.
pub async fn probe_replica(Connections { inner: replica, .. }: Connections, task: Arc<Task>) {
    let mut logged = None;
    loop {
        let generation = replica.generation();
        let (responses, was_used) = (generation.responses(), replica.responds());
        let checked = replica.reserve.check().await;
        if matches!(checked, Ok(true) | Err(None)) {
            suspect(&replica, generation.responses() != responses);
        }
        // Each read checks whether a replica that is used has what it needs.
        let result = match checked {
            Ok(_) if !was_used => has_caught_up(&replica).await,
            checked => checked.map(drop),
        };
        let reason = result.err().map(|error| error.map_or_else(|| "silence".to_owned(), |error| error.to_string()));
        let has_changed = replica.responds.send_if_modified(|is_used| {
            // A read may have found a reason meanwhile.
            let serves = reason.is_none() && (!was_used || *is_used);
            std::mem::replace(is_used, serves) != serves
        });
        match &reason {
            None if has_changed => tracing::info!(server = replica.current.host(), "{} is used", kind(&replica)),
            Some(reason) if has_changed || logged.as_ref() != Some(reason) => log_unused(&replica, reason),
            _ => {}
        }
        logged = reason;
        if replica.responds() {
            check_idle(&replica).await;
        } else {
            replica.drop_idle();
            // Its URL may name other hosts by now, or another password.
            replica.current.reread();
        }
        if !replica.current.is_named()
            && let Some(found) = replica.current.find_another().await
        {
            suspect(&replica, false);
            replica.reserve.keep(found).await;
        }
        // Whether it is used has a metric of its own.
        task.succeeded();
        sleep(SHORTEST_CHECK_INTERVAL).await;
        let _ = timeout(CHECK_INTERVAL, replica.check_soon.notified()).await;
    }
}

/// Whether a replica has replayed in time what the primary has written. `None` is silence.
async fn has_caught_up(replica: &SharedConnections) -> Result<(), Option<sqlx::Error>> {
    let Some(follower) = &replica.current.follower else { return Ok(()) };
    let written = follower.written.call(()).await.map_err(|_| sqlx::Error::PoolClosed)?;
    let required = written.map_err(|reason| sqlx::Error::Protocol(reason.to_string()))?;
    Ok(replica.reserve.wait_for_replay(follower, required).await?)
}

/// For each replica, why it cannot serve reads now, if it cannot. Fails if the primary cannot be asked for its position.
pub async fn replica_states(
    primary: &Target,
    ReadTarget { target, max_lag }: &ReadTarget,
) -> Result<Vec<(String, Option<String>)>, DatabaseError> {
    let (_, mut connection) = primary.first().await?;
    let required: Position =
        sqlx::query_as(WRITTEN).fetch_one(&mut connection).await.map_err(DatabaseError::History)?;
    let states = target.hosts().map(|host| async move {
        let asked = async {
            let mut connection = target.connect(host).await.map_err(|error| error.to_string())?;
            check_session(&mut connection, host).await.map_err(|error| error.to_string())?;
            let waited = wait_for_replay(&mut connection, &mut None, required, *max_lag).await;
            waited.map_err(|error| error.to_string())
        };
        (name(host), asked.await.err())
    });
    Ok(futures::future::join_all(states).await)
}
