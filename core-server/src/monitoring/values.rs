//! The stored forms of values, and the messages for URLs, which several operations refer to.

use prost_types::Timestamp;
use time::OffsetDateTime;

/// The message for a URL that the company does not have.
pub(super) const URL_NOT_FOUND: &str = "URL not found.";
/// The message for an item that refers to its URL in both ways.
pub(super) const URL_AMBIGUOUS: &str = "A URL is named by url_id or by url, not by both.";

/// An instant as it is stored: in whole seconds. The rules have checked its range.
pub(super) fn instant(value: Option<&Timestamp>) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp(value?.seconds).ok()
}

/// A text as it is stored: an empty one is null.
pub(super) fn non_empty(value: Option<String>) -> Option<String> {
    value.filter(|value| !value.is_empty())
}
