//! A program's database settings.

use std::path::PathBuf;

use clap::Args;
use core_server::database::{self, Target};

use super::{
    failure::{InvalidSetting, named},
    secret_values::{Hidden, from_value_or_file, read},
};

/// The database URL, given directly or in a file.
#[derive(Args, Clone, Debug)]
pub(crate) struct DatabaseUrlArgs {
    /// Database URL: `postgres://user:password@host/database`. Without a URL, `serve` and the commands that work on a data folder use the service's
    /// own PostgreSQL server.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: Option<Hidden>,
    /// File with the database URL, instead of --database-url. When a connection fails, the service reads the file again, so you can change the
    /// password without a restart.
    #[arg(long, env = "COMPLIANCE_DATABASE_URL_FILE", value_name = "FILE", conflicts_with = "database_url")]
    database_url_file: Option<PathBuf>,
}

impl DatabaseUrlArgs {
    /// Returns whether a database is given, by URL or file.
    pub(crate) fn is_given(&self) -> bool {
        self.database_url_file.is_some() || self.database_url.as_ref().and_then(Hidden::filled).is_some()
    }

    /// Returns how to connect, or `None` if no database is given. Fails if the URL is malformed or its file cannot be read.
    pub(crate) fn target(&self) -> Result<Option<Target>, InvalidSetting> {
        let (value, file) = (self.database_url.as_ref(), self.database_url_file.as_ref());
        let target = from_value_or_file(value, file, "database-url", |url| database::target(&url))?;
        let again = |file: PathBuf| {
            move || {
                let url = read(&file).map_err(|error| error.to_string())?;
                database::target(&url).map_err(|error| error.to_string())
            }
        };
        // A pipe cannot be read twice.
        Ok(match file.filter(|file| file.is_file()).cloned() {
            Some(file) => target.map(|target| target.reread_by(again(file))),
            None => target,
        })
    }

    /// Like [`Self::target`], but fails if no database is given.
    pub(crate) fn required(&self) -> Result<Target, InvalidSetting> {
        let allowed = "postgres://user:password@host/database, or a file with this URL: --database-url-file";
        self.target()?.ok_or_else(|| InvalidSetting::missing(named("database-url"), allowed))
    }
}
