//! The user the database runs as.
//!
//! `PostgreSQL` refuses to run as root. A service started as root therefore runs its database as an unprivileged user.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown, lchown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use nix::unistd::{Uid, User, geteuid};

use crate::{error::Error, layout, run::run};

/// Users that exist for having no rights, in order of preference.
const UNPRIVILEGED: [&str; 3] = ["nobody", "postgres", "daemon"];

/// The user the database's processes run as and its files belong to.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) name: String,
    /// The caller is root and has to become this user.
    pub(crate) switched: bool,
}

impl Account {
    /// The user for the cluster in `cluster_dir`: the caller; or, when that is root, the cluster's owner; or, for one that
    /// is yet to be made, the owner of the data folder, and when that is root as well an unprivileged user.
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

    /// Makes `command` run as this user, without any further groups of the caller's (the standard library drops them
    /// together with root's number).
    pub(crate) fn apply(&self, command: &mut Command) {
        if self.switched {
            command.gid(self.gid).uid(self.uid);
        }
    }

    /// The user's name when the caller has to become somebody else, for error messages.
    pub(crate) fn other_name(&self) -> Option<String> {
        self.switched.then(|| self.name.clone())
    }

    /// Gives `path` to this user; a link itself, not what it points to.
    pub(crate) fn own(&self, path: &Path) -> Result<(), Error> {
        if self.switched {
            lchown(path, Some(self.uid), Some(self.gid)).map_err(Error::io("give to the database's user", path))?;
        }
        Ok(())
    }

    /// Gives a whole folder to this user, as after restoring a copy of it as root.
    pub(crate) fn own_all(&self, dir: &Path) -> Result<(), Error> {
        for entry in fs::read_dir(dir).map_err(Error::io("read", dir))? {
            let entry = entry.map_err(Error::io("read", dir))?;
            let kind = entry.file_type().map_err(Error::io("look at", entry.path()))?;
            if kind.is_dir() { self.own_all(&entry.path())? } else { self.own(&entry.path())? }
        }
        // The folder comes last: until it has changed hands, an interrupted change is noticed and done again.
        self.own(dir)
    }

    /// Lets this user pass through `dir`, a folder of the service's own, in the narrowest way: its group becomes the
    /// user's and may pass. Only where the group has had no rights that this would take away or give on.
    pub(crate) fn let_pass(&self, dir: &Path) -> Result<(), Error> {
        let meta = fs::metadata(dir).map_err(Error::io("look at", dir))?;
        if self.passes(&meta) || meta.uid() != 0 || meta.mode() & 0o070 != 0 {
            return Ok(());
        }
        chown(dir, None, Some(self.gid)).map_err(Error::io("change the group of", dir))?;
        fs::set_permissions(dir, Permissions::from_mode((meta.mode() & 0o7777) | 0o010))
            .map_err(Error::io("change the mode of", dir))
    }

    /// Makes sure this user can reach `dir`, an existing folder with its path in full.
    pub(crate) fn check_way(&self, dir: &Path) -> Result<(), Error> {
        if !self.switched {
            return Ok(());
        }
        let mut way: Vec<&Path> = dir.ancestors().collect();
        way.reverse();
        for step in way {
            let meta = fs::metadata(step).map_err(Error::io("look at", step))?;
            if !self.passes(&meta) && !self.enters(step) {
                return Err(Error::NotPassable { dir: step.to_owned(), user: self.name.clone() });
            }
        }
        Ok(())
    }

    /// Whether this user can reach `dir`, by the modes alone.
    pub(crate) fn reaches(&self, dir: &Path) -> bool {
        !self.switched || dir.ancestors().all(|step| fs::metadata(step).is_ok_and(|meta| self.passes(&meta)))
    }

    fn passes(&self, meta: &fs::Metadata) -> bool {
        let class = if meta.uid() == self.uid {
            0o100
        } else if meta.gid() == self.gid {
            0o010
        } else {
            0o001
        };
        !self.switched || meta.mode() & class != 0
    }

    /// Tries for real, as modes do not tell of access lists.
    fn enters(&self, dir: &Path) -> bool {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exit 0"]).current_dir(dir);
        self.apply(&mut command);
        run(command, Duration::from_secs(5)).is_ok_and(|end| end.success)
    }
}

/// Whether a cluster can live in `data_dir`, which need not exist yet: fails with [`Error::NotPassable`] when the caller
/// is root and the database's unprivileged user could not reach it, and with [`Error::WrongOwner`] when it holds the
/// cluster of somebody else. Changes nothing.
pub fn check_data_dir(data_dir: impl AsRef<Path>) -> Result<(), Error> {
    let data_dir = layout::absolute(data_dir.as_ref())?;
    let account = Account::of(&data_dir.join(layout::CLUSTER))?;
    let existing: PathBuf = data_dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new("/")).to_owned();
    let existing = fs::canonicalize(&existing).map_err(Error::io("find", &existing))?;
    match account.check_way(&existing) {
        // The data folder itself is the service's: passage through it is arranged when the cluster starts.
        Err(Error::NotPassable { dir, .. }) if dir == existing && data_dir.is_dir() && grantable(&dir) => Ok(()),
        other => other,
    }
}

/// The owner of the folder above, if it is an ordinary user with a name.
fn owner_of_parent(path: &Path) -> Option<User> {
    let owner = Uid::from_raw(fs::metadata(path.parent()?).ok()?.uid());
    if owner.is_root() { None } else { named(owner).ok() }
}

fn grantable(dir: &Path) -> bool {
    fs::metadata(dir).is_ok_and(|meta| meta.uid() == 0 && meta.mode() & 0o070 == 0)
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
