//! The OpenAPI 3.1 document of the interface. It is made of what the handlers use: the routes, the descriptions and rules
//! of `proto/`, the table of errors and the gateway's own bodies. So it cannot say anything else than they do.
//!
//! The crates that derive such documents need Rust types of all bodies, but JSON is mapped from messages here. Those that
//! model the format lack parts of it (headers that are required, shared parameters). So the document is plain
//! JSON, and linters check its form.

mod choice;
mod documented;
mod example;
mod header;
mod input;
mod operation;
mod parameter;
pub(crate) mod partners;
mod pattern;
mod record;
mod reference;
mod refusal;
mod schema;
pub(crate) mod service;
mod tests;

use std::collections::BTreeMap;

pub(crate) use documented::Documented;
use operation::Tag;

use crate::json::{Json, object};

const ABOUT: &str = "Compliance monitoring for a company that runs an affiliate programme: its affiliates, the web addresses \
monitored for it, and the compliance cases that were opened.

**Tokens.** Every operation under `/api` needs a JSON Web Token: `Authorization: Bearer …`. The token names the company \
whose records are read and changed. Records of other companies do not exist for it.

**Envelope.** Responses are `{\"code\", \"status\", \"detail\", \"data\", \"meta\"}`; keys without a value are left out. A \
batch returns a list of such envelopes, one for each item. A violation of the rules (422) is \
`{\"message\", \"errors\"}`, with every violation of the request.

**Values.** Timestamps are `YYYY-MM-DD HH:MM:SS`, UTC. Lengths count characters. Unknown keys and parameters are ignored. \
An empty parameter is the same as none.

**Limits.** Requests of a company are limited: see the headers `X-RateLimit-…`. After 429 and 503, wait for the seconds of \
`Retry-After` and send the request again.";

/// The document of these routes.
pub(crate) fn document(routes: &[Documented]) -> Json {
    let mut paths: Vec<(&str, Vec<(&str, Json)>)> = Vec::new();
    let mut responses = BTreeMap::new();
    for Documented { path, method, document } in routes {
        let operation = document();
        responses.extend(operation.refusals().into_iter().map(|group| (group.name(), group.into_json())));
        let entry = (*method, operation.into_json());
        match paths.iter_mut().find(|(known, _)| known == path) {
            Some((_, operations)) => operations.push(entry),
            None => paths.push((path, vec![entry])),
        }
    }
    object! {
        "openapi": "3.1.0",
        "info": object! {
            "title": "Affiliate Compliance Service",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": object! { "name": "Apache 2.0", "identifier": env!("CARGO_PKG_LICENSE") },
        },
        "servers": Json::list([object! { "url": "/", "description": "The service that serves this document." }]),
        "security": Json::list([object! { "bearer": Json::List(Vec::new()) }]),
        "tags": Json::list(Tag::ALL.map(|tag| object! { "name": tag.name(), "description": tag.doc() })),
        "paths": Json::object(paths.into_iter().map(|(path, operations)| (path, Json::object(operations)))),
        "components": object! {
            "securitySchemes": object! { "bearer": object! {
                "type": "http",
                "scheme": "bearer",
                "bearerFormat": "JWT",
                "description": "A JSON Web Token with the claims `company_id`, `exp` and `aud`.",
            } },
            "parameters": parameter::components(),
            "headers": Json::object(header::ALL.map(|header| (header.name, header.into_json()))),
            "responses": Json::object(responses),
            "schemas": Json::object(schema::all()),
        },
    }
}
