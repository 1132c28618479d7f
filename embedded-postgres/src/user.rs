//! The user that the database runs as.
//!
//! `PostgreSQL` refuses to run as root. A service started as root therefore runs its database as an unprivileged user.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown, lchown},
        process::CommandExt,
    },
    path::Path,
    process::Command,
    time::Duration,
};

use nix::unistd::{Uid, User, geteuid};

use crate::{error::Error, run::run};

/// Unprivileged system users, in order of preference.
const UNPRIVILEGED: [&str; 3] = ["nobody", "postgres", "daemon"];

/// The user that the database's processes run as and that owns its files.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) name: String,
    /// Whether the caller is root and must switch to this user.
    pub(crate) switched: bool,
}

impl Account {
    /// The user for the cluster in `cluster_dir`: the caller, or, if that is root, the first of these that is not: the
    /// cluster's owner, the owner of the data folder, an unprivileged user.
    pub(crate) fn of(cluster_dir: &Path) -> Result<Self, Error> {
        let me = geteuid();
        let owner = match fs::symlink_metadata(cluster_dir) {
            Ok(meta) => Some(Uid::from_raw(meta.uid())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io("look at", cluster_dir)(error)),
        };
        if me.is_root() {
            let user = match owner.filter(|owner| !owner.is_root()) {
                Some(owner) => named(owner)?,
                None => match owner_of_parent(cluster_dir) {
                    Some(user) => user,
                    None => unprivileged()?,
                },
            };
            return Ok(Self { uid: user.uid.as_raw(), gid: user.gid.as_raw(), name: user.name, switched: true });
        }
        if let Some(owner) = owner.filter(|owner| *owner != me) {
            let (owner, me) = (owner.as_raw(), me.as_raw());
            return Err(Error::WrongOwner { path: cluster_dir.to_owned(), owner, me });
        }
        let user = named(me)?;
        Ok(Self { uid: user.uid.as_raw(), gid: user.gid.as_raw(), name: user.name, switched: false })
    }

    /// Makes `command` run as this user, without the caller's supplementary groups (the standard library drops them when
    /// root sets a user ID).
    pub(crate) fn apply(&self, command: &mut Command) {
        if self.switched {
            command.gid(self.gid).uid(self.uid);
        }
    }

    /// The user's name if the caller must switch to it, for error messages.
    pub(crate) fn other_name(&self) -> Option<String> {
        self.switched.then(|| self.name.clone())
    }

    /// Makes this user the owner of `path`. Does not follow links.
    pub(crate) fn chown(&self, path: &Path) -> Result<(), Error> {
        if self.switched {
            lchown(path, Some(self.uid), Some(self.gid)).map_err(Error::io("change the owner of", path))?;
        }
        Ok(())
    }

    /// Makes this user the owner of a folder and its content, such as a backup that root has restored.
    pub(crate) fn chown_all(&self, dir: &Path) -> Result<(), Error> {
        for entry in fs::read_dir(dir).map_err(Error::io("read", dir))? {
            let entry = entry.map_err(Error::io("read", dir))?;
            let kind = entry.file_type().map_err(Error::io("look at", entry.path()))?;
            if kind.is_dir() { self.chown_all(&entry.path())? } else { self.chown(&entry.path())? }
        }
        // The folder comes last, so that an interrupted change is detected and repeated.
        self.chown(dir)
    }

    /// Lets this user pass through `dir`, a folder of the service: its group becomes the user's group and may pass. Only
    /// if the previous group has no rights that would change.
    pub(crate) fn grant_passage(&self, dir: &Path) -> Result<(), Error> {
        let meta = fs::metadata(dir).map_err(Error::io("look at", dir))?;
        if self.can_pass(&meta) || meta.uid() != 0 || meta.mode() & 0o070 != 0 {
            return Ok(());
        }
        chown(dir, None, Some(self.gid)).map_err(Error::io("change the group of", dir))?;
        fs::set_permissions(dir, Permissions::from_mode((meta.mode() & 0o7777) | 0o010))
            .map_err(Error::io("change the mode of", dir))
    }

    /// Checks that this user can reach `dir`, an existing folder with an absolute path.
    pub(crate) fn check_reachable(&self, dir: &Path) -> Result<(), Error> {
        if !self.switched {
            return Ok(());
        }
        let mut path: Vec<&Path> = dir.ancestors().collect();
        path.reverse();
        for step in path {
            let meta = fs::metadata(step).map_err(Error::io("look at", step))?;
            if !self.can_pass(&meta) && !self.can_enter(step) {
                return Err(Error::NotPassable { dir: step.to_owned(), user: self.name.clone() });
            }
        }
        Ok(())
    }

    /// Whether this user can reach `dir`, according to the modes.
    pub(crate) fn can_reach(&self, dir: &Path) -> bool {
        !self.switched || dir.ancestors().all(|step| fs::metadata(step).is_ok_and(|meta| self.can_pass(&meta)))
    }

    fn can_pass(&self, meta: &fs::Metadata) -> bool {
        let class = if meta.uid() == self.uid {
            0o100
        } else if meta.gid() == self.gid {
            0o010
        } else {
            0o001
        };
        !self.switched || meta.mode() & class != 0
    }

    /// Tries to enter `dir`, since modes do not show access control lists.
    fn can_enter(&self, dir: &Path) -> bool {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exit 0"]).current_dir(dir);
        self.apply(&mut command);
        run(command, Duration::from_secs(5)).is_ok_and(|end| end.success)
    }
}

/// The owner of the parent folder, if it is a named user other than root.
fn owner_of_parent(path: &Path) -> Option<User> {
    let owner = Uid::from_raw(fs::metadata(path.parent()?).ok()?.uid());
    if owner.is_root() { None } else { named(owner).ok() }
}

fn named(uid: Uid) -> Result<User, Error> {
    User::from_uid(uid).ok().flatten().ok_or(Error::NamelessUser { uid: uid.as_raw() })
}

fn unprivileged() -> Result<User, Error> {
    let by_name = UNPRIVILEGED.iter().find_map(|name| User::from_name(name).ok().flatten());
    match by_name.filter(|user| !user.uid.is_root()) {
        Some(user) => Ok(user),
        None => named(Uid::from_raw(65_534)),
    }
}
