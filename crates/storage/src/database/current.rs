//! The current host and password of new connections. Both are looked up again when they stop working.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use parking_lot::Mutex;
use sqlx::{FromRow as _, PgConnection, PgPool, postgres::PgConnectOptions};
use tokio::time::timeout;

use super::{
    error::{DatabaseError, name},
    open::Database,
    replay::Position,
    session::{self, PROTOCOL_VIOLATION, Sessions},
    target::{Target, latest_of, log_unread},
};
use crate::{
    error::{Unavailable, is_missing_object},
    limits::{CHECK_TIMEOUT, LOCK_TIMEOUT},
};

/// Whether the server takes writes. Also reads a table, as every operation does: no migration locks this table against readers.
const CHECK: &str = "select not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean
    and (select count(*) from _sqlx_migrations) > 0";
/// The same for a replica.
const CHECK_REPLICA: &str = "select pg_is_in_recovery() and (select count(*) from _sqlx_migrations) > 0";
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
    /// How long a read waits for a replica. `None` for a primary or node.
    pub(super) max_lag: Option<Duration>,
    found: Mutex<Found>,
}

#[derive(Debug)]
struct Found {
    target: Target,
    /// The last logged reason why the URL could not be read again.
    logged: Option<String>,
    /// A position of the server in use, if there are several hosts.
    served: Option<Position>,
    /// The former primary that was last logged.
    refused: Option<String>,
}

impl Current {
    pub(super) fn new(database: &Database, max_lag: Option<Duration>) -> Self {
        let Database { pool, target, sessions, on_citus, .. } = database.clone();
        Self {
            pool,
            sessions,
            on_citus,
            max_lag,
            found: Mutex::new(Found { target, logged: None, served: None, refused: None }),
        }
    }

    pub(super) fn is_replica(&self) -> bool {
        self.max_lag.is_some()
    }

    /// Returns whether restores are detected at runtime. On Citus, only the start on the coordinator detects them.
    pub(super) fn notices_restores(&self) -> bool {
        !self.is_replica() && !self.on_citus
    }

    /// Host of new connections, for messages.
    pub(super) fn host(&self) -> String {
        name(&self.pool.connect_options())
    }

    /// Checks that a server takes writes, or is a replica if one is needed.
    pub(super) async fn ask(&self, mut connection: PgConnection) -> Result<PgConnection, sqlx::Error> {
        let (check, otherwise) =
            if self.is_replica() { (CHECK_REPLICA, Unavailable::NoStandby) } else { (CHECK, Unavailable::ReadOnly) };
        let serves: bool = sqlx::query_scalar(check).fetch_one(&mut connection).await?;
        if serves { Ok(connection) } else { Err(otherwise.into()) }
    }

    /// Returns whether the timeline must be known, because another host may have an older one.
    pub(super) fn needs_timeline(&self) -> bool {
        let found = self.found.lock();
        !self.is_replica() && found.target.hosts().count() > 1
    }

    /// Remembers the timeline of the server in use, with one of its positions.
    pub(super) fn serves(&self, position: Position) {
        let mut found = self.found.lock();
        found.served = Some(position);
        found.refused = None;
    }

    /// Fails for a former primary that still takes writes: a server that was promoted later has acknowledged others.
    async fn refuse_former(&self, connection: &mut PgConnection, host: &PgConnectOptions) -> Result<(), sqlx::Error> {
        let served = self.found.lock().served;
        let Some(served) = served else { return Ok(()) };
        if !Position::written(connection).await?.is_some_and(|position| position.is_of_former_primary(served)) {
            return Ok(());
        }
        let mut found = self.found.lock();
        if found.refused.replace(name(host)) != Some(name(host)) {
            tracing::warn!(
                server = name(host),
                "a former primary takes writes and is not used, because another server was promoted later. If that server is lost \
                 for good, restart the service"
            );
        }
        Err(Unavailable::ReadOnly.into())
    }

    /// Opens a connection for callers. Returns the process ID of its server.
    ///
    /// Fails if the server takes no writes, unless it is a replica.
    pub(super) async fn open(&self) -> Result<(PgConnection, i32), sqlx::Error> {
        let mut connection = self.connect().await?;
        let question = if self.notices_restores() { OPENED_PRIMARY } else { OPENED };
        let opened = sqlx::raw_sql(question).fetch_one(&mut connection).await;
        let found =
            opened.map_err(|error| if is_missing_object(&error) { Unavailable::Restored.into() } else { error })?;
        match <(i32, bool, bool)>::from_row(&found)? {
            (_, false, _) if !self.is_replica() => Err(Unavailable::ReadOnly.into()),
            (_, _, false) => Err(Unavailable::Restored.into()),
            (backend, ..) => Ok((connection, backend)),
        }
    }

