//! Errors of files.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

/// Error of a file that cannot be used. Does not contain its contents.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct TlsError {
    path: PathBuf,
    text: String,
}

impl TlsError {
    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn unreadable(path: &Path, error: impl Display) -> Self {
        Self { path: path.to_owned(), text: format!("cannot read {}: {error}", path.display()) }
    }

    pub(crate) fn unusable(path: &Path, error: impl Display) -> Self {
        Self { path: path.to_owned(), text: format!("{} cannot be used: {error}", path.display()) }
    }

    pub(crate) fn missing(path: &Path, what: &str) -> Self {
        Self { path: path.to_owned(), text: format!("{} holds no {what} in PEM", path.display()) }
    }
}
