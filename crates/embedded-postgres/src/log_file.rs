//! The server's log file, with bounded size.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use crate::safe_file;

/// A larger log is renamed at the next start, in bytes.
const ROTATED_AT_START: u64 = 8 << 20;
/// A larger log of a running server is copied and truncated, in bytes.
const EMPTIED_WHILE_RUNNING: u64 = 64 << 20;
/// How much of the log an error message shows.
const TAIL_BYTES: u64 = 8 << 10;
const TAIL_LINES: usize = 15;

/// Opens the log for appending; renames a large one first. The log belongs to this process's user or to `owner`.
pub(crate) fn open(path: &Path, owner: u32) -> io::Result<File> {
    if length(path) > ROTATED_AT_START {
        fs::rename(path, path.with_extension("log.1"))?;
    }
    safe_file::open(path, OpenOptions::new().append(true).create(true).mode(0o600), owner)
}

/// The size of the log in bytes; 0 if there is none.
pub(crate) fn length(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(0, |meta| meta.len())
}

/// Keeps the log of a running server from filling the disk. The server continues to write to the truncated file; lines
/// that it writes during the copy may be lost.
pub(crate) fn bound(path: &Path, owner: u32) -> io::Result<()> {
    if length(path) > EMPTIED_WHILE_RUNNING {
        let mut log = safe_file::open(path, OpenOptions::new().read(true).write(true), owner)?;
        io::copy(&mut log, &mut safe_file::replace(&path.with_extension("log.1"), 0o600)?)?;
        log.set_len(0)?;
    }
    Ok(())
}

/// The last lines written since the log was `from` bytes long.
pub(crate) fn tail(path: &Path, from: u64, owner: u32) -> String {
    let read = || -> io::Result<String> {
        let mut file = safe_file::open(path, OpenOptions::new().read(true), owner)?;
        let length = file.metadata()?.len();
        // The log was renamed in the meantime.
        let from = if from > length { 0 } else { from };
        file.seek(SeekFrom::Start(from.max(length.saturating_sub(TAIL_BYTES))))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_else(|error| format!("(the log cannot be read: {error})"));
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}
