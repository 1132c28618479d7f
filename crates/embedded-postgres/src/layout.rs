//! Manages the cluster's paths, the socket folder, and the data folder's lock.

use std::{
    ffi::OsStr,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    },
    path::{self, Path, PathBuf},
    time::Duration,
};

use nix::{
    fcntl::OFlag,
    sys::signal::kill,
    unistd::{AccessFlags, Pid, access},
};
use tokio::time::{Instant, sleep};

use crate::{
    endpoint::PORT,
    error::Error,
    files,
    user::{Account, grantable},
};

/// Name of the cluster's folder inside the data folder.
pub(crate) const CLUSTER: &str = "postgres";

/// The server's PID file.
const SERVER_FILE: &str = "postmaster.pid";
/// Process ID that no process can have.
const NO_PID: i32 = i32::MAX;

/// Maximum length of a socket path, in bytes: 107 on Linux, 103 on macOS and the BSDs.
const LONGEST_SOCKET_PATH: usize = 103;

/// Paths in a data folder.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) data_dir: PathBuf,
    pub(crate) cluster: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) hba: PathBuf,
    pub(crate) ident: PathBuf,
}

/// Lock on a data folder, released on drop.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // A child process that another thread is starting shares the descriptor until it runs its program. Closing the file would release the
        // lock only then. Unlocking releases it immediately.
        let _ = self.0.unlock();
    }
}

impl Layout {
    /// Returns the paths in an existing folder. Resolves links, so each folder has a single path.
    pub(crate) fn of(data_dir: &Path) -> Result<Self, Error> {
        let data_dir = fs::canonicalize(data_dir).map_err(Error::io("open the data folder", data_dir))?;
        Ok(Self {
            cluster: data_dir.join(CLUSTER),
            log: data_dir.join("postgres.log"),
            hba: data_dir.join("postgres.hba"),
            ident: data_dir.join("postgres.ident"),
            data_dir,
        })
    }

    /// Like [`Layout::of`], but creates a missing folder and lets the database's user reach it.
    pub(crate) fn create(data_dir: &Path) -> Result<(Self, Account), Error> {
        // Check before creating anything.
        check_data_dir(data_dir)?;
        if let Some(parent) = data_dir.parent() {
            fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        }
        DirBuilder::new().recursive(true).mode(0o700).create(data_dir).map_err(Error::io("create", data_dir))?;
        let layout = Self::of(data_dir)?;
        let account = Account::of(&layout.cluster)?;
        account.grant_passage(&layout.data_dir)?;
        account.check_reachable(&layout.data_dir)?;
        Ok((layout, account))
    }

