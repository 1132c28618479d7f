//! Serves content embedded in the program: pages, scripts, style sheets and documents.

use std::{
    hash::{DefaultHasher, Hasher as _},
    io::{self, Write as _},
    sync::OnceLock,
};

use axum::{
    body::{Body, Bytes},
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode,
        header::{
            ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
            X_CONTENT_TYPE_OPTIONS,
        },
    },
    response::{IntoResponse as _, Response},
};
use flate2::{Compression, write::GzEncoder};

/// Minimum size of content to compress, in bytes. Response headers alone are about this long.
const SMALLEST: usize = 1024;

const HTML: &str = "text/html; charset=utf-8";

/// Content that does not change while the process runs.
#[derive(Debug)]
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    pub(crate) content_type: &'static str,
    bytes: Bytes,
    /// The gzip-compressed content. The first request that accepts gzip creates it for all later requests.
    compressed: OnceLock<Option<Bytes>>,
    etag: HeaderValue,
}

impl Asset {
    /// Creates an asset from a file's content.
    pub(crate) fn new(name: &'static str, bytes: impl Into<Bytes>) -> Self {
        let content_type = match name.rsplit('.').next() {
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "application/json",
        };
        Self::of_type(content_type, name, bytes.into(), "")
    }

    /// Creates an asset from a page, whose name has no file extension.
    ///
    /// After a 304 response, browsers keep the cached policy, so the `ETag` covers the policy.
    pub(crate) fn page(name: &'static str, bytes: &'static [u8], policy: &str) -> Self {
        Self::of_type(HTML, name, Bytes::from_static(bytes), policy)
    }

    /// Returns whether the content is a page.
    pub(crate) fn is_page(&self) -> bool {
        self.content_type == HTML
    }

    fn of_type(content_type: &'static str, name: &'static str, bytes: Bytes, policy: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(&bytes);
        hasher.write(policy.as_bytes());
        // The tag is weak because compressed and uncompressed content share it.
        let etag = HeaderValue::try_from(format!("W/\"{:016x}\"", hasher.finish()));
        let etag = etag.unwrap_or(HeaderValue::from_static("W/\"\""));
        Self { name, content_type, bytes, compressed: OnceLock::new(), etag }
    }

    /// Responds with the content, or with 304 if the client's copy is current.
    pub(crate) fn respond(&self, request: &HeaderMap) -> Response {
        let own = self.etag.to_str().unwrap_or_default().trim_start_matches("W/");
        let is_known = |tag: &str| tag == "*" || tag.trim_start_matches("W/") == own;
        let mut response = if list(request, &IF_NONE_MATCH).any(is_known) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let in_gzip = self.in_gzip(request);
            let mut response = Response::new(Body::from(in_gzip.unwrap_or(&self.bytes).clone()));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
            if in_gzip.is_some() {
                response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            response
        };
        let headers = response.headers_mut();
        headers.insert(ETAG, self.etag.clone());
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        // The service's next version can serve different content under the same name.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }

    /// Returns the compressed content if the client accepts gzip and the content is long enough.
    fn in_gzip(&self, request: &HeaderMap) -> Option<&Bytes> {
        if self.bytes.len() < SMALLEST || !accepts_gzip(request) {
            return None;
        }
        self.compressed.get_or_init(|| gzip(&self.bytes).ok()).as_ref()
    }
}

fn gzip(bytes: &[u8]) -> io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish().map(Bytes::from)
}

/// Returns the elements of a list-valued header.
fn list<'a>(request: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = request.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|values| values.split(',')).map(str::trim)
}

/// Returns whether the client accepts gzip.
fn accepts_gzip(request: &HeaderMap) -> bool {
    let mut any_other = false;
    for coding in list(request, &ACCEPT_ENCODING) {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        // The default quality is 1.
        let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let is_accepted = quality.is_none_or(|quality| quality.parse().is_ok_and(|quality: f32| quality > 0.0));
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            return is_accepted;
        }
        if name == "*" {
            any_other = is_accepted;
        }
    }
    any_other
}