    /// Opens a connection and checks its server.
    pub(super) async fn ask_new(&self) -> Result<PgConnection, sqlx::Error> {
        let mut connection = self.ask(self.connect().await?).await?;
        if self.is_replica() {
            let checked = check_session(&mut connection, &self.pool.connect_options()).await;
            checked.map_err(|error| sqlx::Error::Configuration(error.into()))?;
        }
        Ok(connection)
    }

    /// Opens a connection. If the password is refused, the URL is read again.
    pub(super) async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        let options = self.pool.connect_options();
        match self.connect_to(&options).await {
            Err(error) if is_refused(&error) => {
                self.reread();
                let new = self.pool.connect_options();
                // Options that are the same would be refused again.
                if Arc::ptr_eq(&options, &new) { Err(error) } else { self.connect_to(&new).await }
            }
            connected => connected,
        }
    }

    async fn connect_to(&self, host: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
        let mut connection = self.target().connect(&session::without_log(host.clone())).await?;
        if self.sessions == Sessions::Own {
            session::set(&mut connection, self.on_citus, LOCK_TIMEOUT).await?;
        }
        Ok(connection)
    }

    /// Looks for another host that serves, among the hosts of the current URL. New connections use it from now on.
    pub(super) async fn find_another(&self) -> Option<PgConnection> {
        let is_new = self.reread();
        let (target, current) = (self.target(), self.pool.connect_options());
        let others: Vec<_> = target.hosts().filter(|host| is_new || !is_same(host, &current)).collect();
        let asked = others.iter().map(|host| {
            timeout(CHECK_TIMEOUT, async {
                let mut connection = self.ask(self.connect_to(host).await?).await?;
                self.refuse_former(&mut connection, host).await?;
                Ok::<_, sqlx::Error>(connection)
            })
        });
        let asked = join_all(asked).await.into_iter().zip(others);
        let mut found = asked.filter_map(|(asked, host)| Some((asked.ok()?.ok()?, host)));
        let first = found.next()?;
        let (connection, host) = if self.is_replica() { first } else { latest_of(first, found, CHECK_TIMEOUT).await };
        if !is_same(host, &current) {
            let use_of_host = if self.is_replica() { "serves the reads" } else { "takes the writes" };
            tracing::warn!(from = name(&current), to = name(host), "another host of the database {use_of_host}");
        }
        self.pool.set_connect_options(host.clone());
        Some(connection)
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
                let current = self.pool.connect_options();
                // The probe moves to another host, with all connections together.
                if let Some(host) = target.hosts().find(|host| is_same(host, &current)) {
                    self.pool.set_connect_options(host.clone());
                }
                tracing::info!("the database URL has changed: new connections use it");
                found.target = target;
                found.logged = None;
                true
            }
        }
    }

    /// Returns whether the URL still names the host in use.
    pub(super) fn is_named(&self) -> bool {
        let current = self.pool.connect_options();
        let found = self.found.lock();
        found.target.hosts().any(|host| is_same(host, &current))
    }

    fn target(&self) -> Target {
        self.found.lock().target.clone()
    }
}

/// Returns whether both are the same database. The role may differ.
fn is_same(one: &PgConnectOptions, other: &PgConnectOptions) -> bool {
    name(one) == name(other) && one.get_database() == other.get_database()
}

/// `invalid_authorization_specification` and `invalid_password`, or the code of `PgBouncer`.
fn is_refused(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    matches!(code.as_deref(), Some("28000" | "28P01" | PROTOCOL_VIOLATION))
}

/// Fails if a pooler shares sessions: the replayed position of a replica belongs to one server.
pub(super) async fn check_session(connection: &mut PgConnection, host: &PgConnectOptions) -> Result<(), DatabaseError> {
    match session::check(connection, host, false).await {
        Ok(Sessions::Own) => Ok(()),
        Ok(Sessions::Shared) | Err(DatabaseError::SharedSettings { .. }) => {
            Err(DatabaseError::SharedReplica { host: name(host) })
        }
        Err(error) => Err(error),
    }
}
