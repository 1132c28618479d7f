//! The address of a running cluster, and the statements this library sends to it.

use std::{
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, PgConnection,
    postgres::{PgConnectOptions, PgSslMode},
};

use tokio::time::timeout;

use crate::error::Error;

/// Role that owns and migrates the service's databases. It is not a superuser.
pub const OWNER_ROLE: &str = "compliance";

/// Role that the service runs as. It owns nothing and has only the privileges it needs.
pub const SERVICE_ROLE: &str = "compliance_service";

/// Superuser that owns the cluster, used for maintenance and tests.
pub const ADMIN_ROLE: &str = "postgres";

/// Port in the socket's file name. The server does not listen on the network.
pub(crate) const PORT: u16 = 5432;

/// Timeout for a probe, including the connection.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for a maintenance statement, such as copying a template.
const STATEMENT_TIMEOUT: Duration = Duration::from_mins(2);

/// The address of a running cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    socket_dir: PathBuf,
}

impl Endpoint {
    pub(crate) fn new(socket_dir: PathBuf) -> Self {
        Self { socket_dir }
    }

    /// Returns the server's socket folder.
    pub fn socket_dir(&self) -> &Path {
        &self.socket_dir
    }

    /// Returns options for connecting to `database` as `role`.
    pub fn options(&self, role: &str, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .socket(&self.socket_dir)
            .port(PORT)
            .username(role)
            .database(database)
            .application_name("compliance")
            // Overrides PGSSLMODE in the environment, because the server's socket has no TLS.
            .ssl_mode(PgSslMode::Disable)
    }

    /// Returns the `postgres://` URL for connecting to `database` as `role`, for programs such as `psql`.
    pub fn url(&self, role: &str, database: &str) -> String {
        let escaped = |bytes| percent_encode(bytes, NON_ALPHANUMERIC);
        let (host, database) = (escaped(self.socket_dir.as_os_str().as_bytes()), escaped(database.as_bytes()));
        format!("postgres://{role}@{host}:{PORT}/{database}")
    }

    /// Creates a database owned by [`OWNER_ROLE`], unless it exists. Returns whether it was created.
    ///
    /// The name must not contain a quote or exceed 63 bytes.
    pub async fn create_database(&self, name: &str) -> Result<bool, Error> {
        let statement = format!("CREATE DATABASE \"{name}\" OWNER {OWNER_ROLE}");
        self.run(&format!("create the database {name}"), async |admin| {
            let query = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)");
            if query.bind(name).fetch_one(&mut *admin).await? {
                return Ok(false);
            }
            match sqlx::raw_sql(AssertSqlSafe(statement)).execute(admin).await {
                // Another process has just created the database.
                Err(error) if is_duplicate(&error) => Ok(false),
                other => other.map(|_| true),
            }
        })
        .await
    }

    /// Checks that the server responds to a query. Accepts an error about too many connections as a response.
    pub(crate) async fn probe(&self) -> Result<(), String> {
        let query = async {
            let mut admin = self.admin().await?;
            sqlx::query_scalar::<_, i32>("SELECT 1").fetch_one(&mut admin).await?;
            admin.close().await
        };
        match timeout(PROBE_TIMEOUT, query).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(sqlx::Error::Database(error))) if error.code().as_deref() == Some("53300") => Ok(()),
            Ok(Err(error)) => Err(text(&error)),
            Err(_) => Err(format!("no response within {} s", PROBE_TIMEOUT.as_secs())),
        }
    }

    /// Creates the service's roles, unless they exist.
    pub async fn ensure_roles(&self) -> Result<(), Error> {
        let create = [OWNER_ROLE, SERVICE_ROLE].map(|role| {
            format!(
                "IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN CREATE ROLE {role} LOGIN; END IF;"
            )
        });
        let statement = format!("DO $$ BEGIN {} END $$", create.concat());
        self.run("create the service's roles", async |admin| {
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(admin).await.map(drop)
        })
        .await
    }

    async fn admin(&self) -> Result<PgConnection, sqlx::Error> {
        self.options(ADMIN_ROLE, "postgres").disable_statement_logging().connect().await
    }

    /// Runs statements as the administrator.
    async fn run<T>(
        &self,
        action: &str,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, Error> {
        let work = async {
            let mut admin = self.admin().await?;
            let done = work(&mut admin).await?;
            admin.close().await.map(|()| done)
        };
        let late = || sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "no response from the database"));
        let done = timeout(STATEMENT_TIMEOUT, work).await.unwrap_or_else(|_| Err(late()));
        done.map_err(|error| Error::Other(format!("cannot {action}: {}", text(&error))))
    }
}

/// Returns an error's text, without the PostgreSQL source line that sqlx adds.
fn text(error: &sqlx::Error) -> String {
    error.as_database_error().map_or_else(|| error.to_string(), |error| error.message().to_owned())
}

/// Matches `duplicate_database`, and `unique_violation` from concurrent statements.
fn is_duplicate(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    matches!(code.as_deref(), Some("42P04" | "23505"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_parses_to_same_connect_options() {
        let endpoint = Endpoint::new(PathBuf::from("/data dir/postgres"));
        let parsed: PgConnectOptions = endpoint.url(OWNER_ROLE, "a/b").parse().unwrap();
        assert_eq!(parsed.get_socket().map(PathBuf::as_path), Some(endpoint.socket_dir()));
        assert_eq!(parsed.get_database(), Some("a/b"));
        assert_eq!(parsed.get_username(), OWNER_ROLE);
    }
}
