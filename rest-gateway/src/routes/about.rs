//! `/`: what this service is, and where to look.

use axum::{body::Body, response::Response};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{ACCEPT, CONTENT_SECURITY_POLICY, CONTENT_TYPE, VARY},
};

use serde::Serialize;

use crate::{envelope::respond, rate_limit::RateLimit};

/// What this service is, in the order of its keys.
#[derive(Serialize)]
pub(crate) struct Description {
    name: &'static str,
    version: &'static str,
    api: &'static str,
    console: &'static str,
    documentation: &'static str,
    openapi: &'static str,
    live: &'static str,
    ready: &'static str,
}

pub(crate) const DESCRIPTION: Description = Description {
    name: "Affiliate Compliance Service",
    version: env!("CARGO_PKG_VERSION"),
    api: "/api",
    console: "/console",
    documentation: "/docs",
    openapi: "/openapi.json",
    live: "/livez",
    ready: "/readyz",
};

/// For people.
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

pub(crate) async fn get(headers: HeaderMap) -> Response {
    let mut response = if is_browser(&headers) {
        let mut page = Response::new(Body::from(PAGE));
        page.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
        page.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        page
    } else {
        respond(StatusCode::OK, RateLimit::default(), &DESCRIPTION)
    };
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    response
}

/// Browsers name HTML first; other clients name it not at all, or after JSON.
fn is_browser(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let first = accepted.split([',', ';']).next().unwrap_or_default();
    first.trim().eq_ignore_ascii_case("text/html")
}
