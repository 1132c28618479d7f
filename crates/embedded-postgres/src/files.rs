//! Opens and replaces files in another user's folder. That user can plant links, and root must not write through them.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use nix::{fcntl::OFlag, unistd::geteuid};

/// Size above which the server's log is copied and emptied, in bytes.
const LARGEST_LOG: u64 = 8 << 20;
/// Maximum size of the log excerpt in an error message, in bytes.
const TAIL_BYTES: u64 = 8 << 10;
const TAIL_LINES: usize = 15;

/// Opens a regular file without extra hard links, owned by this process's user or `owner`. Does not follow links.
pub(crate) fn open(path: &Path, options: &mut OpenOptions, owner: u32) -> io::Result<File> {
    // Without `O_NONBLOCK`, opening a pipe would block.
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = options.custom_flags(flags.bits()).open(path)?;
    let meta = file.metadata()?;
    let reason = if !meta.is_file() {
        "not a regular file"
    } else if meta.nlink() > 1 {
        "more than one hard link"
    } else if meta.uid() != geteuid().as_raw() && meta.uid() != owner {
        "owned by another user"
    } else {
        return Ok(file);
    };
    Err(io::Error::other(format!("{reason}; remove the file")))
}

/// Creates a file. Removes an existing one first, to avoid writing through a link.
pub(crate) fn replace(path: &Path, mode: u32) -> io::Result<File> {
    remove(path)?;
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

/// Removes a file if it exists.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Opens the server's log for appending. Empties a large log first.
pub(crate) fn open_log(path: &Path, owner: u32) -> io::Result<File> {
    bound_log(path, owner)?;
    open(path, OpenOptions::new().append(true).create(true).mode(0o600), owner)
}

/// Keeps the log from filling the disk.
///
/// A running server keeps writing to the emptied file. Lines written during the copy can be lost.
pub(crate) fn bound_log(path: &Path, owner: u32) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.len() > LARGEST_LOG) {
        let mut log = open(path, OpenOptions::new().read(true).write(true), owner)?;
        io::copy(&mut log, &mut replace(&path.with_extension("log.1"), 0o600)?)?;
        log.set_len(0)?;
    }
    Ok(())
}

/// Returns the last lines of the log, skipping its first `from` bytes.
pub(crate) fn tail_of_log(path: &Path, from: u64, owner: u32) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = open(path, OpenOptions::new().read(true), owner)?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(from.max(end.saturating_sub(TAIL_BYTES))))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_else(|error| format!("(cannot read the log: {error})").into_bytes());
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}
