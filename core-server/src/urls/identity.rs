//! Computes a URL's key within a company.

use compliance_api::rules::normalised_url;
use sha2::{Digest as _, Sha256};

/// Returns a URL's identifying digest and its host, or `None` if the URL is invalid.
///
/// The digest covers the URL's normalized form.
pub(crate) fn identity(url: &str) -> Option<([u8; 32], Option<String>)> {
    let normalised = normalised_url(url)?;
    Some((Sha256::digest(normalised.as_str()).into(), normalised.host_str().map(str::to_owned)))
}
