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

/// The documentation
///
/// The first page of the documentation of this interface: what it is, first steps, and where to look.
///
/// - Operation: `getPage`
/// - Content: `text/html`
pub(crate) async fn docs(headers: HeaderMap) -> Response {
    pages::DOCS.respond(&headers)
}

/// A page of the documentation
///
/// The guide, the reference with forms to try the operations, results and errors, clients, the changelog, compatibility; or a
/// style sheet, a script or a picture of these pages.
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
