//! Content that is in the program: pages, scripts, style sheets, documents.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    sync::OnceLock,
};

use admission::compute;
use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
        VARY, X_CONTENT_TYPE_OPTIONS,
    },
};
use sha2::{Digest as _, Sha256};

use super::unknown_path;
use crate::compression::{SMALLEST, accepts_gzip};

pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const SCRIPT: &str = "text/javascript; charset=utf-8";
pub(super) const STYLE: &str = "text/css; charset=utf-8";

/// Content that does not change while the process runs.
#[derive(Debug)]
pub(crate) struct Asset {
    name: &'static str,
    content_type: &'static str,
    /// It is in the program in gzip alone.
    is_gzip: bool,
    bytes: Bytes,
    /// The same in gzip, from the first request for that on. So no request takes memory of its own.
    compressed: OnceLock<Option<Bytes>>,
    etag: HeaderValue,
}

impl Asset {
    pub(super) fn new(name: &'static str, content_type: &'static str, is_gzip: bool, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        // A weak one: it is the same for both forms.
        let mut etag = String::from("W/\"");
        for byte in &Sha256::digest(&bytes)[..16] {
            // A text takes whatever is written to it.
            let _ = write!(etag, "{byte:02x}");
        }
        etag.push('"');
        let etag = HeaderValue::from_str(&etag).unwrap_or(HeaderValue::from_static("W/\"\""));
        Self { name, content_type, is_gzip, bytes, compressed: OnceLock::new(), etag }
    }

    /// Its bytes in gzip, if the client takes that and they are worth it.
    fn in_gzip(&self, request: &HeaderMap) -> Option<&Bytes> {
        if self.is_gzip {
            return Some(&self.bytes);
        }
        if (self.bytes.len() as u64) < SMALLEST || !accepts_gzip(request) {
            return None;
        }
        let compress = || gzip(&self.bytes).map(Bytes::from).ok();
        let compressed = match self.compressed.get() {
            Some(compressed) => compressed,
            None => compute(self.bytes.len(), || self.compressed.get_or_init(compress)),
        };
        compressed.as_ref()
    }

    /// Its name in the path.
    #[cfg(test)]
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Its media type, without parameters.
    #[cfg(test)]
    pub(crate) fn content_type(&self) -> &'static str {
        self.content_type.split(';').next().unwrap_or_default()
    }

    /// Responds with it, unless the client has it.
    pub(super) fn respond(&self, request: &HeaderMap) -> Response {
        let known = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let own = self.etag.to_str().unwrap_or_default().trim_start_matches("W/");
        let is_known = |tag: &str| tag == "*" || tag.trim_start_matches("W/") == own;
        let mut response = if known.flat_map(|tags| tags.split(',')).any(|tag| is_known(tag.trim())) {
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

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Responds with the file of this name.
pub(super) async fn respond_with(files: &[Asset], name: &str, request: &HeaderMap) -> Response {
    match files.iter().find(|file| file.name == name) {
        Some(file) => file.respond(request),
        None => unknown_path().await.into_response(),
    }
}
