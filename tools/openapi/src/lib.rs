//! Makes `docs/openapi.json`, the OpenAPI 3.1 document of the interface, and the tables of `docs/reference/`. They follow from
//! what the service uses: the comments above the handlers, the descriptions and rules of `proto/`, and the table of errors. So
//! they cannot say anything else than it does. What belongs to no route is in `base.json`.
//!
//! The crates that derive such documents need Rust types of all bodies, but JSON is mapped from messages here. Those that
//! model the format lack parts of it (headers that are required, shared parameters). So the document is plain
//! JSON, and linters check its form.

mod base;
mod comment;
mod examples;
mod input;
mod parameter;
mod pattern;
mod record;
mod reference;
mod refusal;
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

/// The text of the document.
///
/// # Panics
///
/// If the documentation of a route is not complete.
pub fn document() -> String {
    let mut paths: Vec<(&str, Vec<(&str, Json)>)> = Vec::new();
    let mut responses = BTreeMap::new();
    for route in ROUTES {
        let documented = DocumentedRoute::of(route);
        responses.extend(documented.refusals().into_iter().map(|group| (group.name(), group.into_json())));
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
    document.at("components").at("schemas").entries_mut().splice(0..0, schemas::all());
    document.entries_mut().retain(|key, _| key != "inline");
    serde_json::to_string_pretty(&document).expect("it is JSON") + "\n"
}
