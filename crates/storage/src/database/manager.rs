//! Opens pool connections and decides which ones to reuse.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use deadpool::managed::{self, Metrics, RecycleError, RecycleResult};
use parking_lot::Mutex;
use sqlx::{FromRow as _, PgConnection, PgPool};

use super::{
    open::Database,
    restores::notice_if_ready,
    session::{self, Sessions},
    target::{Target, log_unread},
};
use crate::{
    error::{Unavailable, is_lock_timeout, is_missing_object},
    limits::LOCK_TIMEOUT,
};

/// Maximum age of a connection. Without a limit, a connection would keep its memory and its resolved server forever.
const CONNECTION_LIFETIME: Duration = Duration::from_mins(30);

/// Checks whether the server accepts writes, and whether the database is still the same.
///
/// Like every operation, the check reads a table. No migration locks this table against readers.
const CHECK: &str = "select not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean
    and (select count(*) from _sqlx_migrations) > 0, is_database_known()";
/// [`CHECK`] for Citus, where restores are detected only at startup.
const CHECK_ON_CITUS: &str = "select not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean
    and (select count(*) from _sqlx_migrations) > 0, true";

/// Opens connections.
#[derive(Debug)]
pub(super) struct Manager {
    /// Pool for one-off work, with the same options.
    options: PgPool,
    url: Mutex<Url>,
    sessions: Sessions,
    on_citus: bool,
    /// Connections of earlier generations are not reused.
    generation: AtomicUsize,
}

#[derive(Debug)]
struct Url {
    target: Target,
    /// Last logged error from rereading the URL.
    logged: Option<String>,
}

/// A pool connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) raw: PgConnection,
    generation: usize,
}

impl Manager {
    pub(super) fn new(database: &Database) -> Self {
        let Database { pool: options, target, sessions, on_citus } = database.clone();
        let url = Mutex::new(Url { target, logged: None });
        Self { options, url, sessions, on_citus, generation: AtomicUsize::default() }
    }

    /// Returns the service's maximum number of connections.
    pub(super) fn most(&self) -> u32 {
        self.options.options().get_max_connections()
    }

    /// Returns whether the service is shutting down.
    pub(super) fn is_closed(&self) -> bool {
        self.options.is_closed()
    }

    /// Replaces all connections, each before its next statement.
    pub(super) fn begin_generation(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether a connection can be reused.
    pub(super) fn is_current(&self, connection: &Connection) -> bool {
        connection.generation == self.generation.load(Ordering::Relaxed)
    }

    /// Opens a connection for statements.
    ///
    /// Fails if the server does not accept writes, or if its database was restored.
    pub(super) async fn open(&self) -> Result<Connection, sqlx::Error> {
        let target = self.target();
        let generation = self.generation.load(Ordering::Relaxed);
        let mut raw = self.connect(&target).await?;
        self.check(&mut raw).await?;
        Ok(Connection { raw, generation })
    }

    /// Checks that the server accepts writes and that its database was not restored.
    ///
    /// A schema change can lock the tables that the check reads. The server still responds, so the check runs again.
    pub(super) async fn check(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let question = if self.on_citus { CHECK_ON_CITUS } else { CHECK };
        let answer = loop {
            match sqlx::raw_sql(question).fetch_one(&mut *connection).await {
                Err(error) if is_lock_timeout(&error) => {}
                answer => break answer,
            }
        };
        let answer =
            answer.map_err(|error| if is_missing_object(&error) { Unavailable::Restored.into() } else { error })?;
        match <(bool, bool)>::from_row(&answer)? {
            (false, _) => Err(Unavailable::ReadOnly.into()),
            (_, false) => Err(Unavailable::Restored.into()),
            (true, true) => Ok(()),
        }
    }

    /// Moves positions and IDs ahead if the database was restored. Can take a long time.
    pub(super) async fn notice_restore(&self) -> Result<(), sqlx::Error> {
        notice_if_ready(&mut self.connect(&self.target()).await?).await
    }

    async fn connect(&self, target: &Target) -> Result<PgConnection, sqlx::Error> {
        let mut connection = target.connect().await?;
        if self.sessions == Sessions::Own {
            session::set(&mut connection, self.on_citus, LOCK_TIMEOUT).await?;
        }
        Ok(connection)
    }

    /// Rereads a URL from its file. Keeps the previous URL if reading fails.
    fn target(&self) -> Target {
        let mut url = self.url.lock();
        match url.target.reread() {
            None => url.logged = None,
            Some(Err(reason)) => {
                if url.logged.as_ref() != Some(&reason) {
                    log_unread(&reason);
                    url.logged = Some(reason);
                }
            }
            Some(Ok(target)) => {
                tracing::info!("the database URL has changed; new connections use the new URL");
                self.options.set_connect_options(target.options().clone());
                self.begin_generation();
                *url = Url { target, logged: None };
            }
        }
        url.target.clone()
    }
}

impl managed::Manager for Manager {
    type Type = Connection;
    type Error = sqlx::Error;

    async fn create(&self) -> Result<Connection, sqlx::Error> {
        // Opening is rare. Without the box, its future would enlarge the future of every statement.
        Box::pin(self.open()).await
    }

    /// Sends nothing, because a check would cost every statement a round trip.
    async fn recycle(&self, connection: &mut Connection, metrics: &Metrics) -> RecycleResult<sqlx::Error> {
        if self.is_current(connection) && metrics.age() < CONNECTION_LIFETIME {
            Ok(())
        } else {
            Err(RecycleError::message("the connection is outdated"))
        }
    }
}
