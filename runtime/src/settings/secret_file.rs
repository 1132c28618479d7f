//! Secrets from files.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

/// The largest secret, in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// The content of a file without white space at its ends, as systems that manage secrets provide it.
pub(super) fn read_secret(path: &Path) -> io::Result<String> {
    let read = || {
        let mut text = String::new();
        File::open(path)?.take(MAX_BYTES).read_to_string(&mut text)?;
        Ok(text.trim().to_owned())
    };
    read().map_err(|error: io::Error| io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display())))
}
