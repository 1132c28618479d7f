//! The kind of a request's body: the header `Content-Type`.

use http::{HeaderMap, header::CONTENT_TYPE};

/// The media types of files with tables.
pub const FILES: [&str; 2] = ["text/csv", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"];

/// The query parameters that say how a file is read.
pub const FILE_OPTIONS: [&str; 5] = ["dates", "encoding", "sheet", "columns", "escape"];

/// Whether the body is a file with a table. Any other body is JSON.
pub(crate) fn is_file(headers: &HeaderMap) -> bool {
    let media_type = value(headers).split(';').next().unwrap_or_default().trim();
    FILES.iter().any(|file| file.eq_ignore_ascii_case(media_type))
}

/// Returns the encoding that the header names.
pub(crate) fn charset(headers: &HeaderMap) -> Option<String> {
    let parameters = value(headers).split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let mut charsets = parameters.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    charsets.next().map(|(_, charset)| charset.trim().trim_matches('"').to_ascii_lowercase())
}

fn value(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
