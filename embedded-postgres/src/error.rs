//! What can go wrong, in words an operator can act on.

use std::{io, path::PathBuf, time::Duration};

/// Why the database could not be found, made, started, reached or stopped.
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
        oldest = crate::OLDEST_MAJOR,
        variable = crate::BIN_DIR_VARIABLE
    )]
    NotInstalled {
        /// The folders that were looked into, each with the reason it was passed over.
        looked: String,
    },
    /// The folder named by the operator does not hold usable server programs.
    #[error("{variable}={} cannot be used: {reason}", path.display(), variable = crate::BIN_DIR_VARIABLE)]
    BadBinDir {
        /// The folder that was named.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The cluster was made by a major version that is not installed any more.
    #[error(
        "the database in {} was made by PostgreSQL {cluster}, but the programs found are version {found}. \
         Install PostgreSQL {cluster}, or carry the data over with pg_upgrade or pg_dumpall", path.display()
    )]
    WrongVersion {
        /// The cluster's folder.
        path: PathBuf,
        /// The major version that made it.
        cluster: u32,
        /// The major version of the programs at hand.
        found: u32,
    },
    /// A file or folder could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, such as "create".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The process runs as root, and the database's user cannot reach the data folder.
    #[error(
        "PostgreSQL does not run as root, so the database runs as the user {user}, who may not pass through {}. \
         Put the data folder somewhere every user can reach, such as /var/lib/compliance; or start the service as an \
         ordinary user; or allow passage with `chmod o+x {}`", dir.display(), dir.display()
    )]
    NotPassable {
        /// The first folder on the way that stops the user.
        dir: PathBuf,
        /// The name of the database's user.
        user: String,
    },
    /// A user without a name: `PostgreSQL` needs one.
    #[error(
        "the database would run as user number {uid}, which has no name on this machine, and PostgreSQL needs one: \
         add the user to /etc/passwd, or start the service as a user that has a name"
    )]
    NamelessUser {
        /// The user's number.
        uid: u32,
    },
    /// The cluster belongs to somebody else.
    #[error(
        "the database in {} belongs to user number {owner}, and this process runs as user number {me}: \
         start it as the same user as before, or as root", path.display()
    )]
    WrongOwner {
        /// The cluster's folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who asks.
        me: u32,
    },
    /// Another process runs the cluster of this data folder.
    #[error(
        "the data folder {} is in use by another process{}: stop that one first, or choose another folder",
        path.display(), holder.map_or_else(String::new, |pid| format!(" (number {pid})"))
    )]
    InUse {
        /// The data folder.
        path: PathBuf,
        /// The process that holds it, when known.
        holder: Option<i32>,
    },
    /// The cluster's place is taken by something else.
    #[error("{} exists and is not a complete PostgreSQL cluster: move it away, or choose another data folder", path.display())]
    NotACluster {
        /// The folder.
        path: PathBuf,
    },
    /// `initdb` failed.
    #[error("initdb could not make a database in {}: {output}", path.display())]
    Initdb {
        /// The folder it was to be made in.
        path: PathBuf,
        /// What `initdb` printed.
        output: String,
    },
    /// A program could not be run at all.
    #[error("cannot run {}{}: {source}", program.display(), user.as_ref().map_or_else(String::new, |u| format!(" as the user {u}")))]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The user it was to run as, when not the caller's own.
        user: Option<String>,
        /// The system's reason.
        source: io::Error,
    },
    /// A process that may be a server of this cluster, but cannot be told for certain.
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
        /// The last lines it logged.
        tail: String,
        /// The whole log.
        log: PathBuf,
    },
    /// The server runs but does not answer.
    #[error("PostgreSQL did not answer within {} s ({last}); see {}", waited.as_secs(), log.display())]
    NoAnswer {
        /// How long was waited.
        waited: Duration,
        /// The last thing heard from it.
        last: String,
        /// Its log.
        log: PathBuf,
    },
    /// The server did not end, not even when killed.
    #[error("the PostgreSQL server, process {pid}, cannot be stopped: {reason}")]
    WontStop {
        /// The process.
        pid: i32,
        /// What stands in the way.
        reason: String,
    },
    /// The cluster is being stopped, so it cannot be started.
    #[error("the database is being stopped")]
    Stopping,
    /// A database name `PostgreSQL` would not take as given.
    #[error("{name:?} cannot name a database: 1 to 63 bytes, none of them NUL")]
    BadName {
        /// The name.
        name: String,
    },
    /// The server refused or failed a statement.
    #[error("cannot {action}: {source}")]
    Sql {
        /// What was tried.
        action: String,
        /// What the driver or the server said.
        source: sqlx::Error,
    },
}

impl Error {
    /// For `map_err`: the system's reason, with what was tried on which path.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// For `map_err`: the driver's reason, with what was tried.
    pub(crate) fn sql(action: impl Into<String>) -> impl FnOnce(sqlx::Error) -> Self {
        let action = action.into();
        move |source| Self::Sql { action, source }
    }
}
