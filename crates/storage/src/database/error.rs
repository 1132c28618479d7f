//! Errors that make a database unusable.

use sqlx::{migrate::MigrateError, postgres::PgConnectOptions};
use tls::Failure;

use crate::error::text;

/// Why the database cannot be used. Messages are for operators and contain no passwords.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum DatabaseError {
    #[error("the database URL is not valid: {0}")]
    Url(String),
    #[error("cannot connect to the database {database} at {host}: {}", text(.source))]
    Connect { host: String, database: String, source: sqlx::Error },
    #[error(
        "cannot establish a TLS connection to {host} with the database URL's `sslmode` and `sslrootcert`: {}{}",
        text(.source),
        of_certificate(.source)
    )]
    Tls { host: String, source: sqlx::Error },
    #[error(
        "{host} rejects a parameter in the database URL ({}), as poolers such as PgBouncer do. Remove `options` from \
         the URL, and set these settings for the role (`alter role … set …`)",
        text(.source)
    )]
    Parameter { host: String, source: sqlx::Error },
    #[error(
        "at {host}, a pooler such as PgBouncer does not allow transactions (`pool_mode = statement`), which the service needs: use \
         `pool_mode = transaction` or `session`, or connect to PostgreSQL directly"
    )]
    StatementPooler { host: String },
    #[error(
        "at {host}, a pooler such as PgBouncer changes the server's process between transactions (`pool_mode = transaction`) \
         and does not keep prepared statements there, which the service needs: use PgBouncer 1.21 or newer with \
         `max_prepared_statements` above 0 (0 is its default before 1.24) and more than one server connection, \
         `pool_mode = session`, or connect to PostgreSQL directly"
    )]
    NotPrepared { host: String },
    #[error(
        "at {host}, a pooler such as PgBouncer changes the server's process between transactions (`pool_mode = transaction`), \
         so the service's role must have the service's settings. Run these statements as that role, and let the pooler open new \
         server connections (`reconnect` in its console): {statements}"
    )]
    SharedSettings { host: String, statements: String },
    #[error(
        "{command} needs its own session, but a pooler such as PgBouncer changes sessions between transactions \
         (`pool_mode = transaction`): run it with a URL that connects to PostgreSQL directly"
    )]
    SharedSession { command: &'static str },
    #[error(
        "the database was created with a different version of step {step}, so this program can neither use nor upgrade it. Export \
         its records with the program that created it (`compliance export`), and import them into a new database with this one"
    )]
    Modified { step: String },
    #[error(
        "this URL connects as {user}, a superuser, but {owner} owns the database: use the URL of {owner}, who then also owns the tables"
    )]
    MigrateByOther { user: String, owner: String },
    #[error(
        "the database {database} already contains the table {table}, but not this service's schema history. The service needs a \
         database of its own: use the URL of an empty database. After a failed restore, restore the whole backup again"
    )]
    OtherTables { database: String, table: String },
    #[error("cannot migrate the database's schema: {}", of_migration(.0))]
    Migrate(#[from] MigrateError),
    #[error("cannot grant the role {role} the rights that the service needs: {}", text(.source))]
    Grant { role: String, source: sqlx::Error },
    #[error("the role {role} does not exist: correct its name, or create it first (`create role {role} login`)")]
    GrantToMissing { role: String },
    #[error("the role {role} owns the tables, so it needs no grant: specify the role that the service runs as")]
    GrantToOwner { role: String },
    #[error(
        "the role {role} is a superuser and could change the record of changes: specify the role that the service runs as"
    )]
    GrantToSuperuser { role: String },
    #[error("this URL connects as {user}, which does not own the tables: use the owner's URL")]
    GrantByOther { user: String },
    #[error("cannot set the retention of changes: {}{}", text(.0), advice(.0, USE_OWNER))]
    Retention(sqlx::Error),
    #[error("cannot read the database's schema history: {}{}", text(.0), advice(.0, GRANT))]
    History(sqlx::Error),
    #[error(
        "the database's schema is not up to date ({missing} of {total} steps are missing): run `compliance migrate` with \
         the owner's URL, and with `--service-role ROLE` if the service connects as another role"
    )]
    NotMigrated { missing: usize, total: usize },
    #[error(
        "the database is incomplete: it lacks {missing}. Restore the whole backup again; if triggers are only disabled, run \
         `alter table … enable trigger user` for each table as the owner"
    )]
    Incomplete { missing: String },
    #[error("the database uses Citus {version}, but the service needs 12.1 or newer")]
    OldCitus { version: String },
    #[error(
        "this node is not the Citus coordinator: use the coordinator's URL, after adding its nodes \
         (`citus_set_coordinator_host`, `citus_add_node`)"
    )]
    NotCoordinator,
    #[error(
        "Citus was installed after the schema, so its nodes lack types and functions: install Citus in an empty database, \
         migrate that database, and copy the records"
    )]
    LateCitus,
    #[error("cannot distribute the tables over the Citus nodes: {}", text(.0))]
    Distribute(sqlx::Error),
    #[error(
        "the schema is not up to date on Citus (not distributed: {tables}; missing functions: {functions}): run \
         `compliance migrate` with the owner's URL"
    )]
    NotDistributed { tables: String, functions: usize },
}

