//! Chooses a command's data folder.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use embedded_postgres::check_data_dir;

/// Default folder for root if the database's user cannot reach the current folder.
const SYSTEM: &str = "/var/lib/compliance";

#[derive(Args, Clone, Debug)]
pub(crate) struct DataDirArgs {
    /// Folder with the service's own database and the secret that signs tokens.
    ///
    /// The default is `compliance-data` in the current folder. If root starts the service, the database runs as another user. If that user cannot
    /// reach the current folder, the default is /var/lib/compliance.
    #[arg(long, env = "COMPLIANCE_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl DataDirArgs {
    /// Returns whether a folder was given.
    pub(crate) fn is_given(&self) -> bool {
        self.data_dir.is_some()
    }

    /// Returns the absolute path of the folder, which does not need to exist.
    pub(crate) fn choose(&self) -> anyhow::Result<PathBuf> {
        if let Some(given) = &self.data_dir {
            return absolute(given);
        }
        // Each checkout has its own data.
        let local = absolute(Path::new("compliance-data"))?;
        // The code that uses the folder reports other errors.
        if matches!(check_data_dir(&local), Err(embedded_postgres::Error::NotPassable { .. })) {
            tracing::debug!(folder = SYSTEM, "the database's user cannot reach the current folder");
            return Ok(PathBuf::from(SYSTEM));
        }
        Ok(local)
    }
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot resolve the path of the data folder {}", path.display()))
}
