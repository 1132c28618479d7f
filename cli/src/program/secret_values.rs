//! Settings that may contain secrets.

use std::{
    error::Error,
    fmt,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::failure::{InvalidSetting, named};

/// Maximum size of a secret file, in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// Text that may contain a password or secret. Debug output hides the text.
#[derive(Clone)]
pub(crate) struct Hidden(String);

impl Hidden {
    /// Returns the text; `None` if empty. `--flag ''` counts as unset, like an empty variable.
    pub(crate) fn filled(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|text| !text.is_empty())
    }
}

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Returns a token without whitespace and the scheme `Bearer`, as in a copied header.
pub(crate) fn without_scheme(token: &str) -> &str {
    let token = token.trim();
    token.strip_prefix("Bearer ").unwrap_or(token).trim_start()
}

/// Parses the value of `setting` or the content of its `-file` setting. Returns `None` if neither is set.
pub(crate) fn from_value_or_file<T, E: Into<Box<dyn Error + Send + Sync>>>(
    value: Option<&Hidden>,
    file: Option<&PathBuf>,
    setting: &str,
    make: impl FnOnce(String) -> Result<T, E>,
) -> Result<Option<T>, InvalidSetting> {
    let of_file = format!("{setting}-file");
    let (text, setting) = match (file, value.and_then(Hidden::filled)) {
        (Some(file), _) => (read(file).map_err(InvalidSetting::of(named(&of_file)))?, of_file.as_str()),
        (None, Some(value)) => (value.to_owned(), setting),
        (None, None) => return Ok(None),
    };
    make(text).map(Some).map_err(InvalidSetting::of(named(setting)))
}

/// Reads a file, and trims whitespace. Secret managers often add a newline, and Windows editors a byte order mark.
pub(super) fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
    read.map_err(|error| io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display())))?;
    let text = text.trim_start_matches('\u{feff}').trim();
    Ok(text.to_owned())
}
