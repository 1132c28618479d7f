//! What clients send, as messages. The gateway refuses only what no message can hold; the rules are the core's.

pub(crate) mod accept;
pub(crate) mod affiliates;
pub(crate) mod body;
mod collect;
mod document;
mod inflate;
mod json;
pub(crate) mod path;
pub(crate) mod query;
pub(crate) mod tags;
pub(crate) mod urls;
pub(crate) mod webhooks;

use compliance_api::{
    error::Error,
    rules::{self, Check, Violations},
};

use self::path::PathId;

/// The ID of a record in a path. Violations of the rest of the request come before an ID that no record can have.
pub(crate) fn id_with(path: PathId, rest: &impl Check, not_found: fn(String) -> Error) -> Result<i64, Error> {
    let refuse = |not_found| {
        let violations = rules::check(rest);
        if violations.is_empty() { not_found } else { Error::invalid(violations) }
    };
    path.record_id(not_found).map_err(refuse)
}

/// The message if there are no violations, otherwise all of them, those of the rules included.
fn accept<M: Check>(mut violations: Violations, message: M) -> Result<M, Error> {
    if violations.is_empty() {
        return Ok(message);
    }
    violations.merge(rules::check(&message));
    Err(Error::invalid(violations))
}

#[cfg(test)]
mod tests {
    use super::{affiliates, path::PathId, tags::IfMatch, urls, webhooks};

    #[test]
    fn the_documented_bodies_are_accepted() {
        const MEMORY: usize = 1 << 20;
        let document: serde_json::Value = serde_json::from_str(include_str!("../../docs/openapi.json")).unwrap();
        let mut bodies = 0;
        for (path, operations) in document["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let examples = &operation["requestBody"]["content"]["application/json"]["examples"];
                for body in examples.as_object().into_iter().flat_map(|examples| examples.values()) {
                    let body = serde_json::to_vec(&body["value"]).unwrap();
                    let is_accepted = match (&**method, &**path) {
                        ("post", "/api/affiliates:sync") => affiliates::sync(&body, MEMORY).is_ok(),
                        ("post", "/api/affiliates") => affiliates::create(&body, MEMORY).is_ok(),
                        (_, "/api/webhooks" | "/api/webhooks/{id}") => webhooks::input(&body, MEMORY).is_ok(),
                        ("put", _) => {
                            affiliates::update(&body, MEMORY, &PathId::of("/api/affiliates/1"), &IfMatch::NONE).is_ok()
                        }
                        _ => urls::add(&body, MEMORY).is_ok(),
                    };
                    assert!(is_accepted, "{method} {path}");
                    bodies += 1;
                }
            }
        }
        assert_eq!(bodies, 8);
    }
}
