//! The bodies of `POST /webhooks` and `PUT /webhooks/{id}`.

use compliance_api::{
    description::Kind,
    error::Error,
    rules::{self, Check as _, Violations},
    v1::{CreateWebhookRequest, WebhookInput},
};
use prost::{Message as _, encoding};
use serde_json::Value;

use super::{accept, body::Form, document::At};
use crate::ignored::Ignored;

/// Bytes of a body: more than a webhook takes.
const MOST: usize = 64 << 10;

impl Form for CreateWebhookRequest {
    const ELEMENT: usize = 0;
    const KEY: usize = 0;

    fn violations(&self) -> Violations {
        rules::check(self)
    }
}

impl Form for WebhookInput {
    const ELEMENT: usize = 0;
    const KEY: usize = 0;

    fn violations(&self) -> Violations {
        rules::check(self)
    }
}

/// Reads the body of a `POST`.
pub(crate) fn create(body: &[u8], _memory: usize, ignored: &mut Ignored) -> Result<CreateWebhookRequest, Error> {
    let (webhook, violations) = input(body, ignored)?;
    accept(violations, CreateWebhookRequest { webhook: Some(webhook) })
}

/// Reads the body of a `PUT`.
pub(crate) fn update(body: &[u8], _memory: usize, ignored: &mut Ignored) -> Result<WebhookInput, Error> {
    let (webhook, violations) = input(body, ignored)?;
    accept(violations, webhook)
}

/// What a body has, and which of its values have another type.
fn input(body: &[u8], ignored: &mut Ignored) -> Result<(WebhookInput, Violations), Error> {
    if body.len() > MOST {
        return Err(Error::body_too_large());
    }
    let invalid = |message| Error::invalid(Violations::one("body", message));
    let sent: Value = serde_json::from_slice(body).map_err(|_| invalid("The body must be valid JSON."))?;
    let Value::Object(mut sent) = sent else { return Err(invalid("The body must be a JSON object.")) };
    let (mut message, mut violations) = (Vec::new(), Violations::new());
    for field in WebhookInput::MESSAGE.fields {
        let mut must = |name: &str, must| At::Body.must(&mut violations, name, field.number, must);
        match (field.kind, sent.remove(field.name).unwrap_or_default()) {
            (_, Value::Null) => {}
            (Kind::Integer(_), value) => match value.as_i64() {
                Some(number) => encoding::int64::encode(field.number, &number, &mut message),
                None => must(field.name, "must be an integer"),
            },
            (_, Value::String(text)) if !field.is_list => encoding::string::encode(field.number, &text, &mut message),
            (_, Value::Array(values)) if field.is_list => {
                for (index, value) in values.into_iter().enumerate() {
                    if !value.is_string() {
                        must(&format!("{}.{index}", field.name), "must be a string");
                    }
                    let text = value.as_str().unwrap_or_default().to_owned();
                    encoding::string::encode(field.number, &text, &mut message);
                }
            }
            _ if field.is_list => must(field.name, "must be an array"),
            _ => must(field.name, "must be a string"),
        }
    }
    sent.keys().for_each(|name| ignored.add(name));
    Ok((WebhookInput::decode(&*message).map_err(|_| Error::internal())?, violations))
}
