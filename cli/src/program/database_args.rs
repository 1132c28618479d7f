//! The database of a program, and its replicas.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use core_server::database::{self, ReadTarget, Target};
use flags::duration;

use super::{
    failure::{InvalidSetting, named},
    hidden::{Hidden, from_value_or_file, read},
};

/// The database that a program works on.
#[derive(Args, Clone, Debug)]
pub(crate) struct DatabaseUrlArgs {
    /// Database: `postgres://user:password@host/database`; several hosts are separated by commas. Without it, `serve` and the
    /// commands that work on a data folder use their own PostgreSQL.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: Option<Hidden>,
    /// File with the database URL, instead of --database-url. When a connection fails, the service reads the file again, so you can change
    /// the password.
    #[arg(long, env = "COMPLIANCE_DATABASE_URL_FILE", value_name = "FILE", conflicts_with = "database_url")]
    database_url_file: Option<PathBuf>,
}

impl DatabaseUrlArgs {
    /// Whether a database is given, in either form.
    pub(crate) fn is_given(&self) -> bool {
        self.database_url_file.is_some() || self.database_url.as_ref().and_then(Hidden::filled).is_some()
    }

    /// Returns how to connect; `None` if no database is given. Fails if the URL is malformed, or if its file cannot be read.
    pub(crate) fn target(&self) -> Result<Option<Target>, InvalidSetting> {
        target(self.database_url.as_ref(), self.database_url_file.as_ref(), "database-url")
    }

    /// Like [`Self::target`], but fails if no database is given.
    pub(crate) fn required(&self) -> Result<Target, InvalidSetting> {
        let allowed = "postgres://user:password@host/database, or a file with this URL: --database-url-file";
        self.target()?.ok_or_else(|| InvalidSetting::missing(named("database-url"), allowed))
    }
}

/// The replicas that reads may run on.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReplicaArgs {
    /// Streaming replicas of the database, which serve reads: a URL like --database-url. The service uses all of its hosts. A read sees all
    /// acknowledged writes: if no replica has replayed them in time, the primary serves the read.
    #[arg(long, env = "COMPLIANCE_READ_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    read_database_url: Option<Hidden>,
    /// File with the replica URL, instead of --read-database-url. When a connection fails, the service reads the file again.
    #[arg(long, env = "COMPLIANCE_READ_DATABASE_URL_FILE", value_name = "FILE", conflicts_with = "read_database_url")]
    read_database_url_file: Option<PathBuf>,
    /// How long a read waits for a replica that has not replayed recent writes. A slower replica is not used until it has caught up.
    #[arg(long, env = "COMPLIANCE_REPLICA_MAX_LAG", default_value = "100ms", value_name = "TIME",
          value_parser = duration(Duration::from_millis(1)..=Duration::from_secs(2)))]
    replica_max_lag: Duration,
}

impl ReplicaArgs {
    /// Returns the replicas; `None` if none are given. Fails if the URL is malformed, or if its file cannot be read.
    pub(crate) fn replicas(&self) -> Result<Option<ReadTarget>, InvalidSetting> {
        let (url, file) = (self.read_database_url.as_ref(), self.read_database_url_file.as_ref());
        let target = target(url, file, "read-database-url")?;
        Ok(target.map(|target| ReadTarget { target, max_lag: self.replica_max_lag }))
    }
}

/// Returns the database of a URL: the value of `setting`, or the content of its `-file` setting.
fn target(value: Option<&Hidden>, file: Option<&PathBuf>, setting: &str) -> Result<Option<Target>, InvalidSetting> {
    let target = from_value_or_file(value, file, setting, |url| database::target(&url))?;
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
