//! Content that is in the program: pages, scripts, style sheets, documents.

use std::fmt::Write as _;

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
        X_CONTENT_TYPE_OPTIONS,
    },
};
use sha2::{Digest as _, Sha256};

use super::unknown_path;

pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const SCRIPT: &str = "text/javascript; charset=utf-8";
pub(super) const STYLE: &str = "text/css; charset=utf-8";

/// Content that does not change while the process runs.
#[derive(Debug)]
pub(crate) struct Asset {
    name: &'static str,
    content_type: &'static str,
    is_gzip: bool,
    bytes: Bytes,
    etag: HeaderValue,
}

impl Asset {
    pub(super) fn new(name: &'static str, content_type: &'static str, is_gzip: bool, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let mut etag = String::from("\"");
        for byte in &Sha256::digest(&bytes)[..16] {
            // A text takes whatever is written to it.
            let _ = write!(etag, "{byte:02x}");
        }
        etag.push('"');
        let etag = HeaderValue::from_str(&etag).unwrap_or(HeaderValue::from_static("\"\""));
        Self { name, content_type, is_gzip, bytes, etag }
    }

    /// Its name in the path.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Its media type, without parameters.
    pub(crate) fn content_type(&self) -> &'static str {
        self.content_type.split(';').next().unwrap_or_default()
    }

    /// Responds with it, unless the client has it.
    pub(super) fn respond(&self, request: &HeaderMap) -> Response {
        let known = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let is_known = |tag: &str| tag == "*" || self.etag == *tag.trim_start_matches("W/");
        let mut response = if known.flat_map(|tags| tags.split(',')).any(|tag| is_known(tag.trim())) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let mut response = Response::new(Body::from(self.bytes.clone()));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
            if self.is_gzip {
                response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            response
        };
        let headers = response.headers_mut();
        headers.insert(ETAG, self.etag.clone());
        // The next version of the service has other content under the same name.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }

    /// Responds with it as a page that may do what this policy allows.
    pub(super) fn respond_as_page(&self, request: &HeaderMap, policy: &'static str) -> Response {
        let mut response = self.respond(request);
        for (name, value) in [(CONTENT_SECURITY_POLICY, policy), (REFERRER_POLICY, "no-referrer")] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// Responds with the file of this name.
pub(super) async fn respond_with(files: &[Asset], name: &str, request: &HeaderMap) -> Response {
    match files.iter().find(|file| file.name == name) {
        Some(file) => file.respond(request),
        None => unknown_path().await.into_response(),
    }
}
