//! The pages of the crate of this name, and the document that they show.

use axum::{extract::Path, response::Response};
use compliance_api::error::Error;
use http::HeaderMap;

use crate::error::Refusal;

/// This document
///
/// The description of this interface, OpenAPI 3.1.
///
/// - Operation: `getOpenapi`
/// - Content: `Document`
pub(crate) async fn openapi(headers: HeaderMap) -> Response {
    pages::openapi(&headers)
}

/// The documentation as a page
///
/// The description of this interface as a page: sign in with a token and try the operations.
///
/// - Operation: `getPage`
/// - Content: `text/html`
pub(crate) async fn docs(headers: HeaderMap) -> Response {
    pages::DOCS.respond(&headers)
}

/// A file of the page
///
/// A style sheet or a script of the page.
///
/// - Operation: `getPageFile`
/// - Files: `docs`
pub(crate) async fn docs_file(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, Refusal> {
    pages::DOCS.file(&name, &headers).ok_or_else(|| Error::unknown_path().into())
}

/// The console
///
/// A page to read records and to edit affiliates: sign in with a token. It uses the operations under `/api`.
///
/// - Operation: `getConsole`
/// - Content: `text/html`
pub(crate) async fn console(headers: HeaderMap) -> Response {
    pages::CONSOLE.respond(&headers)
}

/// A file of the console
///
/// A style sheet, a script or a picture of the console.
///
/// - Operation: `getConsoleFile`
/// - Files: `console`
pub(crate) async fn console_file(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, Refusal> {
    pages::CONSOLE.file(&name, &headers).ok_or_else(|| Error::unknown_path().into())
}
