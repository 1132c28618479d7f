//! Holds a database's address, and rereads its URL.

use std::{fmt, io, sync::Arc, time::Duration};

use sqlx::{Connection as _, PgConnection, Row as _, postgres::PgConnectOptions};
use tokio::time::timeout;

use super::{
    error::{DatabaseError, name},
    session,
};
use crate::{error::Unavailable, limits::START_TIMEOUT};

/// Query that returns whether a server accepts writes.
const TAKES_WRITES: &str = "select not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean";

/// Rereads the URL from its source.
type Source = Arc<dyn Fn() -> Result<Target, String> + Send + Sync>;

/// Address of a database.
#[derive(Clone)]
pub struct Target {
    /// The URL, to detect changes.
    url: String,
    options: PgConnectOptions,
    connect_timeout: Duration,
    /// Whether startup fails if the server does not accept writes.
    must_write: bool,
    source: Option<Source>,
}

impl Target {
    pub(super) fn new(
        url: &str,
        options: PgConnectOptions,
        connect_timeout: Duration,
        must_write: bool,
        is_named: bool,
    ) -> Self {
        let options = session::with_settings(options, is_named);
        Self { url: url.to_owned(), options, connect_timeout, must_write, source: None }
    }

    /// Sets how to reread the URL when connections fail.
    #[must_use]
    pub fn reread_by(self, source: impl Fn() -> Result<Self, String> + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }

    /// Returns the options for connections to the host.
    pub fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// Returns the database and its host, for messages.
    pub fn description(&self) -> String {
        format!("the database {} at {}", self.database(), name(&self.options))
    }

    /// Returns the database name. If the URL does not specify one, PostgreSQL uses the user name.
    fn database(&self) -> &str {
        self.options.get_database().unwrap_or_else(|| self.options.get_username())
    }

    /// Rereads the URL. Keeps the current target if the URL cannot be read or used.
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

    /// Rereads the URL. Returns `None` if it has not changed.
    pub(super) fn reread(&self) -> Option<Result<Self, String>> {
        let source = self.source.as_ref()?;
        match source() {
            Ok(new) if new.url == self.url => None,
            Ok(new) => Some(Ok(Self { source: Some(Arc::clone(source)), ..new })),
            Err(error) => Some(Err(error)),
        }
    }

    /// Connects within the connect timeout.
    pub(super) async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        let options = session::without_log(self.options.clone());
        let connecting = PgConnection::connect_with(&options);
        timeout(self.connect_timeout, connecting).await.unwrap_or_else(|_| Err(silence()))
    }

    /// Opens a program's first connection.
    pub(super) async fn first(&self) -> Result<PgConnection, DatabaseError> {
        let connecting = async {
            let mut connection = self.connect().await?;
            if self.must_write && !self.takes_writes(&mut connection).await? {
                return Err(Unavailable::ReadOnly.into());
            }
            Ok(connection)
        };
        connecting.await.map_err(|source| {
            if session::refuses_parameter(&source) {
                return DatabaseError::Parameter { host: name(&self.options), source };
            }
            if is_of_tls(&source) {
                return DatabaseError::Tls { host: name(&self.options), source };
            }
            DatabaseError::Connect { host: name(&self.options), database: self.database().to_owned(), source }
        })
    }

    async fn takes_writes(&self, connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
        let asked = sqlx::raw_sql(TAKES_WRITES).fetch_one(connection);
        timeout(self.connect_timeout, asked).await.unwrap_or_else(|_| Err(silence()))?.try_get(0)
    }
}

impl From<PgConnectOptions> for Target {
    fn from(options: PgConnectOptions) -> Self {
        Self::new("", options, START_TIMEOUT, false, false)
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Omits the options, which contain a password.
        f.debug_tuple("Target").field(&self.description()).finish()
    }
}

/// Returns whether the TLS handshake failed, for example because the certificate names a different host.
fn is_of_tls(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Tls(_) => true,
        // rustls rejected the server's data.
        sqlx::Error::Io(error) => error.kind() == io::ErrorKind::InvalidData,
        _ => false,
    }
}

fn silence() -> sqlx::Error {
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "timed out waiting for a response"))
}

pub(super) fn log_unread(reason: &str) {
    tracing::warn!(reason, "cannot reread the database URL; keeping the previous one");
}
