//! The documentation, the console, and the OpenAPI document.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::Response,
};
use compliance_api::error::Error;
use http::HeaderMap;

use crate::{error::Refusal, gateway::Gateway};

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
/// Returns one page of the documentation, or a style sheet, a script or a picture of these pages.
///
/// - Operation: `getPageFile`
/// - Files: `docs`
pub(crate) async fn docs_file(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, Refusal> {
    pages::DOCS.file(&name, &headers).ok_or_else(|| Error::unknown_path().into())
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
/// Returns the console's settings: which token claim names the company, and the company's OpenID Connect provider, if there is one.
///
/// - Operation: `getConsoleSignIn`
/// - Content: `ConsoleSignIn`
pub(crate) async fn console_sign_in(
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    gateway.console.file("sign-in.json", &headers).ok_or_else(|| Error::unknown_path().into())
}

/// A file of the console
///
/// Returns a style sheet, a script or a picture of the console.
///
/// - Operation: `getConsoleFile`
/// - Files: `console`
pub(crate) async fn console_file(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    gateway.console.file(&name, &headers).ok_or_else(|| Error::unknown_path().into())
}
