//! One connection to PostgreSQL, and what has to be known to abandon its statements.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use sqlx::{Connection as _, PgConnection, Row as _};
use tokio_util::sync::CancellationToken;

use super::{current::Current, replay::Position};
use crate::{
    error::{Unavailable, is_disconnected, is_missing_object},
    limits::{CONNECTION_LIFETIME, LATE_ERRORS, LOCK_TIMEOUT},
};

/// Connections that were opened in the same period. A period ends when they are suspected to hang.
#[derive(Debug, Default)]
pub struct Generation {
    responses: AtomicU64,
    /// Cancelled when these connections are abandoned.
    pub(super) hung: CancellationToken,
}

impl Generation {
    /// Records that the database has responded to a statement.
    pub(super) fn record_response(&self) {
        self.responses.fetch_add(1, Ordering::Relaxed);
    }

    /// Statements that the database has responded to on these connections.
    pub(super) fn responses(&self) -> u64 {
        self.responses.load(Ordering::Relaxed)
    }

    /// Waits for the end of a statement, unless the connection hangs.
    pub async fn unless_hung<F: Future>(&self, statement: F) -> Result<F::Output, sqlx::Error> {
        self.hung.run_until_cancelled(statement).await.ok_or_else(|| Unavailable::Hung.into())
    }
}

/// The process of the server, and whether it takes writes.
const OPENED: &str = "select pg_backend_pid(),
    not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean";
/// The same of a primary, and whether it is the database that was served last.
const OPENED_PRIMARY: &str = "select pg_backend_pid(),
    not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean,
    is_database_known()";

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) raw: PgConnection,
    /// The process of the server that serves it, if it is always the same.
    pub(super) backend: i32,
    pub(super) generation: Arc<Generation>,
    /// When it was last known to work.
    pub(super) worked: Instant,
    /// How long its statements wait for each lock, if that is known.
    pub(super) lock_timeout: Option<&'static str>,
    /// What the replica had replayed when this connection last asked.
    pub(super) replayed: Option<Position>,
    opened: Instant,
}

impl Connection {
    /// Its statements wait for locks for [`LOCK_TIMEOUT`]. A server that takes no writes, as after a fail-over, serves as a replica only.
    pub(super) async fn open(current: &Current, generation: Arc<Generation>) -> Result<Self, sqlx::Error> {
        let mut raw = current.connect().await?;
        let is_checked = current.notices_restores();
        let opened = sqlx::raw_sql(if is_checked { OPENED_PRIMARY } else { OPENED }).fetch_one(&mut raw).await;
        let found =
            opened.map_err(|error| if is_missing_object(&error) { Unavailable::Restored.into() } else { error })?;
        let backend = found.try_get(0)?;
        if !current.is_replica() && !found.try_get::<bool, _>(1)? {
            return Err(Unavailable::ReadOnly.into());
        }
        if is_checked && !found.try_get::<bool, _>(2)? {
            return Err(Unavailable::Restored.into());
        }
        let now = Instant::now();
        let lock_timeout = Some(LOCK_TIMEOUT);
        Ok(Self { raw, backend, generation, worked: now, lock_timeout, replayed: None, opened: now })
    }

    pub(super) fn is_old(&self) -> bool {
        self.opened.elapsed() > CONNECTION_LIFETIME
    }

    /// Reads what abandoned statements have still to send, until the server is ready for the next one.
    pub(super) async fn settle(&mut self) -> Result<(), sqlx::Error> {
        for _ in 0..LATE_ERRORS {
            match self.raw.ping().await {
                // The error belongs to the statement that was abandoned.
                Err(error @ sqlx::Error::Database(_)) if !is_disconnected(&error) => {}
                settled => return settled,
            }
        }
        Err(sqlx::Error::Protocol("too many statements were abandoned".to_owned()))
    }
}
