//! The database of a program.

use std::path::PathBuf;

use clap::Args;
use core_server::database;
use sqlx::postgres::PgConnectOptions;

use super::{Hidden, InvalidSetting, secret_file::read_secret};

/// A database that may be given.
#[derive(Args, Clone, Debug)]
pub struct DatabaseUrlArgs {
    /// Database: `postgres://user:password@host/database`. Without it, `serve` and the commands that work on a data folder
    /// use their own PostgreSQL.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: Option<Hidden>,
    /// File with the URL of the database, instead of --database-url.
    #[arg(long, env = "COMPLIANCE_DATABASE_URL_FILE", value_name = "FILE", conflicts_with = "database_url")]
    database_url_file: Option<PathBuf>,
}

impl DatabaseUrlArgs {
    /// How to connect to it; `None` if none is given. Fails if the URL is malformed, or if its file cannot be read.
    pub fn options(&self) -> Result<Option<PgConnectOptions>, InvalidSetting> {
        if let Some(file) = self.database_url_file.as_deref().filter(|file| !file.as_os_str().is_empty()) {
            let name = "--database-url-file (COMPLIANCE_DATABASE_URL_FILE)";
            let url = read_secret(file).map_err(InvalidSetting::of(name))?;
            return database::options(&url).map(Some).map_err(InvalidSetting::of(name));
        }
        let url = self.database_url.as_ref().and_then(Hidden::filled);
        url.map(database::options).transpose().map_err(InvalidSetting::of("--database-url (DATABASE_URL)"))
    }
}

/// A database that must be given.
#[derive(Args, Clone, Debug)]
pub struct RequiredDatabaseArgs {
    #[command(flatten)]
    url: DatabaseUrlArgs,
}

impl RequiredDatabaseArgs {
    /// How to connect to it. Fails if none is given, if the URL is malformed, or if its file cannot be read.
    pub fn options(&self) -> Result<PgConnectOptions, InvalidSetting> {
        let allowed = "postgres://user:password@host/database, or a file that holds it with --database-url-file";
        self.url.options()?.ok_or_else(|| InvalidSetting::missing("--database-url (DATABASE_URL)", allowed))
    }
}
