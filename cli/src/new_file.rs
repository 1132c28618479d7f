//! Files that appear under their names when they are complete.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;

/// The unfinished file of an output, next to it. It is removed when this is dropped.
pub(crate) struct Unfinished {
    path: PathBuf,
    is_complete: bool,
}

impl Unfinished {
    /// Creates an empty file next to `target`, under a name that nothing has. If `target` exists, only those who can access it
    /// can access the new file.
    pub(crate) fn create(target: &Path) -> anyhow::Result<(Self, File)> {
        let path = target.with_added_extension(format!("{:08x}.unfinished", rand::random::<u32>()));
        let mode = fs::symlink_metadata(target).map_or(0o666, |there| there.mode() & 0o666);
        // Nothing that exists is opened, and no link is followed.
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
        let file = file.with_context(|| format!("cannot write {}", target.display()))?;
        Ok((Self { path, is_complete: false }, file))
    }

    /// Renames the file to `target`. A file or a link of this name is replaced.
    pub(crate) fn complete(mut self, target: &Path) -> anyhow::Result<()> {
        fs::rename(&self.path, target).with_context(|| format!("cannot write {}", target.display()))?;
        self.is_complete = true;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_complete {
            let _ = fs::remove_file(&self.path);
        }
    }
}
