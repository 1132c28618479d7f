//! The operations that need no token: what the service is, its health, its documentation.

use std::collections::BTreeSet;

use compliance_api::error::Reason;
use http::StatusCode;

use super::{example::named, header, operation::Operation, schema::closed};
use crate::{
    json::{Json, object},
    routes::{about, asset::Asset, console, docs, health},
};

fn text(value: &str) -> Json {
    object! { "type": "string", "const": value }
}

fn health_of(status: &str) -> Json {
    closed(vec![("status", text(status))])
}

pub(crate) fn live() -> Operation {
    Operation::public("getLiveness", "Whether the process runs", "For supervisors of the process.").returns(
        StatusCode::OK,
        "It runs.",
        health_of("ok"),
        Json::object([named("ok", "It runs", Json::parse(health::OK.as_bytes()))]),
    )
}

pub(crate) fn ready() -> Operation {
    let doc = "For load balancers: whether the database responds and accepts writes.";
    let unavailable = object! {
        "description": "The service cannot serve now, or has too many connections.",
        "content": object! { "application/json": object! {
            "schema": object! { "anyOf": Json::list([health_of("unavailable"), super::schema::reference("Error")]) },
            "examples": Json::object([named("unavailable", "It cannot serve", Json::parse(health::UNAVAILABLE.as_bytes()))]),
        } },
    };
    Operation::public("getReadiness", "Whether the service can serve", doc)
        .returns(
            StatusCode::OK,
            "It can.",
            health_of("ok"),
            Json::object([named("ok", "It can", Json::parse(health::OK.as_bytes()))]),
        )
        .without_refusal(StatusCode::SERVICE_UNAVAILABLE)
        .responds(StatusCode::SERVICE_UNAVAILABLE, unavailable)
}

pub(crate) fn describe() -> Operation {
    let about = Json::of(&about::DESCRIPTION);
    let properties = match &about {
        Json::Object(entries) => entries.iter().map(|(key, _)| (key.as_str(), object! { "type": "string" })).collect(),
        _ => Vec::new(),
    };
    let doc = "Where to look. JSON; a browser gets a page.";
    let content = object! {
        "application/json": object! {
            "schema": closed(properties),
            "examples": Json::object([named("about", "This version", about.clone())]),
        },
        "text/html": object! { "schema": object! { "type": "string" } },
    };
    Operation::public("getDescription", "What this service is", doc).responds(
        StatusCode::OK,
        object! {
            "description": "Name, version and paths.",
            "headers": header::references(&[header::REQUEST_ID], None),
            "content": content,
        },
    )
}

pub(crate) fn document() -> Operation {
    let doc = "The description of this interface, OpenAPI 3.1.";
    let object = || object! { "type": "object" };
    let schema = object! {
        "type": "object",
        "required": Json::list(["openapi", "info", "paths", "components"]),
        "properties": object! {
            "openapi": text("3.1.0"),
            "info": object(),
            "paths": object(),
            "components": object(),
        },
    };
    unless_unchanged(Operation::public("getOpenapi", "This document", doc), &[("application/json", schema)])
}

pub(crate) fn page() -> Operation {
    let doc = "The description of this interface as a page: sign in with a token and try the operations.";
    unless_unchanged(Operation::public("getPage", "The documentation as a page", doc), &[("text/html", any_text())])
}

pub(crate) fn page_file() -> Operation {
    let operation = Operation::public("getPageFile", "A file of the page", "A style sheet or a script of the page.");
    one_of(&*docs::FILES, operation)
}

pub(crate) fn console() -> Operation {
    let doc =
        "A page to read records and to edit affiliates: sign in with a token. It uses the operations under `/api`.";
    unless_unchanged(Operation::public("getConsole", "The console", doc), &[("text/html", any_text())])
}

pub(crate) fn console_file() -> Operation {
    let doc = "A style sheet, a script or a picture of the console.";
    one_of(&console::FILES, Operation::public("getConsoleFile", "A file of the console", doc))
}

/// Adds the parameter and the responses of an operation that returns one of these files.
fn one_of(files: &[Asset], operation: Operation) -> Operation {
    let types: BTreeSet<&str> = files.iter().map(Asset::content_type).collect();
    let types: Vec<_> = types.into_iter().map(|name| (name, any_text())).collect();
    let file = object! {
        "name": "file",
        "in": "path",
        "required": true,
        "description": "The name of the file.",
        "schema": object! { "type": "string", "enum": Json::list(files.iter().map(Asset::name)) },
    };
    unless_unchanged(operation.parameters([file]), &types).refuses(&[Reason::UnknownPath])
}

fn any_text() -> Json {
    object! { "type": "string" }
}

/// Adds the responses with content of these types, and without any if the client has it already.
fn unless_unchanged(operation: Operation, types: &[(&str, Json)]) -> Operation {
    let if_none_match = object! {
        "name": "If-None-Match",
        "in": "header",
        "description": "The `ETag` of the client's copy.",
        "required": false,
        "schema": object! { "type": "string" },
    };
    let headers = || header::references(&[header::REQUEST_ID, header::ETAG], None);
    let content = types.iter().map(|(name, schema)| (*name, object! { "schema": schema.clone() }));
    operation
        .parameters([if_none_match])
        .responds(
            StatusCode::OK,
            object! {
                "description": "The content.",
                "headers": headers(),
                "content": Json::object(content),
            },
        )
        .responds(StatusCode::NOT_MODIFIED, object! { "description": "It has not changed.", "headers": headers() })
}
