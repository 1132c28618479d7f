//! One connection to PostgreSQL, and what has to be known to abandon its statements.

use std::time::{Duration, Instant};

use sqlx::{Connection as _, PgConnection, Row as _, postgres::PgConnectOptions};

use super::availability::Generation;
use crate::error::is_disconnected;

/// How long a connection is used. Afterwards it is replaced, so that none keeps its memory, or the server that a name
/// resolved to, for good.
const LIFETIME: Duration = Duration::from_mins(30);
/// How long a connection is kept without being used.
const IDLE_TIMEOUT: Duration = Duration::from_mins(10);
/// Errors of abandoned statements that a connection may report before it is ready. There is one for each statement.
const LATE_ERRORS: usize = 16;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) raw: PgConnection,
    /// The process of the server that serves it.
    pub(super) backend: i32,
    /// What it was opened with.
    pub(super) generation: Generation,
    /// When it was last known to work.
    pub(super) worked: Instant,
    /// How long its statements wait for each lock, if that is known.
    pub(super) lock_timeout: Option<&'static str>,
    opened: Instant,
    used: Instant,
}

impl Connection {
    /// `options` say how long statements wait for each lock: for `lock_timeout`.
    pub(super) async fn open(
        options: &PgConnectOptions,
        generation: Generation,
        lock_timeout: &'static str,
    ) -> Result<Self, sqlx::Error> {
        let mut raw = PgConnection::connect_with(options).await?;
        let row = sqlx::raw_sql("select pg_backend_pid()");
        let backend = sqlx::Executor::fetch_one(&mut raw, row).await?.try_get(0)?;
        let now = Instant::now();
        Ok(Self { raw, backend, generation, worked: now, lock_timeout: Some(lock_timeout), opened: now, used: now })
    }

    /// Records that a statement came to its end.
    pub(super) fn used(&mut self) {
        let now = Instant::now();
        (self.used, self.worked) = (now, now);
    }

    /// Whether it is to be closed because of its age.
    pub(super) fn is_old(&self) -> bool {
        self.opened.elapsed() > LIFETIME || self.used.elapsed() > IDLE_TIMEOUT
    }

    /// Reads what abandoned statements have still to answer, until the server is ready for the next one.
    pub(super) async fn settle(&mut self) -> Result<(), sqlx::Error> {
        let mut last = Ok(());
        for _ in 0..LATE_ERRORS {
            last = self.raw.ping().await;
            match &last {
                // The error belongs to the statement that was abandoned.
                Err(error @ sqlx::Error::Database(_)) if !is_disconnected(error) => {}
                _ => break,
            }
        }
        last
    }

    /// Whether a part of a statement was not sent. The server would wait for the rest.
    pub(super) fn is_half_sent(&self) -> bool {
        self.raw.should_flush()
    }
}
