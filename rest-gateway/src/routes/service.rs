//! Serves the service's own description, health, documentation and console.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::{Html, IntoResponse, Redirect, Response},
};
use compliance_api::error::Error;
use http::{
    HeaderMap, HeaderValue, Method, StatusCode, Uri,
    header::{CONTENT_SECURITY_POLICY, VARY},
};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};

use crate::{
    accept::is_browser,
    envelope::{Rejection, respond_with},
    gateway::Gateway,
    limits::READINESS_TIMEOUT,
};

/// Description for programs.
const DESCRIPTION: &str = concat!(
    r#"{"name":"Affiliate Compliance Service","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#"","api":"/api","console":"/console","documentation":"/docs","openapi":"/openapi.json","#,
    r#""live":"/livez","ready":"/readyz"}"#,
);

/// Page for people.
const PAGE: &str = concat!(
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Affiliate Compliance Service</title>",
    "<h1>Affiliate Compliance Service ",
    env!("CARGO_PKG_VERSION"),
    "</h1><p>The partner API is under <code>/api</code> and requires a token.</p><ul>",
    "<li><a href=\"console\">Console</a>, to view records and edit affiliates</li>",
    "<li><a href=\"docs\">Documentation</a>, with operations to try</li>",
    "<li><a href=\"openapi.json\">OpenAPI 3.1 document</a></li>",
    "<li><a href=\"livez\">Liveness</a> <a href=\"readyz\">Readiness</a></li></ul></html>\n",
);

/// What this service is
///
/// Returns the name, the version and the paths of this service, as JSON. A browser gets an HTML page.
///
/// - Operation: `getDescription`
/// - 200: `Description`, `text/html`. Name, version and paths.
pub(crate) async fn about(headers: HeaderMap) -> Response {
    let mut response = if is_browser(&headers) {
        let policy = "default-src 'none'; frame-ancestors 'none'";
        ([(CONTENT_SECURITY_POLICY, policy)], Html(PAGE)).into_response()
    } else {
        respond_with(StatusCode::OK, DESCRIPTION)
    };
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    response
}

/// Body for a healthy service.
const OK: &str = r#"{"status":"ok"}"#;
/// Body for an unhealthy service.
const UNAVAILABLE: &str = r#"{"status":"unavailable"}"#;

/// Whether the process runs
///
/// For process supervisors.
///
/// - Operation: `getLiveness`
/// - 200: `Healthy`. The process runs.
pub(crate) async fn live() -> Response {
    respond_with(StatusCode::OK, OK)
}

/// Whether the service can serve
///
/// For load balancers. The service can serve if its database responds and is neither a standby nor read-only, and the service is not
/// shutting down.
///
/// - Operation: `getReadiness`
/// - 200: `Healthy`. The service can serve.
/// - 503: `Unhealthy`. The service cannot serve now, or is shutting down.
pub(crate) async fn ready(State(gateway): State<Arc<Gateway>>) -> Response {
    if !http_server::is_draining() && core_serves(&gateway).await {
        return live().await;
    }
    unavailable().await
}

/// Responds to `/readyz` while the service cannot serve.
pub(crate) async fn unavailable() -> Response {
    respond_with(StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE)
}

async fn core_serves(gateway: &Gateway) -> bool {
    let mut request = tonic::Request::new(HealthCheckRequest { service: String::new() });
    request.set_timeout(READINESS_TIMEOUT);
    match tokio::time::timeout(READINESS_TIMEOUT, gateway.clients.health.check_health(request)).await {
        Ok(Ok(response)) => response.into_inner().status == i32::from(ServingStatus::Serving),
        Ok(Err(status)) => {
            tracing::debug!(code = ?status.code(), error = status.message(), "cannot read the core's health");
            false
        }
        Err(_) => false,
    }
}

/// This document
///
/// Returns the OpenAPI 3.1 description of this interface.
///
/// - Operation: `getOpenapi`
/// - Content: `Document`
pub(crate) async fn openapi(headers: HeaderMap) -> Response {
    pages::openapi(&headers)
}

/// The documentation
///
/// Returns the first page of this interface's documentation: what the interface is, and the first steps.
///
/// - Operation: `getPage`
/// - Content: `text/html`
pub(crate) async fn docs(headers: HeaderMap) -> Response {
    pages::DOCS.respond(&headers)
}

/// A page of the documentation
///
/// Returns one page of the documentation, or a style sheet, script or image of these pages.
///
/// - Operation: `getPageFile`
/// - Files: `docs`
pub(crate) async fn docs_file(
    Path(name): Path<String>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Rejection> {
    file_or_redirect(pages::DOCS.file(&name, &headers), method, uri, headers).await
}

/// The console
///
/// Returns the console: a web page to read records, to edit affiliates and to work on cases. Sign in with an account of your company,
/// or with a token. The console uses the operations under `/api`.
///
/// - Operation: `getConsole`
/// - Content: `text/html`
pub(crate) async fn console(State(gateway): State<Arc<Gateway>>, headers: HeaderMap) -> Response {
    gateway.console.respond(&headers)
}

/// How users sign in to the console
///
/// Returns the console's settings: which token claim names the company, and the company's OpenID Connect provider, if any.
///
/// - Operation: `getConsoleSignIn`
/// - Content: `ConsoleSignIn`
pub(crate) async fn console_sign_in(
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
) -> Result<Response, Rejection> {
    gateway.console.file("sign-in.json", &headers).ok_or_else(|| Error::unknown_path().into())
}

/// A file of the console
///
/// Returns a style sheet, script or image of the console.
///
/// - Operation: `getConsoleFile`
/// - Files: `console`
pub(crate) async fn console_file(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Rejection> {
    file_or_redirect(gateway.console.file(&name, &headers), method, uri, headers).await
}

/// Returns a file, or the response to an unknown path.
async fn file_or_redirect(
    file: Option<Response>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Rejection> {
    match file {
        Some(file) => Ok(file),
        None => unknown_path(method, uri, headers).await.map(IntoResponse::into_response),
    }
}

/// Responds to an unknown path. Redirects from a page's path with a trailing slash, and browsers from all other paths outside `/api`.
pub(crate) async fn unknown_path(method: Method, uri: Uri, headers: HeaderMap) -> Result<Redirect, Rejection> {
    match uri.path() {
        // Relative, because a proxy can serve these pages under a prefix.
        "/docs/" => Ok(Redirect::permanent("../docs")),
        "/console/" => Ok(Redirect::permanent("../console")),
        path if method.is_safe() && is_browser(&headers) && !format!("{path}/").starts_with("/api/") => {
            Ok(Redirect::temporary(&nearest_page(path)))
        }
        _ => Err(Error::unknown_path().into()),
    }
}

/// Returns a relative link from an unknown path to the page that it seems to mean: the console, or the documentation page with the name of
/// the last segment, as in `/docs/partners/files.md`.
fn nearest_page(path: &str) -> String {
    let root = "../".repeat(path.matches('/').count().saturating_sub(1));
    if let Some(view) = path.strip_prefix("/console/") {
        return format!("{root}console#/{view}");
    }
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let name = last.trim_end_matches(".md");
    match pages::DOCS.files().find(|(known, kind)| *known == name && *kind == "text/html") {
        Some((name, _)) => format!("{root}docs/{name}"),
        None => format!("{root}docs"),
    }
}
