//! Which folder holds the data.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use embedded_postgres::check_data_dir;

/// The folder beside the user's work, so that a fresh checkout has fresh data.
const HERE: &str = "compliance-data";
/// Where root keeps the data when the database's user cannot get to the current folder.
const OF_THE_SYSTEM: &str = "/var/lib/compliance";

/// Where the data is.
#[derive(Args, Clone, Debug)]
pub(crate) struct DataDirArgs {
    /// Folder for the data: the database that the service runs itself, and the secret that tokens are signed with.
    ///
    /// By default `compliance-data` in the current folder; or /var/lib/compliance for root, whose database runs as
    /// another user, when that user cannot reach the current folder.
    #[arg(long, env = "COMPLIANCE_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl DataDirArgs {
    /// The folder's path in full. The folder need not exist.
    pub(crate) fn choose(&self) -> anyhow::Result<PathBuf> {
        if let Some(given) = self.data_dir.as_deref().filter(|dir| !dir.as_os_str().is_empty()) {
            return full(given);
        }
        let here = full(Path::new(HERE))?;
        match check_data_dir(&here) {
            Err(embedded_postgres::Error::NotPassable { .. }) => {
                let chosen = PathBuf::from(OF_THE_SYSTEM);
                tracing::debug!(
                    folder = %chosen.display(),
                    "the database's user cannot reach the current folder, so the data is kept elsewhere"
                );
                Ok(chosen)
            }
            // Other errors are reported by the code that uses the folder.
            _ => Ok(here),
        }
    }
}

fn full(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("the data folder {} cannot be found", path.display()))
}
