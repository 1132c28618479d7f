//! `/`: the service and its paths.

use axum::{
    body::Body,
    response::{Html, IntoResponse as _, Response},
};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{ACCEPT, CONTENT_SECURITY_POLICY, VARY},
};

use crate::envelope::{RateLimit, respond_with};

/// The description for programs.
const DESCRIPTION: &str = concat!(
    r#"{"name":"Affiliate Compliance Service","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#"","api":"/api","console":"/console","documentation":"/docs","openapi":"/openapi.json","#,
    r#""live":"/livez","ready":"/readyz"}"#,
);

/// The page for people.
const PAGE: &str = concat!(
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Affiliate Compliance Service</title>",
    "<h1>Affiliate Compliance Service ",
    env!("CARGO_PKG_VERSION"),
    "</h1><p>The interface for partners is under <code>/api</code> and needs a token.</p><ul>",
    "<li><a href=\"console\">Console</a>, to look at records and edit affiliates</li>",
    "<li><a href=\"docs\">Documentation</a>, to read and to try</li>",
    "<li><a href=\"openapi.json\">OpenAPI 3.1 document</a></li>",
    "<li><a href=\"livez\">Does it run?</a> <a href=\"readyz\">Can it serve?</a></li></ul></html>\n",
);

/// What this service is
///
/// Returns the name, the version and the paths of this service, as JSON. A browser gets an HTML page.
///
/// - Operation: `getDescription`
/// - 200: `Description`, `text/html`. Name, version and paths.
pub(crate) async fn get(headers: HeaderMap) -> Response {
    let mut response = if is_browser(&headers) {
        let policy = "default-src 'none'; frame-ancestors 'none'";
        ([(CONTENT_SECURITY_POLICY, policy)], Html(PAGE)).into_response()
    } else {
        respond_with(StatusCode::OK, RateLimit::default(), Body::from(DESCRIPTION))
    };
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    response
}

/// Browsers name HTML first. Other clients name it after JSON, or not at all.
fn is_browser(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let first = accepted.split([',', ';']).next().unwrap_or_default();
    first.trim().eq_ignore_ascii_case("text/html")
}
