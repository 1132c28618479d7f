//! The bodies of `POST /webhooks` and `PUT /webhooks/{id}`.

use compliance_api::{
    error::Error,
    rules::{Check as _, Violations},
    v1::{CreateWebhookRequest, WebhookInput},
};

use super::{
    checked::accept,
    json_body::one,
    object::{At, Object},
};
use crate::ignored::Ignored;

/// Bytes of a body: more than a webhook takes.
const MOST: usize = 64 << 10;

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
    let (mut object, mut violations) = (Object::new(WebhookInput::MESSAGE.fields, None), Violations::new());
    one(body, &mut object, ignored)?;
    object.report(At::Body, &mut violations);
    Ok((object.message()?, violations))
}
