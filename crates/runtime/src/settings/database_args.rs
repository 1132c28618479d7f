//! The database of a program.

use std::path::PathBuf;

use clap::Args;
use core_server::database::{self, Target};

use super::{
    Hidden,
    secret::{from_value_or_file, read},
};
use crate::InvalidSetting;

/// The database that a program works on.
#[derive(Args, Clone, Debug)]
pub struct DatabaseUrlArgs {
    /// Database: `postgres://user:password@host/database`; several hosts are separated by commas. Without it, `serve` and the
    /// commands that work on a data folder use their own PostgreSQL.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: Option<Hidden>,
    /// File with the URL of the database, instead of --database-url. It is read again when a connection fails, so that a
    /// password can be replaced.
    #[arg(long, env = "COMPLIANCE_DATABASE_URL_FILE", value_name = "FILE", conflicts_with = "database_url")]
    database_url_file: Option<PathBuf>,
}

impl DatabaseUrlArgs {
    /// How to connect to it; `None` if none is given. Fails if the URL is malformed, or if its file cannot be read.
    pub fn target(&self) -> Result<Option<Target>, InvalidSetting> {
        let names = ["--database-url (DATABASE_URL)", "--database-url-file (COMPLIANCE_DATABASE_URL_FILE)"];
        let (value, file) = (self.database_url.as_ref(), self.database_url_file.as_ref());
        let target = from_value_or_file(value, file, names, |url| database::target(&url))?;
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

    /// Like [`Self::target`], but fails if none is given.
    pub fn required(&self) -> Result<Target, InvalidSetting> {
        let allowed = "postgres://user:password@host/database, or a file that holds it with --database-url-file";
        self.target()?.ok_or_else(|| InvalidSetting::missing("--database-url (DATABASE_URL)", allowed))
    }
}
