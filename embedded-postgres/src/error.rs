//! Errors, with messages that tell an operator what to do.

use std::{io, path::PathBuf, time::Duration};

use crate::requirements::{BIN_DIR_VARIABLE, OLDEST_MAJOR};

/// Why the database could not be found, created, started, reached or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No usable server programs on this machine.
    #[error(
        "no PostgreSQL server (version {oldest} or newer) was found on this machine. Install one \
         (Debian, Ubuntu: `apt-get install postgresql`; Fedora, RHEL: `dnf install postgresql-server`; \
         Alpine: `apk add postgresql`; Arch: `pacman -S postgresql`; macOS: `brew install postgresql@17`), \
         set {variable} to the folder that holds `postgres` and `initdb`, \
         or give the address of a running server with --database-url. Looked in: {looked}",
        oldest = OLDEST_MAJOR,
        variable = BIN_DIR_VARIABLE
    )]
    NotInstalled {
        /// The folders that were searched, each with the reason why it was not used.
        looked: String,
    },
    /// The configured folder holds no usable server programs.
    #[error("{variable}={} cannot be used: {reason}", path.display(), variable = BIN_DIR_VARIABLE)]
    BadBinDir {
        /// The configured folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A major version that is no longer installed created the cluster.
    #[error(
        "PostgreSQL {cluster} created the database in {}, but the installed version is {found}. \
         Install PostgreSQL {cluster}, or migrate the data with pg_upgrade or pg_dumpall", path.display()
    )]
    WrongVersion {
        /// The cluster's folder.
        path: PathBuf,
        /// The major version that created it.
        cluster: u32,
        /// The installed major version.
        found: u32,
    },
    /// A file or folder could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The failed action, such as "create".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The process runs as root, and the database's user cannot reach the data folder.
    #[error(
        "PostgreSQL does not run as root, so the database runs as the user {user}, who cannot access {}. \
         Put the data folder somewhere every user can reach, such as /var/lib/compliance; or start the service as an \
         ordinary user; or allow access with `chmod o+x {}`", dir.display(), dir.display()
    )]
    NotPassable {
        /// The first folder that the user may not pass.
        dir: PathBuf,
        /// The name of the database's user.
        user: String,
    },
    /// The database's user has no name, which `PostgreSQL` requires.
    #[error(
        "the database would run as the user ID {uid}, which has no name on this machine, and PostgreSQL needs one: \
         add the user to /etc/passwd, or start the service as a user that has a name"
    )]
    NamelessUser {
        /// The user ID.
        uid: u32,
    },
    /// The cluster belongs to another user.
    #[error(
        "the database in {} belongs to the user ID {owner}, but this process runs as {me}: \
         start it as the same user as before, or as root", path.display()
    )]
    WrongOwner {
        /// The cluster's folder.
        path: PathBuf,
        /// The owner's user ID.
        owner: u32,
        /// This process's user ID.
        me: u32,
    },
    /// Another process runs the cluster of this data folder.
    #[error(
        "the data folder {} is in use by another process{}: stop that one first, or choose another folder",
        path.display(), holder.map_or_else(String::new, |pid| format!(" (process ID {pid})"))
    )]
    InUse {
        /// The data folder.
        path: PathBuf,
        /// The process that holds it, when known.
        holder: Option<i32>,
    },
    /// The cluster's folder holds something else.
    #[error("{} exists and is not a complete PostgreSQL cluster: move it elsewhere, or choose another data folder", path.display())]
    NotACluster {
        /// The folder.
        path: PathBuf,
    },
    /// `initdb` failed.
    #[error("initdb could not create a database in {}: {output}", path.display())]
    Initdb {
        /// The folder of the new database.
        path: PathBuf,
        /// What `initdb` printed.
        output: String,
    },
    /// A program could not be started.
    #[error("cannot run {}{}: {source}", program.display(), user.as_ref().map_or_else(String::new, |u| format!(" as the user {u}")))]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The user that it should have run as, if not the caller.
        user: Option<String>,
        /// The system's reason.
        source: io::Error,
    },
    /// A process may be a server of this cluster, but this library did not start it.
    #[error(
        "process {pid} looks like a PostgreSQL server that uses {}, but was not started by this service: \
         stop it first (if it is not one, remove {}/postmaster.pid)", path.display(), path.display()
    )]
    UnknownServer {
        /// The process.
        pid: i32,
        /// The cluster's folder.
        path: PathBuf,
    },
    /// The server ended before it answered.
    #[error("PostgreSQL ended while starting ({status}); the end of {}:\n{tail}", log.display())]
    StartFailed {
        /// How it ended.
        status: String,
        /// The last lines of its log.
        tail: String,
        /// The log file.
        log: PathBuf,
    },
    /// The server runs but does not answer in time.
    #[error("PostgreSQL did not answer within {} s ({last}); see {}", waited.as_secs(), log.display())]
    NoAnswer {
        /// The time waited.
        waited: Duration,
        /// Its last message.
        last: String,
        /// Its log.
        log: PathBuf,
    },
    /// The server did not end, not even after SIGKILL.
    #[error("the PostgreSQL server, process {pid}, cannot be stopped: {reason}")]
    WontStop {
        /// The process.
        pid: i32,
        /// The reason.
        reason: String,
    },
    /// The cluster is being stopped, so it cannot be started.
    #[error("the database is being stopped")]
    Stopping,
    /// An invalid database name.
    #[error("{name:?} cannot name a database: 1 to 63 bytes, none of them NUL")]
    BadName {
        /// The name.
        name: String,
    },
    /// A statement failed.
    #[error("cannot {action}: {source}")]
    Sql {
        /// The failed action.
        action: String,
        /// The error of the driver or of the server.
        source: sqlx::Error,
    },
}

impl Error {
    /// For `map_err`: adds the action and the path to an I/O error.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// For `map_err`: adds the action to an error of the driver.
    pub(crate) fn sql(action: impl Into<String>) -> impl FnOnce(sqlx::Error) -> Self {
        let action = action.into();
        move |source| Self::Sql { action, source }
    }
}
