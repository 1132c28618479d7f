//! The key of a URL within a company.

use compliance_api::rules::normalised_url;
use sha2::{Digest as _, Sha256};

/// The digest of a URL's normalized form, which identifies the URL, and its host. `None` for an invalid URL.
pub(crate) fn identity(url: &str) -> Option<([u8; 32], Option<String>)> {
    let normalised = normalised_url(url)?;
    Some((Sha256::digest(normalised.as_str()).into(), normalised.host_str().map(str::to_owned)))
}
