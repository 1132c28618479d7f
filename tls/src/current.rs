//! A configuration that is made of files, and made again when they have changed.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::TlsError;

/// The configuration in use, and what the files held that it was made of.
pub(crate) struct Current<C, F> {
    config: RwLock<Arc<C>>,
    files: Mutex<F>,
}

impl<C, F: PartialEq> Current<C, F> {
    pub(crate) fn new(config: C, files: F) -> Self {
        Self { config: RwLock::new(Arc::new(config)), files: Mutex::new(files) }
    }

    pub(crate) fn get(&self) -> Arc<C> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the configuration if the files hold something else. Returns whether they do; fails, and keeps what it has,
    /// if that cannot be used.
    pub(crate) fn update(&self, files: F, make: impl FnOnce(&F) -> Result<C, TlsError>) -> Result<bool, TlsError> {
        let mut known = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == files {
            return Ok(false);
        }
        let config = Arc::new(make(&files)?);
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        *known = files;
        Ok(true)
    }
}
