//! The database of a program.

use std::path::PathBuf;

use clap::Args;
use core_server::database;
use sqlx::postgres::PgConnectOptions;

use super::{Hidden, secret::from_value_or_file};
use crate::InvalidSetting;

/// The database that a program works on.
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
        let names = ["--database-url (DATABASE_URL)", "--database-url-file (COMPLIANCE_DATABASE_URL_FILE)"];
        let (value, file) = (self.database_url.as_ref(), self.database_url_file.as_ref());
        from_value_or_file(value, file, names, |url| database::options(&url))
    }

    /// Like [`Self::options`], but fails if none is given.
    pub fn required(&self) -> Result<PgConnectOptions, InvalidSetting> {
        let allowed = "postgres://user:password@host/database, or a file that holds it with --database-url-file";
        self.options()?.ok_or_else(|| InvalidSetting::missing("--database-url (DATABASE_URL)", allowed))
    }
}
