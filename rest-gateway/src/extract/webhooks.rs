//! The bodies of `POST /webhooks` and `PUT /webhooks/{id}`.

use compliance_api::{
    error::Error,
    rules::{self, Violations},
    v1::WebhookInput,
};
use serde_json::Value;

use super::{accept, body::Form, document::At};

/// Bytes of a body: more than a webhook takes.
const MOST: usize = 64 << 10;

impl Form for WebhookInput {
    const ELEMENT: usize = 0;
    const KEY: usize = 0;

    fn violations(&self) -> Violations {
        rules::check(self)
    }
}

/// Reads a body.
pub(crate) fn input(body: &[u8], _memory: usize) -> Result<WebhookInput, Error> {
    if body.len() > MOST {
        return Err(Error::body_too_large());
    }
    let invalid = |message| Error::invalid(Violations::one("body", message));
    let sent: Value = serde_json::from_slice(body).map_err(|_| invalid("The body must be valid JSON."))?;
    let Value::Object(mut sent) = sent else { return Err(invalid("The body must be a JSON object.")) };
    let mut violations = Violations::new();
    let mut must = |name: &str, number, must| At::Body.must(&mut violations, name, number, must);
    let mut take = |name| sent.remove(name).unwrap_or_default();
    let mut text = |name: &str, number, value| match value {
        Value::String(text) => Some(text),
        Value::Null => None,
        _ => {
            must(name, number, "must be a string");
            None
        }
    };
    let (url, description) = (text("url", 1, take("url")), text("description", 3, take("description")));
    let status = text("status", 4, take("status"));
    let types = match take("types") {
        Value::Array(types) => {
            let name = |(index, name)| {
                let Value::String(name) = name else {
                    must(&format!("types.{index}"), 2, "must be a string");
                    return String::new();
                };
                name
            };
            types.into_iter().enumerate().map(name).collect()
        }
        types => {
            if !types.is_null() {
                must("types", 2, "must be an array");
            }
            Vec::new()
        }
    };
    let position = take("position");
    if !(position.is_i64() || position.is_null()) {
        must("position", 5, "must be an integer");
    }
    accept(violations, WebhookInput { url, types, description, status, position: position.as_i64() })
}
