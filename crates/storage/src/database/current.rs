//! The current URL of new connections. It is read again when it stops working.

use parking_lot::Mutex;
use sqlx::{FromRow as _, PgConnection, PgPool};

use super::{
    error::name,
    open::Database,
    session::{self, PROTOCOL_VIOLATION, Sessions},
    target::{Target, log_unread},
};
use crate::{
    error::{Unavailable, is_missing_object},
    limits::LOCK_TIMEOUT,
};

/// Whether the server takes writes. Also reads a table, as every operation does: no migration locks this table against readers.
const CHECK: &str = "select not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean
    and (select count(*) from _sqlx_migrations) > 0";
/// Process ID of the server, whether it takes writes, and whether it is the database that was last served.
const OPENED_PRIMARY: &str = "select pg_backend_pid(),
    not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean, is_database_known()";
/// The same for servers where no restore is detected.
const OPENED: &str = "select pg_backend_pid(),
    not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean, true";

/// Host and password of new connections. They are in the options of the pool.
#[derive(Debug)]
pub(super) struct Current {
    pool: PgPool,
    pub(super) sessions: Sessions,
    on_citus: bool,
    found: Mutex<Found>,
}

#[derive(Debug)]
struct Found {
    target: Target,
    /// The last logged reason why the URL could not be read again.
    logged: Option<String>,
}

impl Current {
    pub(super) fn new(database: &Database) -> Self {
        let Database { pool, target, sessions, on_citus } = database.clone();
        Self { pool, sessions, on_citus, found: Mutex::new(Found { target, logged: None }) }
    }

    /// Returns whether restores are detected at runtime. On Citus, only the start on the coordinator detects them.
    pub(super) fn notices_restores(&self) -> bool {
        !self.on_citus
    }

    /// Host of new connections, for messages.
    pub(super) fn host(&self) -> String {
        name(&self.pool.connect_options())
    }

    /// Checks that a server takes writes.
    pub(super) async fn ask(&self, mut connection: PgConnection) -> Result<PgConnection, sqlx::Error> {
        let serves: bool = sqlx::query_scalar(CHECK).fetch_one(&mut connection).await?;
        if serves { Ok(connection) } else { Err(Unavailable::ReadOnly.into()) }
    }

    /// Opens a connection for callers. Returns the process ID of its server.
    ///
    /// Fails if the server takes no writes.
    pub(super) async fn open(&self) -> Result<(PgConnection, i32), sqlx::Error> {
        let mut connection = self.connect().await?;
        let question = if self.notices_restores() { OPENED_PRIMARY } else { OPENED };
        let opened = sqlx::raw_sql(question).fetch_one(&mut connection).await;
        let found =
            opened.map_err(|error| if is_missing_object(&error) { Unavailable::Restored.into() } else { error })?;
        match <(i32, bool, bool)>::from_row(&found)? {
            (_, false, _) => Err(Unavailable::ReadOnly.into()),
            (_, _, false) => Err(Unavailable::Restored.into()),
            (backend, ..) => Ok((connection, backend)),
        }
    }

    /// Opens a connection and checks its server.
    pub(super) async fn ask_new(&self) -> Result<PgConnection, sqlx::Error> {
        self.ask(self.connect().await?).await
    }

    /// Opens a connection. If the password is refused, the URL is read again.
    pub(super) async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        match self.connect_to_target().await {
            // The same password would be refused again.
            Err(error) if is_refused(&error) && self.reread() => self.connect_to_target().await,
            connected => connected,
        }
    }

    async fn connect_to_target(&self) -> Result<PgConnection, sqlx::Error> {
        let target = self.found.lock().target.clone();
        let mut connection = target.connect().await?;
        if self.sessions == Sessions::Own {
            session::set(&mut connection, self.on_citus, LOCK_TIMEOUT).await?;
        }
        Ok(connection)
    }

    /// Reads the URL again. Returns whether it has changed. Keeps the previous URL if it cannot be read.
    pub(super) fn reread(&self) -> bool {
        let mut found = self.found.lock();
        match found.target.reread() {
            None => false,
            Some(Err(reason)) => {
                if found.logged.as_ref() != Some(&reason) {
                    log_unread(&reason);
                    found.logged = Some(reason);
                }
                false
            }
            Some(Ok(target)) => {
                self.pool.set_connect_options(target.options().clone());
                tracing::info!("the database URL has changed: new connections use it");
                found.target = target;
                found.logged = None;
                true
            }
        }
    }
}

/// `invalid_authorization_specification` and `invalid_password`, or the code of `PgBouncer`.
fn is_refused(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    matches!(code.as_deref(), Some("28000" | "28P01" | PROTOCOL_VIOLATION))
}
