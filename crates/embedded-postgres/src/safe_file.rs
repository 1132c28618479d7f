//! Files in a folder that another user may own, who may have planted links: root must not write through them.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown},
    path::Path,
};

use nix::{
    dir::Dir,
    fcntl::{AtFlags, OFlag},
    sys::stat::Mode,
    unistd::{Gid, Uid, fchownat, geteuid},
};

/// Opens an ordinary file with one name that belongs to this process's user or to `owner`. Does not follow a link.
pub(crate) fn open(path: &Path, options: &mut OpenOptions, owner: u32) -> io::Result<File> {
    // A pipe must not block.
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = options.custom_flags(flags.bits()).open(path)?;
    let meta = file.metadata()?;
    let reason = if !meta.is_file() {
        "it is not an ordinary file"
    } else if meta.nlink() > 1 {
        "it has another name as well"
    } else if meta.uid() != geteuid().as_raw() && meta.uid() != owner {
        "it belongs to another user"
    } else {
        return Ok(file);
    };
    Err(io::Error::other(format!("{reason}: remove it")))
}

/// Creates a file. What was there is removed first, so that nothing is written through a link.
pub(crate) fn replace(path: &Path, mode: u32) -> io::Result<File> {
    remove(path)?;
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

/// Removes a file if it exists.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Opens a folder without following a link.
pub(crate) fn open_folder(path: &Path) -> io::Result<File> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_DIRECTORY).bits();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Changes the owner of an open folder and of everything in it. Links are changed themselves.
pub(crate) fn chown_all(folder: File, uid: u32, gid: u32) -> io::Result<()> {
    let (owner, group) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    let handle = folder.try_clone()?;
    for entry in Dir::from_fd(folder.into())?.iter() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let inner = nix::fcntl::openat(
            &handle,
            name,
            OFlag::O_NOFOLLOW | OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC,
            Mode::empty(),
        );
        match inner {
            Ok(inner) => chown_all(inner.into(), uid, gid)?,
            Err(_) => fchownat(&handle, name, owner, group, AtFlags::AT_SYMLINK_NOFOLLOW)?,
        }
    }
    // The folder comes last, so that an interrupted change is detected and repeated.
    fchown(&handle, Some(uid), Some(gid))
}
