//! Configurations loaded from files and reloaded when the files change.

use std::{
    fmt::{self, Display},
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::RwLock;

/// Maximum file size, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Error for an unusable file. Never includes the file's contents.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct TlsError {
    path: PathBuf,
    text: String,
}

impl TlsError {
    /// Returns the file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn unreadable(path: &Path, error: impl Display) -> Self {
        Self { path: path.to_owned(), text: format!("cannot read {}: {error}", path.display()) }
    }

    pub(crate) fn unusable(path: &Path, error: impl Display) -> Self {
        Self { path: path.to_owned(), text: format!("{} cannot be used: {error}", path.display()) }
    }

    pub(crate) fn missing(path: &Path, what: &str) -> Self {
        Self { path: path.to_owned(), text: format!("{} contains no PEM {what}", path.display()) }
    }
}

/// Contents of a configuration's files, in read order.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct Contents {
    files: Vec<Vec<u8>>,
    /// Earliest expiry in the configuration's own certificate chain, in seconds since 1970.
    pub(crate) expires: Option<i64>,
}

impl Contents {
    /// Reads a file.
    pub(crate) fn read(&mut self, path: &Path) -> Result<&[u8], TlsError> {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
        read.map_err(|error| TlsError::unreadable(path, error))?;
        Ok(self.files.push_mut(bytes))
    }
}

/// Reads a configuration from files.
type Make<C> = dyn Fn(&mut Contents) -> Result<C, TlsError> + Send + Sync;

/// A configuration loaded from files. Clones share it.
pub struct Reloaded<C>(Arc<Inner<C>>);

struct Inner<C> {
    make: Box<Make<C>>,
    current: RwLock<(Arc<C>, Contents)>,
}

impl<C> Reloaded<C> {
    pub(crate) fn new(
        make: impl Fn(&mut Contents) -> Result<C, TlsError> + Send + Sync + 'static,
    ) -> Result<Self, TlsError> {
        let mut contents = Contents::default();
        let config = Arc::new(make(&mut contents)?);
        Ok(Self(Arc::new(Inner { make: Box::new(make), current: RwLock::new((config, contents)) })))
    }

    pub(crate) fn get(&self) -> Arc<C> {
        Arc::clone(&self.0.current.read().0)
    }

    /// Returns the certificate chain's earliest expiry as a Unix timestamp, or `None` if the configuration contains no chain.
    pub fn expires(&self) -> Option<i64> {
        self.0.current.read().1.expires
    }

    /// Reloads the files and returns whether they changed. On an error, keeps the current configuration.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let mut contents = Contents::default();
        let config = (self.0.make)(&mut contents)?;
        let mut current = self.0.current.write();
        if current.1 == contents {
            return Ok(false);
        }
        *current = (Arc::new(config), contents);
        Ok(true)
    }
}

impl<C> Clone for Reloaded<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C> fmt::Debug for Reloaded<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloaded").finish_non_exhaustive()
    }
}
