//! Errors with messages that tell operators what to do.

use std::{io, path::PathBuf};

/// Why a cluster operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The process runs as root, and the database's user cannot reach the data folder.
    #[error(
        "PostgreSQL does not run as root, so the database runs as the user {user}, which cannot access {}. \
         Put the data folder somewhere every user can reach, such as /var/lib/compliance; or start the service as an \
         ordinary user; or allow access with `chmod o+x {}`", dir.display(), dir.display()
    )]
    NotPassable {
        /// First folder that the user cannot enter.
        dir: PathBuf,
        /// Name of the database's user.
        user: String,
    },
    /// Another process runs the data folder's cluster.
    #[error(
        "the data folder {} is in use by another process{}: stop that process first, or choose a different folder",
        path.display(), holder.map_or_else(String::new, |pid| format!(" (process ID {pid})"))
    )]
    InUse {
        /// Data folder.
        path: PathBuf,
        /// ID of the process that uses the folder, if known.
        holder: Option<i32>,
    },
    /// The cluster's folder contains something else.
    #[error("{} exists and is not a complete PostgreSQL cluster: move it elsewhere, or choose a different data folder", path.display())]
    NotACluster {
        /// Folder.
        path: PathBuf,
    },
    /// A folder belongs to a user that this process cannot switch to.
    #[error("{0}")]
    OtherUser(String),
    /// `PGOPTIONS` is set, which sqlx applies to every connection.
    #[error("PGOPTIONS would also affect the service's own database: unset it")]
    PgOptions,
    /// Any other error, described by its message.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Adds the action and path to an I/O error, for `map_err`.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::Other(format!("cannot {action} {}: {error}", path.display()))
    }
}