impl DatabaseError {
    /// Returns whether the same attempt may succeed later.
    ///
    /// For example, the database may start, a password may be rotated, or another program may migrate or restore the schema.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Connect { source, .. } => !matches!(source, sqlx::Error::Configuration(_)),
            Self::History(_)
            | Self::NotMigrated { .. }
            | Self::NotDistributed { .. }
            | Self::Incomplete { .. }
            | Self::SharedSession { .. } => true,
            _ => false,
        }
    }

    /// Returns whether an operator must change a setting in the URL, a pooler or the database.
    pub fn is_wrong_setting(&self) -> bool {
        !matches!(
            self,
            Self::Connect { .. }
                | Self::Migrate(_)
                | Self::Grant { .. }
                | Self::Retention(_)
                | Self::History(_)
                | Self::NotMigrated { .. }
                | Self::Distribute(_)
                | Self::NotDistributed { .. }
        )
    }
}

/// Advice for an action that only the owner can perform.
const USE_OWNER: &str = "; use the URL of the role that owns the database";
/// Advice for a role that lacks the service's rights.
const GRANT: &str = "; run `compliance migrate --service-role ROLE` with the owner's URL";

/// Returns the advice if the role lacks a right (`insufficient_privilege`).
fn advice(error: &sqlx::Error, text: &'static str) -> &'static str {
    if error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("42501")) { text } else { "" }
}

/// Returns advice on a rejected server certificate.
fn of_certificate(error: &sqlx::Error) -> &'static str {
    match Failure::of(error) {
        Some(Failure::CertificateOfUnknownAuthority) => {
            "; set `sslrootcert` to the file with the authority that issued the server's certificate"
        }
        Some(Failure::CertificateOfOtherName) => "; use a host in the server's certificate",
        _ => "",
    }
}

fn of_migration(error: &MigrateError) -> String {
    match error {
        MigrateError::Execute(error) => format!("{}{}", text(error), advice(error, USE_OWNER)),
        MigrateError::ExecuteMigration(error, step) => {
            format!("step {step}: {}{}", text(error), advice(error, USE_OWNER))
        }
        other => other.to_string(),
    }
}

/// Returns a host with its port, for messages.
pub(super) fn name(host: &PgConnectOptions) -> String {
    let port = host.get_port();
    match (host.get_socket(), host.get_host()) {
        (Some(path), _) => format!("{}:{port}", path.display()),
        (None, address) if address.contains(':') => format!("[{address}]:{port}"),
        (None, name) => format!("{name}:{port}"),
    }
}
