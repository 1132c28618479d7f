//! The places of a cluster: its folders and files, the socket's directory, and the lock that keeps others out.

use std::{
    env,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Seek, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg},
};

use crate::{
    endpoint::PORT,
    error::Error,
    user::{Account, check_data_dir},
};

/// The name of the cluster's folder inside the data folder.
pub(crate) const CLUSTER: &str = "postgres";

/// The longest path of a socket: 107 bytes on Linux, 103 on macOS and the BSDs.
const LONGEST_SOCKET_PATH: usize = 103;

/// The places in one data folder.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) data_dir: PathBuf,
    pub(crate) cluster: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) lock: PathBuf,
}

impl Layout {
    /// The places in `data_dir`, an existing folder; links are resolved, so that one folder has one path.
    pub(crate) fn of(data_dir: &Path) -> Result<Self, Error> {
        let data_dir = fs::canonicalize(data_dir).map_err(Error::io("open the data folder", data_dir))?;
        Ok(Self {
            cluster: data_dir.join(CLUSTER),
            log: data_dir.join("postgres.log"),
            lock: data_dir.join("postgres.lock"),
            data_dir,
        })
    }

    /// As [`Layout::of`], making the folder when it is missing, and the way to it passable for `account`.
    pub(crate) fn create(data_dir: &Path) -> Result<(Self, Account), Error> {
        let wanted = absolute(data_dir)?;
        // Before anything is made in a place that will not do.
        check_data_dir(&wanted)?;
        let missing: Vec<&Path> = wanted.ancestors().take_while(|dir| !dir.exists()).collect();
        for dir in missing.iter().rev() {
            let mode = if *dir == wanted { 0o700 } else { 0o777 };
            match DirBuilder::new().mode(mode).create(dir) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(Error::io("create", *dir)(error));
                }
                _ => {}
            }
        }
        let layout = Self::of(&wanted)?;
        let account = Account::of(&layout.cluster)?;
        if account.switched {
            // Folders just made are the service's own, and so is the data folder; others are left as they are.
            for dir in missing {
                account.let_pass(dir)?;
            }
            account.let_pass(&layout.data_dir)?;
            account.check_way(&layout.data_dir)?;
        }
        Ok((layout, account))
    }

    /// Takes the lock that lets one process run the cluster; waits up to `patience` for another one to let go.
    ///
    /// Blocks the thread.
    pub(crate) fn acquire(&self, patience: Duration) -> Result<Flock<File>, Error> {
        let deadline = Instant::now() + patience;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o644)
            .open(&self.lock)
            .map_err(Error::io("open", &self.lock))?;
        let mut held = loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(held) => break held,
                Err((mut back, Errno::EWOULDBLOCK)) => {
                    if Instant::now() >= deadline {
                        let mut text = String::new();
                        let _ = back.rewind().and_then(|()| back.read_to_string(&mut text));
                        return Err(Error::InUse { path: self.data_dir.clone(), holder: text.trim().parse().ok() });
                    }
                    file = back;
                    thread::sleep(Duration::from_millis(50));
                }
                Err((_, errno)) => return Err(Error::io("lock", &self.lock)(errno.into())),
            }
        };
        // The number is for the message to a second starter only; the lock itself is what counts.
        held.set_len(0)
            .and_then(|()| held.rewind())
            .and_then(|()| writeln!(held, "{}", std::process::id()))
            .map_err(Error::io("write", &self.lock))?;
        Ok(held)
    }

    /// A name for the cluster that no other one on this machine has, even one with the same path in a container.
    pub(crate) fn cluster_name(&self) -> Result<String, Error> {
        let meta = fs::metadata(&self.cluster).map_err(Error::io("look at", &self.cluster))?;
        Ok(format!("compliance-{:x}-{:x}", meta.dev(), meta.ino()))
    }

    /// The directory for the server's socket, existing and closed to others: the cluster's own, or a short one under
    /// the system's temporary folder when a socket's path would get too long or has unusual characters.
    pub(crate) fn socket_dir(&self, account: &Account, cluster_name: &str) -> Result<PathBuf, Error> {
        if fits(&self.cluster) {
            return Ok(self.cluster.clone());
        }
        let fallback = PathBuf::from("/tmp");
        let base = fs::canonicalize(env::temp_dir())
            .ok()
            .filter(|dir| fits(&dir.join(cluster_name)) && account.reaches(dir))
            .unwrap_or(fallback);
        let dir = base.join(cluster_name);
        match DirBuilder::new().mode(0o700).create(&dir) {
            Ok(()) => account.own(&dir)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // The temporary folder is open to all: what lies there under this name must be ours.
                let meta = fs::symlink_metadata(&dir).map_err(Error::io("look at", &dir))?;
                let ours = meta.uid() == account.uid || (account.switched && meta.uid() == 0);
                if !meta.is_dir() || !ours || meta.mode() & 0o077 != 0 {
                    let reason = io::Error::other("it belongs to somebody else or is open to others; remove it");
                    return Err(Error::io("use for the database's socket", &dir)(reason));
                }
                account.own(&dir)?;
            }
            Err(error) => return Err(Error::io("create", &dir)(error)),
        }
        Ok(dir)
    }
}

/// The full path, without resolving links and without the need that anything exists.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(Error::io("find", path))
}

/// The socket's file in `dir`.
pub(crate) fn socket_file(dir: &Path) -> PathBuf {
    dir.join(format!(".s.PGSQL.{PORT}"))
}

/// Whether a socket can be made in `dir`: its path is short enough, and the server's list of directories, which knows
/// commas, quotes and blanks, takes it as it stands.
fn fits(dir: &Path) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+@=~".contains(byte);
    socket_file(dir).as_os_str().len() <= LONGEST_SOCKET_PATH && dir.as_os_str().as_bytes().iter().all(plain)
}

/// Writes a file of `account`'s that is there either wholly or not at all, following no link that lies in its place.
pub(crate) fn write_whole(path: &Path, text: &str, account: &Account) -> Result<(), Error> {
    let new = path.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("remove", &new)(error)),
        _ => {}
    }
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).map_err(Error::io("create", &new))?;
    if account.switched {
        std::os::unix::fs::fchown(&file, Some(account.uid), Some(account.gid))
            .map_err(Error::io("give to the database's user", &new))?;
    }
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(Error::io("write", &new))?;
    fs::rename(&new, path).map_err(Error::io("write", path))
}

/// Makes a rename inside `dir` last through a crash of the machine.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), Error> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(Error::io("flush", dir))
}

/// Closes `dir` to everybody but its owner.
pub(crate) fn close_to_others(dir: &Path) -> Result<(), Error> {
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map_err(Error::io("change the mode of", dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_unusual_paths_do_not_hold_a_socket() {
        assert!(fits(Path::new("/var/lib/compliance/postgres")));
        assert!(!fits(Path::new("/var/lib/with, comma/postgres")));
        assert!(!fits(Path::new(&format!("/{}", "x".repeat(95)))));
    }
}
