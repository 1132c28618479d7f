//! `/openapi.json` and `/docs`: the documentation of the interface. All of it is in the program; the page loads nothing
//! from elsewhere.

use std::{
    fmt::Write as _,
    sync::{LazyLock, OnceLock},
};

use axum::{
    body::Body,
    extract::Path,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
        X_CONTENT_TYPE_OPTIONS,
    },
};
use sha2::{Digest as _, Sha256};

use super::unknown_path;
use crate::json::Json;

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
    fn new(name: &'static str, content_type: &'static str, is_gzip: bool, bytes: impl Into<Bytes>) -> Self {
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
    fn respond(&self, request: &HeaderMap) -> Response {
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
}

static DOCUMENT: OnceLock<Asset> = OnceLock::new();

const HTML: &[u8] = include_bytes!("docs/page.html");

static PAGE: LazyLock<Asset> = LazyLock::new(|| Asset::new("docs", "text/html; charset=utf-8", false, HTML));

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files that the page loads. Those of Swagger UI are compressed; every browser takes them so.
pub(crate) static FILES: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    [
        Asset::new("swagger-ui.css", "text/css; charset=utf-8", true, &include_bytes!("docs/swagger-ui.css.gz")[..]),
        Asset::new("swagger-ui-bundle.js", SCRIPT, true, &include_bytes!("docs/swagger-ui-bundle.js.gz")[..]),
        Asset::new("page.js", SCRIPT, false, &include_bytes!("docs/page.js")[..]),
    ]
});

/// What the page may do: load its own files, and call this service.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Sets the document, once for the process.
pub(crate) fn set_document(make: impl FnOnce() -> Json) {
    DOCUMENT.get_or_init(|| {
        // Texts and numbers can always be written.
        let text = serde_json::to_vec(&make()).unwrap_or_default();
        Asset::new("openapi.json", "application/json", false, text)
    });
}

pub(crate) async fn document(headers: HeaderMap) -> Response {
    match DOCUMENT.get() {
        Some(document) => document.respond(&headers),
        None => unknown_path().await.into_response(),
    }
}

pub(crate) async fn page(headers: HeaderMap) -> Response {
    let mut response = PAGE.respond(&headers);
    let policies: [(HeaderName, &'static str); 2] =
        [(CONTENT_SECURITY_POLICY, POLICY), (REFERRER_POLICY, "no-referrer")];
    for (name, value) in policies {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

pub(crate) async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match FILES.iter().find(|file| file.name == name) {
        Some(file) => file.respond(&headers),
        None => unknown_path().await.into_response(),
    }
}
