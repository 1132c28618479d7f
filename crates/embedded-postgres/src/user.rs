//! Chooses the user that runs the database, because `PostgreSQL` does not run as root.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown, lchown},
        process::CommandExt,
    },
    path::Path,
    process::{Command, Stdio},
};

use nix::unistd::{Uid, User, geteuid};

use crate::error::Error;

/// Unprivileged system users, in order of preference. A dedicated user protects the database from other services.
const UNPRIVILEGED: [&str; 2] = ["compliance", "nobody"];

/// User that runs the database's processes and owns its files.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) name: String,
    /// Whether the caller is root and switches to this user.
    pub(crate) switched: bool,
}

impl Account {
    /// Returns the user for a cluster: the caller, unless it is root.
    ///
    /// If the caller is root, returns the first of these users that is not root: the cluster's owner, the data folder's owner, an unprivileged user.
    pub(crate) fn of(cluster_dir: &Path) -> Result<Self, Error> {
        let me = geteuid();
        let owner = match fs::symlink_metadata(cluster_dir) {
            Ok(meta) => Some(Uid::from_raw(meta.uid())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // This user cannot access the data folder, which another user owns.
            Err(error) => match cluster_dir.parent().and_then(|dir| Some((dir, fs::metadata(dir).ok()?.uid()))) {
                Some((data_dir, owner)) if owner != me.as_raw() => {
                    return Err(of_another_user(data_dir, owner.into(), me));
                }
                _ => return Err(Error::io("inspect", cluster_dir)(error)),
            },
        };
        let user = if me.is_root() {
            match owner.filter(|owner| !owner.is_root()) {
                Some(owner) => named(owner)?,
                None => owner_of_parent(cluster_dir).map_or_else(unprivileged, Ok)?,
            }
        } else if let Some(owner) = owner.filter(|owner| *owner != me) {
            return Err(of_another_user(cluster_dir, owner, me));
        } else {
            named(me)?
        };
        Ok(Self { uid: user.uid.as_raw(), gid: user.gid.as_raw(), name: user.name, switched: me.is_root() })
    }

    /// Returns a command that runs as this user, without the caller's groups, environment and working directory.
    pub(crate) fn command(&self, program: &Path) -> Command {
        // `PGDATA`, `LC_ALL` and other variables would affect the server's programs.
        const PASSED: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"];
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("LC_ALL", "C")
            .envs(PASSED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        // This user may lack access to the current folder.
        command.current_dir("/").stdin(Stdio::null());
        if self.switched {
            // This also drops the supplementary groups.
            command.gid(self.gid).uid(self.uid);
        }
        command
    }

    /// Returns a function that describes a failed program start, for `map_err`.
    pub(crate) fn cannot_run(&self, program: &Path) -> impl FnOnce(io::Error) -> Error {
        let action = format!("cannot run {} as the user {}", program.display(), self.name);
        move |source| Error::Other(format!("{action}: {source}"))
    }

    /// Makes this user the file's owner. Does not follow links.
    pub(crate) fn chown(&self, path: &Path) -> Result<(), Error> {
        if self.switched {
            lchown(path, Some(self.uid), Some(self.gid)).map_err(Error::io("change the owner of", path))?;
        }
        Ok(())
    }

    /// Lets this user enter one of the service's folders through its group, if the folder is [`grantable`].
    pub(crate) fn grant_passage(&self, dir: &Path) -> Result<(), Error> {
        let meta = fs::metadata(dir).map_err(Error::io("inspect", dir))?;
        if !self.switched || !grantable(&meta) || self.can_enter(dir) {
            return Ok(());
        }
        chown(dir, None, Some(self.gid)).map_err(Error::io("change the group of", dir))?;
        fs::set_permissions(dir, Permissions::from_mode((meta.mode() & 0o7777) | 0o010))
            .map_err(Error::io("change the mode of", dir))
    }

    /// Checks that this user can reach an existing folder with an absolute path.
    pub(crate) fn check_reachable(&self, dir: &Path) -> Result<(), Error> {
        if !self.switched || self.can_enter(dir) {
            return Ok(());
        }
        let closed = dir.ancestors().take_while(|step| !self.can_enter(step)).last().unwrap_or(dir);
        Err(Error::NotPassable { dir: closed.to_owned(), user: self.name.clone() })
    }

    /// Tries to enter a folder, because modes do not reflect access control lists.
    fn can_enter(&self, dir: &Path) -> bool {
        let mut command = self.command(Path::new("/bin/sh"));
        command.args(["-c", ":"]).current_dir(dir).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

/// Returns whether a folder belongs to root and grants its group no rights.
pub(crate) fn grantable(meta: &fs::Metadata) -> bool {
    meta.uid() == 0 && meta.mode() & 0o070 == 0
}

/// Returns the owner of the parent folder, if it is a named user other than root.
fn owner_of_parent(path: &Path) -> Option<User> {
    let owner = Uid::from_raw(fs::metadata(path.parent()?).ok()?.uid());
    if owner.is_root() { None } else { named(owner).ok() }
}

/// Returns the error for a folder owned by a user that this process cannot switch to.
fn of_another_user(dir: &Path, owner: Uid, me: Uid) -> Error {
    let name = |uid| named(uid).map_or_else(|_| format!("user ID {uid}"), |user| format!("user {}", user.name));
    let (dir, owner, me) = (dir.display(), name(owner), name(me));
    Error::OtherUser(format!(
        "{dir} belongs to the {owner}, but this process runs as the {me}: run it as the {owner} or as root, or choose \
         a different data folder"
    ))
}

fn named(uid: Uid) -> Result<User, Error> {
    User::from_uid(uid).ok().flatten().ok_or_else(|| {
        Error::Other(format!(
            "the database would run as user ID {uid}, but PostgreSQL needs a user with a name: add the user to \
             /etc/passwd, or start the service as a named user"
        ))
    })
}

fn unprivileged() -> Result<User, Error> {
    let by_name = UNPRIVILEGED.iter().find_map(|name| User::from_name(name).ok().flatten());
    by_name.ok_or_else(|| {
        Error::Other("PostgreSQL does not run as root: add an unprivileged user `compliance` or `nobody`".to_owned())
    })
}
