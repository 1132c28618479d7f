//! Where a running cluster is reached, and the few statements this library itself sends to it.

use std::{
    fmt::Write,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};

use crate::error::Error;

/// The role the service connects as: owns its databases, is no superuser.
pub const SERVICE_ROLE: &str = "compliance";

/// The role that owns the cluster: a superuser, for maintenance and for tests.
pub const ADMIN_ROLE: &str = "postgres";

/// Only part of the socket's name, as nothing listens on the network.
pub(crate) const PORT: u16 = 5432;

/// One question to the server, connecting included.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// One statement of maintenance, such as copying a template.
const STATEMENT_LIMIT: Duration = Duration::from_mins(2);

/// The address of a running cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    socket_dir: PathBuf,
    port: u16,
}

/// What a server says when it is asked whether it is there.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It answers queries.
    Ready,
    /// It is there and asks for patience: starting, recovering, or stopping. With its words.
    NotYet(String),
    /// Nothing came back, or nothing of use.
    Silent(String),
}

impl Endpoint {
    pub(crate) fn new(socket_dir: PathBuf, port: u16) -> Self {
        Self { socket_dir, port }
    }

    /// The directory of the server's socket.
    pub fn socket_dir(&self) -> &Path {
        &self.socket_dir
    }

    /// How to connect to `database` as the service, [`SERVICE_ROLE`].
    pub fn connect_options(&self, database: &str) -> PgConnectOptions {
        self.options(SERVICE_ROLE, database)
    }

    /// How to connect to `database` as the superuser, [`ADMIN_ROLE`].
    pub fn admin_options(&self, database: &str) -> PgConnectOptions {
        self.options(ADMIN_ROLE, database)
    }

    /// The address of `database` for the service, as `postgres://` text for other programs, such as `psql`.
    pub fn url(&self, database: &str) -> String {
        self.url_as(SERVICE_ROLE, database)
    }

    /// The address of `database` for the superuser.
    pub fn admin_url(&self, database: &str) -> String {
        self.url_as(ADMIN_ROLE, database)
    }

    /// Makes the database `name`, owned by the service's role, unless there is one; tells whether it was made.
    pub async fn create_database(&self, name: &str) -> Result<bool, Error> {
        let quoted = quote(name)?;
        let exists = bounded(format!("look for the database {name}"), async {
            let mut admin = self.admin().await?;
            let query = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)");
            let exists: bool = query.bind(name).fetch_one(&mut admin).await?;
            admin.close().await?;
            Ok(exists)
        });
        if exists.await? {
            return Ok(false);
        }
        let statement = format!("CREATE DATABASE {quoted} OWNER {SERVICE_ROLE}");
        match self.execute(format!("create the database {name}"), statement).await {
            // Another process was quicker.
            Err(Error::Sql { source, .. }) if is_duplicate(&source) => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Makes the database `name` as a copy of `template`, to which nobody may be connected. For tests, which need many
    /// alike.
    pub async fn create_database_from(&self, name: &str, template: &str) -> Result<(), Error> {
        let statement = format!("CREATE DATABASE {} OWNER {SERVICE_ROLE} TEMPLATE {}", quote(name)?, quote(template)?);
        self.execute(format!("create the database {name} from {template}"), statement).await
    }

    /// Removes the database `name` and whoever is connected to it; it is no error when there is none.
    pub async fn drop_database(&self, name: &str) -> Result<(), Error> {
        let statement = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", quote(name)?);
        self.execute(format!("remove the database {name}"), statement).await
    }

    /// Asks the server whether it is there; takes at most some seconds.
    pub(crate) async fn ask(&self) -> Answer {
        let asked = tokio::time::timeout(ANSWER_LIMIT, async {
            let mut admin = self.admin().await?;
            sqlx::query_scalar::<_, i32>("SELECT 1").fetch_one(&mut admin).await?;
            admin.close().await
        });
        match asked.await {
            Ok(Ok(())) => Answer::Ready,
            Ok(Err(sqlx::Error::Database(error))) => match error.code().as_deref() {
                Some("57P03") => Answer::NotYet(error.message().to_owned()),
                // All connections are taken, even the superuser's: busy, but there.
                Some("53300") => Answer::Ready,
                _ => Answer::Silent(error.message().to_owned()),
            },
            Ok(Err(error)) => Answer::Silent(error.to_string()),
            Err(_) => Answer::Silent(format!("nothing within {} s", ANSWER_LIMIT.as_secs())),
        }
    }

    /// Makes sure that the service's role exists.
    pub(crate) async fn ensure_role(&self) -> Result<(), Error> {
        let statement = format!(
            "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{SERVICE_ROLE}') \
             THEN CREATE ROLE {SERVICE_ROLE} LOGIN; END IF; END $$"
        );
        self.execute("create the service's role".to_owned(), statement).await
    }

    async fn admin(&self) -> Result<PgConnection, sqlx::Error> {
        self.admin_options("postgres").disable_statement_logging().connect().await
    }

    /// Sends one statement built of fixed words and quoted names.
    async fn execute(&self, action: String, statement: String) -> Result<(), Error> {
        bounded(action, async {
            let mut admin = self.admin().await?;
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut admin).await?;
            admin.close().await
        })
        .await
    }

    fn options(&self, role: &str, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .socket(&self.socket_dir)
            .port(self.port)
            .username(role)
            .database(database)
            .application_name("compliance")
    }

    fn url_as(&self, role: &str, database: &str) -> String {
        let host = escape(self.socket_dir.as_os_str().as_bytes());
        format!("postgres://{role}@{host}:{}/{}", self.port, escape(database.as_bytes()))
    }
}

async fn bounded<T>(action: String, work: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, Error> {
    let late = || sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "no answer from the database"));
    let done = tokio::time::timeout(STATEMENT_LIMIT, work).await.unwrap_or_else(|_| Err(late()));
    done.map_err(Error::sql(action))
}

/// `duplicate_database`, or its index's `unique_violation` when two statements ran side by side.
fn is_duplicate(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    matches!(code.as_deref(), Some("42P04" | "23505"))
}

/// A database's name as it stands in a statement.
fn quote(name: &str) -> Result<String, Error> {
    // The server would cut a longer name short, and two names could become one.
    if name.is_empty() || name.len() > 63 || name.contains('\0') {
        return Err(Error::BadName { name: name.to_owned() });
    }
    Ok(format!("\"{}\"", name.replace('"', "\"\"")))
}

fn escape(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_address_as_text_leads_to_the_same_place() {
        let endpoint = Endpoint::new(PathBuf::from("/data dir/postgres"), PORT);
        let parsed: PgConnectOptions = endpoint.url("a/b").parse().unwrap();
        assert_eq!(parsed.get_socket().map(PathBuf::as_path), Some(endpoint.socket_dir()));
        assert_eq!(parsed.get_database(), Some("a/b"));
        assert_eq!(parsed.get_username(), SERVICE_ROLE);
    }

    #[test]
    fn names_are_quoted_or_refused() {
        assert_eq!(quote("a\"b").unwrap(), "\"a\"\"b\"");
        assert!(quote("").is_err() && quote("a\0b").is_err() && quote(&"x".repeat(64)).is_err());
    }
}
