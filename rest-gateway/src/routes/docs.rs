//! `/openapi.json` and `/docs`: the documentation of the interface. All of it is in the program; the page loads nothing
//! from elsewhere.

use std::sync::LazyLock;

use axum::{extract::Path, response::Response};
use http::HeaderMap;

use super::asset::{self, Asset, HTML, SCRIPT, STYLE};

static DOCUMENT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("openapi.json", "application/json", false, &include_bytes!("../../../docs/openapi.json")[..])
});

static PAGE: LazyLock<Asset> = LazyLock::new(|| Asset::new("docs", HTML, false, &include_bytes!("docs/page.html")[..]));

/// The files that the page loads. Those of Swagger UI are compressed; every browser takes them so.
pub(crate) static FILES: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    [
        Asset::new("swagger-ui.css", STYLE, true, &include_bytes!("docs/swagger-ui.css.gz")[..]),
        Asset::new("swagger-ui-bundle.js", SCRIPT, true, &include_bytes!("docs/swagger-ui-bundle.js.gz")[..]),
        Asset::new("page.js", SCRIPT, false, &include_bytes!("docs/page.js")[..]),
    ]
});

/// What the page may do: load its own files, and call this service.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) async fn document(headers: HeaderMap) -> Response {
    DOCUMENT.respond(&headers)
}

pub(crate) async fn page(headers: HeaderMap) -> Response {
    PAGE.respond_as_page(&headers, POLICY)
}

pub(crate) async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    asset::respond_with(&*FILES, &name, &headers).await
}
