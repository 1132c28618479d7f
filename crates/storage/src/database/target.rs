//! A database as its URL names it: hosts, and how to read the URL again. One host takes writes.

use std::{fmt, io, sync::Arc, time::Duration};

use futures::future::join_all;
use sqlx::{Connection as _, PgConnection, Row as _, postgres::PgConnectOptions};
use tokio::time::timeout;

use super::{
    error::{DatabaseError, name},
    session,
};
use crate::{error::Unavailable, limits::START_TIMEOUT};

/// Whether a server takes writes.
const TAKES_WRITES: &str = "select not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean";

const TIMELINE: &str = "select ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer";

/// Reads the URL again from its origin.
type Source = Arc<dyn Fn() -> Result<Target, String> + Send + Sync>;

/// Address of a database.
#[derive(Clone)]
pub struct Target {
    /// The URL, to detect changes.
    url: String,
    hosts: Vec<PgConnectOptions>,
    connect_timeout: Duration,
    /// Whether a single host must take writes. One of several hosts always must.
    must_write: bool,
    source: Option<Source>,
}

/// The replicas of a database.
#[derive(Clone, Debug)]
pub struct ReadTarget {
    /// Hosts of the replicas.
    pub target: Target,
    /// How long a read waits for a replica.
    pub max_lag: Duration,
}

impl Target {
    pub(super) fn new(
        url: &str,
        hosts: Vec<PgConnectOptions>,
        connect_timeout: Duration,
        must_write: bool,
        is_named: bool,
    ) -> Self {
        let hosts = hosts.into_iter().map(|host| session::with_settings(host, is_named)).collect();
        Self { url: url.to_owned(), hosts, connect_timeout, must_write, source: None }
    }

    /// Sets how the URL is read again when connections fail.
    #[must_use]
    pub fn reread_by(self, source: impl Fn() -> Result<Self, String> + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }

    /// Returns the hosts in order.
    pub fn hosts(&self) -> impl Iterator<Item = &PgConnectOptions> {
        self.hosts.iter()
    }

    /// Returns the database and its hosts, for messages.
    pub fn description(&self) -> String {
        let database = self.hosts.first().map_or("", |host| host.get_database().unwrap_or_else(|| host.get_username()));
        let hosts: Vec<String> = if let [host] = &self.hosts[..] {
            vec![host.get_socket().map_or_else(|| host.get_host().to_owned(), |socket| socket.display().to_string())]
        } else {
            self.hosts.iter().map(name).collect()
        };
        format!("the database {database} at {}", hosts.join(", "))
    }

    /// Reads the URL again. Returns the same target if it cannot be read or used.
    pub(super) fn latest(self) -> Self {
        match self.reread() {
            None => self,
            Some(Ok(new)) => new,
            Some(Err(reason)) => {
                log_unread(&reason);
                self
            }
        }
    }

    /// Reads the URL again. Returns `None` if it has not changed.
    pub(super) fn reread(&self) -> Option<Result<Self, String>> {
        let source = self.source.as_ref()?;
        match source() {
            Ok(new) if new.url == self.url => None,
            Ok(new) => Some(Ok(Self { source: Some(Arc::clone(source)), ..new })),
            Err(error) => Some(Err(error)),
        }
    }

    /// Connects to a host within the connect timeout.
    pub(super) async fn connect(&self, host: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
        let connecting = PgConnection::connect_with(host);
        timeout(self.connect_timeout, connecting).await.unwrap_or_else(|_| Err(silence()))
    }

    /// Connects to the first host that serves.
    ///
    /// Several hosts can take writes after a fail-over that the former primary survived. Then the latest timeline decides.
    pub(super) async fn first(&self) -> Result<(&PgConnectOptions, PgConnection), DatabaseError> {
        let mut failures = Vec::new();
        for (index, host) in self.hosts.iter().enumerate() {
            match self.connect_to_writer(host).await {
                Ok(connection) => {
                    // Other hosts have the same time: a busy new primary must not lose to its former primary.
                    let others = self.hosts[index + 1..]
                        .iter()
                        .map(|host| async move { Some((self.connect_to_writer(host).await.ok()?, host)) });
                    let others = join_all(others).await.into_iter().flatten();
                    let (connection, host) = latest_of((connection, host), others, self.connect_timeout).await;
                    return Ok((host, connection));
                }
                Err(source) if session::refuses_parameter(&source) => return Err(unreachable(host, source)),
                Err(source) => failures.push((host, source)),
            }
        }
        if failures.len() == 1
            && let Some((host, source)) = failures.pop()
        {
            return Err(unreachable(host, source));
        }
        let database = self.hosts.first().and_then(PgConnectOptions::get_database).unwrap_or("").to_owned();
        let reasons: Vec<String> = failures.iter().map(|(host, source)| format!("{}: {source}", name(host))).collect();
        Err(DatabaseError::NoHost { database, reasons: reasons.join("; ") })
    }

    async fn connect_to_writer(&self, host: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
        let mut connection = self.connect(host).await?;
        if (self.must_write || self.hosts.len() > 1) && !self.takes_writes(&mut connection).await? {
            return Err(Unavailable::ReadOnly.into());
        }
        Ok(connection)
    }

    async fn takes_writes(&self, connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
        let asked = sqlx::raw_sql(TAKES_WRITES).fetch_one(connection);
        timeout(self.connect_timeout, asked).await.unwrap_or_else(|_| Err(silence()))?.try_get(0)
    }
}

impl From<PgConnectOptions> for Target {
    fn from(options: PgConnectOptions) -> Self {
        Self::new("", vec![options], START_TIMEOUT, false, false)
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The options contain a password.
        f.debug_tuple("Target").field(&self.description()).finish()
    }
}

/// Returns the server with the latest timeline among servers that take writes.
///
/// A standby begins a new timeline when it is promoted. Each server has the time `limit` to respond.
pub(super) async fn latest_of<T>(
    first: (PgConnection, T),
    others: impl Iterator<Item = (PgConnection, T)>,
    limit: Duration,
) -> (PgConnection, T) {
    let mut latest = first;
    let mut of_latest = None;
    for mut other in others {
        let of_other = timeline(&mut other.0, limit).await;
        if of_other > *of_latest.get_or_insert(timeline(&mut latest.0, limit).await) {
            (latest, of_latest) = (other, Some(of_other));
        }
    }
    if of_latest.is_some() {
        tracing::warn!("several hosts of the database take writes: the host with the latest timeline is used");
    }
    latest
}

/// Returns 0 if the server does not respond in time.
async fn timeline(connection: &mut PgConnection, limit: Duration) -> i32 {
    let asked = sqlx::raw_sql(TIMELINE).fetch_one(connection);
    timeout(limit, asked).await.ok().and_then(|asked| asked.ok()?.try_get(0).ok()).unwrap_or_default()
}

/// Returns the error of a host that cannot be used.
fn unreachable(host: &PgConnectOptions, source: sqlx::Error) -> DatabaseError {
    if session::refuses_parameter(&source) {
        return DatabaseError::Parameter { host: name(host), source };
    }
    let database = host.get_database().unwrap_or("").to_owned();
    DatabaseError::Connect { host: host.get_host().to_owned(), database, source }
}

fn silence() -> sqlx::Error {
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "no response in time"))
}

pub(super) fn log_unread(reason: &str) {
    tracing::warn!(reason, "the database URL cannot be read again; the previous one stays in use");
}
