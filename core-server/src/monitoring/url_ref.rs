//! References to URLs.

use compliance_api::rules::{Rule, Violations};

use crate::urls::identity;

/// The message for a URL that the company does not have.
pub(super) const URL_NOT_FOUND: &str = "URL not found.";

/// Checks that an item refers to its URL by the ID or by the text, and returns the hash of the text. The paths of the
/// fields begin with `prefix`.
pub(super) fn read_url(
    violations: &mut Violations,
    prefix: &str,
    url_id: Option<i64>,
    url: Option<&str>,
) -> Option<[u8; 32]> {
    let url = url.filter(|url| !url.is_empty());
    match (url_id, url) {
        (None, None) => violations.add(format!("{prefix}url"), Rule::Required),
        (Some(_), Some(_)) => {
            violations.report(format!("{prefix}url_id"), |_| "Give either url_id or url, not both.".to_owned());
        }
        _ => {}
    }
    url.and_then(identity).map(|(hash, _)| hash)
}
