//! Generates `docs/openapi.json`, the OpenAPI 3.1 document of the API, and the tables in `docs/reference/`.
//!
//! The sources are parts of the service: the comments above the handlers, the descriptions and rules in `proto/`, and the error table. So the
//! documents match the service. `base.json` contains the parts that are not specific to a route.
//!
//! Crates that derive OpenAPI documents need Rust types for all bodies, but this service maps JSON to messages. Crates that
//! model the format lack required headers and shared parameters. Therefore, the document is plain JSON, and linters check it.

mod base;
mod comment;
mod errors;
mod examples;
mod files;
mod input;
mod parameter;
mod pattern;
mod record;
mod reference;
mod route;
mod schema;
mod schemas;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use base::base;
use docs_pages::Json;
use rest_gateway::ROUTES;

pub use reference::with_generated_parts;
use route::DocumentedRoute;

/// Returns the OpenAPI document as text.
///
/// # Panics
///
/// Panics if a route's documentation is incomplete.
pub fn document() -> String {
    let mut paths: Vec<(&str, Vec<(&str, Json)>)> = Vec::new();
    let mut responses = BTreeMap::new();
    for route in ROUTES {
        let documented = DocumentedRoute::of(route);
        for (status, reasons) in errors::responses(&documented.reasons) {
            responses.insert(errors::name(status, &reasons), errors::response(status, &reasons));
        }
        let entry = (route.method, documented.into_json());
        match paths.iter_mut().find(|(known, _)| *known == route.path) {
            Some((_, operations)) => operations.push(entry),
            None => paths.push((route.path, vec![entry])),
        }
    }
    let mut document = base();
    *document.at("info").at("description") = Json::of(&comment::blocks(include_str!("about.md").lines()).join("\n\n"));
    *document.at("paths") = Json::object(paths.into_iter().map(|(path, operations)| (path, Json::object(operations))));
    *document.at("components").at("responses") = Json::object(responses);
    let schemas = document.at("components").at("schemas").entries_mut();
    schemas.splice(0..0, schemas::all());
    for (name, schema) in schemas.iter_mut() {
        *schema = files::with_properties(name, schema.clone());
    }
    document.entries_mut().retain(|key, _| key != "inline");
    serde_json::to_string_pretty(&document).expect("cannot write JSON") + "\n"
}