    /// Acquires the lock, which lets only one process run the cluster. Waits up to `timeout`.
    pub(crate) async fn acquire(&self, account: &Account, timeout: Duration) -> Result<Lock, Error> {
        let deadline = Instant::now() + timeout;
        let path = self.data_dir.join("postgres.lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o644);
        let mut file = files::open(&path, &mut options, account.uid).map_err(Error::io("open", &path))?;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(Duration::from_millis(50)).await,
                Err(TryLockError::WouldBlock) => {
                    let mut text = String::new();
                    let holder = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                    return Err(Error::InUse { path: self.data_dir.clone(), holder });
                }
            }
        }
        let mut lock = Lock(file);
        // A second process shows this ID in its error message.
        (lock.0.set_len(0))
            .and_then(|()| writeln!(lock.0, "{}", std::process::id()))
            .map_err(Error::io("write", &path))?;
        Ok(lock)
    }

    /// Returns the server's process ID while it runs.
    pub(crate) fn server_pid(&self) -> Option<i32> {
        let pid = pid_of(&self.server_file()?)?;
        let Some(line) = command_line(pid) else { return kill(Pid::from_raw(pid), None).is_ok().then_some(pid) };
        let name = format!("cluster_name={}", self.cluster_name().ok()?);
        (is_postgres(&line) && line.split(|byte| *byte == 0).any(|argument| argument == name.as_bytes())).then_some(pid)
    }

    /// Removes files that would prevent a start after a crash.
    ///
    /// PostgreSQL does not start if another program of the same user now has the killed server's process ID.
    pub(crate) fn clear(&self, account: &Account, socket: &Path) -> Result<(), Error> {
        let text = self.server_file().unwrap_or_default();
        let pid = pid_of(&text);
        if let Some(pid) = pid.filter(|pid| command_line(*pid).is_none_or(|line| is_postgres(&line))) {
            // Without `/proc`, the process may have ended or be a different program. PostgreSQL detects a running server.
            let is_known = command_line(pid).is_some();
            return if is_known { Err(Error::InUse { path: self.cluster.clone(), holder: Some(pid) }) } else { Ok(()) };
        }
        let path = self.cluster.join(SERVER_FILE);
        for path in [&socket.with_added_extension("lock"), socket, &path] {
            files::remove(path).map_err(Error::io("remove", path))?;
        }
        let Some((_, others)) = text.split_once('\n').filter(|_| pid.is_some()) else { return Ok(()) };
        // The other lines tell PostgreSQL whether the killed server's processes still use its memory.
        let written = files::replace(&path, 0o600).and_then(|mut file| write!(file, "{NO_PID}\n{others}"));
        written.map_err(Error::io("write", &path))?;
        account.chown(&path)
    }

    /// Returns the contents of the server's PID file.
    fn server_file(&self) -> Option<String> {
        // The database's user could replace the file with a link or a pipe.
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(flags.bits()).open(self.cluster.join(SERVER_FILE)).ok()?;
        let mut text = String::new();
        file.take(4096).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Returns a name that is unique on this machine, even among containers with the same path.
    pub(crate) fn cluster_name(&self) -> Result<String, Error> {
        let meta = fs::metadata(&self.cluster).map_err(Error::io("inspect", &self.cluster))?;
        Ok(format!("compliance-{:x}-{:x}", meta.dev(), meta.ino()))
    }

    /// Returns the server's socket folder.
    ///
    /// This is the cluster's folder, or one in `/tmp` if the socket path is too long or contains unusual characters.
    pub(crate) fn socket_dir(&self, cluster_name: &str) -> PathBuf {
        if fits(&self.cluster) { self.cluster.clone() } else { Path::new("/tmp").join(cluster_name) }
    }

    /// Creates the socket's folder, accessible only to its owner.
    pub(crate) fn create_socket_dir(&self, account: &Account, cluster_name: &str) -> Result<PathBuf, Error> {
        let dir = self.socket_dir(cluster_name);
        if dir == self.cluster {
            return Ok(dir);
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(Error::io("create", &dir))?;
        // Anyone can create folders in `/tmp`, so check an existing one.
        let meta = fs::symlink_metadata(&dir).map_err(Error::io("inspect", &dir))?;
        let ours = meta.uid() == account.uid || (account.switched && meta.uid() == 0);
        if !meta.is_dir() || !ours || meta.mode() & 0o077 != 0 {
            let reason = io::Error::other("owned by another user or accessible to others; remove the folder");
            return Err(Error::io("use the socket folder", &dir)(reason));
        }
        account.chown(&dir)?;
        Ok(dir)
    }
}

/// Checks whether a folder, existing or not, can contain a cluster. Changes nothing.
///
/// Fails with [`Error::NotPassable`] if the database's user cannot reach the folder. Also fails if the folder's cluster belongs to another user.
pub fn check_data_dir(data_dir: impl AsRef<Path>) -> Result<(), Error> {
    let data_dir = data_dir.as_ref();
    let data_dir = path::absolute(data_dir).map_err(Error::io("find", data_dir))?;
    let account = Account::of(&data_dir.join(CLUSTER))?;
    let existing: PathBuf = data_dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new("/")).to_owned();
    let existing = fs::canonicalize(&existing).map_err(Error::io("find", &existing))?;
    access(&existing, AccessFlags::W_OK | AccessFlags::X_OK)
        .map_err(|error| Error::io("write to", &existing)(error.into()))?;
    // Starting the cluster grants the user access to the data folder itself.
    let granted = data_dir.is_dir() && fs::metadata(&existing).is_ok_and(|meta| grantable(&meta));
    match account.check_reachable(&existing) {
        Err(Error::NotPassable { dir, .. }) if dir == existing && granted => Ok(()),
        other => other,
    }
}

/// Returns whether a folder contains a PostgreSQL cluster.
///
/// Returns true if the caller cannot read the folder.
pub fn has_cluster(data_dir: impl AsRef<Path>) -> bool {
    // An unreadable folder may contain a cluster. The code that uses the folder reports the error.
    let version = data_dir.as_ref().join(CLUSTER).join("PG_VERSION");
    fs::symlink_metadata(version).map_or_else(|error| error.kind() != io::ErrorKind::NotFound, |_| true)
}

fn pid_of(server_file: &str) -> Option<i32> {
    server_file.lines().next()?.trim().parse().ok().filter(|pid| *pid > 0)
}

/// Returns a process's command line, with a NUL after each argument. Empty if the process has ended, `None` if `/proc` is missing.
fn command_line(pid: i32) -> Option<Vec<u8>> {
    let line = fs::read(format!("/proc/{pid}/cmdline"));
    Path::new("/proc/self/cmdline").exists().then(|| line.unwrap_or_default())
}

fn is_postgres(command_line: &[u8]) -> bool {
    let program = command_line.split(|byte| *byte == 0).next().unwrap_or_default();
    Path::new(OsStr::from_bytes(program)).file_name().is_some_and(|name| name == "postgres")
}

/// Returns the socket file's path in `dir`.
pub(crate) fn socket_file(dir: &Path) -> PathBuf {
    dir.join(format!(".s.PGSQL.{PORT}"))
}

/// Returns whether `dir` can contain the socket. The path must be short and need no quotes in the server's folder list.
fn fits(dir: &Path) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+@=~".contains(byte);
    socket_file(dir).as_os_str().len() <= LONGEST_SOCKET_PATH && dir.as_os_str().as_bytes().iter().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_paths_must_be_short_and_plain() {
        assert!(fits(Path::new("/var/lib/compliance/postgres")));
        assert!(!fits(Path::new("/var/lib/with, comma/postgres")));
        assert!(!fits(Path::new(&format!("/{}", "x".repeat(95)))));
    }
}
