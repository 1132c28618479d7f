//! `/webhooks`

use axum::response::Response;
use compliance_api::{
    error::{Error, ResultCode},
    v1::{
        DeleteWebhookRequest, GetWebhookRequest, ListWebhooksRequest, RotateWebhookSecretRequest, TestWebhookRequest,
    },
};
use http::StatusCode;

use crate::{
    caller::Caller,
    envelope::{Detail, Envelope, Rejection, respond, respond_saved, with_location},
    extract::{
        bodies::{create_webhook, update_webhook},
        body::RequestBody,
        request::Query,
    },
    head::PathId,
};

/// List webhooks
///
/// Returns all webhooks of the company, by ascending ID.
///
/// - Operation: `listWebhooks`
/// - 200: `WebhooksFound`. The webhooks; an empty list if there are none.
pub(crate) async fn list(caller: Caller) -> Result<Response, Rejection> {
    let response = caller.call(ListWebhooksRequest {}, |core, request| core.webhooks.list_webhooks(request)).await?;
    response.found(&caller, "Webhooks found", |found| &found.webhooks)
}

/// Create a webhook
///
/// Adds an endpoint that receives the company's changes in the order of their positions. Each message has the changes after the
/// previous message. The service resends a message until the endpoint accepts it with a 2xx status. It signs messages according to
/// [Standard Webhooks](https://www.standardwebhooks.com). Only this response contains the signing secret. A company can have up to 20
/// webhooks.
///
/// If you repeat the request within an hour, you get the same response with the same secret. Otherwise, a request with the URL and
/// the types of an existing webhook gets 409 with the ID of that webhook.
///
/// - Operation: `createWebhook`
/// - Body: `WebhookCreate`
/// - 201: `WebhookCreated`, `Location`. The webhook and its secret.
/// - Refused: `FailedPrecondition`
pub(crate) async fn create(mut body: RequestBody) -> Result<Response, Rejection> {
    let request = body.read(create_webhook).await?;
    let call = body.caller.call(request, |core, request| core.webhooks.create_webhook(request));
    let created = call.await?.message;
    let id = created.webhook.as_ref().map(|webhook| webhook.id).unwrap_or_default();
    let envelope = Envelope::written(ResultCode::Saved, "Webhook created successfully.", &created);
    let response = respond(StatusCode::CREATED, &envelope);
    Ok(body.respond(with_location(response, "webhooks", id)))
}

/// Read a webhook
///
/// Returns one webhook by its ID, with its position and its failures.
///
/// - Operation: `getWebhook`
/// - Path: of the webhook
/// - 200: `WebhookFound`. The webhook.
/// - Refused: `WebhookNotFound`
pub(crate) async fn get(caller: Caller, path: PathId) -> Result<Response, Rejection> {
    let id = caller.accept(path.record_id(Error::webhook_not_found)).await?;
    let response = caller.call(GetWebhookRequest { id }, |core, request| core.webhooks.get_webhook(request)).await?;
    response.found(&caller, "Webhook found.", |webhook| webhook)
}

/// Update a webhook
///
/// Changes the fields that you send. `status` enables or disables the webhook. With `position`, the webhook continues with the
/// changes after that position. The service then attempts the next delivery immediately, with a new message.
///
/// - Operation: `updateWebhook`
/// - Path: of the webhook
/// - Body: `WebhookUpdate`
/// - 200: `WebhookUpdated`. The webhook after the change.
/// - Refused: `WebhookNotFound`, `FailedPrecondition`
pub(crate) async fn update(path: PathId, mut body: RequestBody) -> Result<Response, Rejection> {
    let request = body.read(|input| update_webhook(input, &path)).await?;
    let updated = body.caller.call(request, |core, request| core.webhooks.update_webhook(request)).await?;
    let webhook = updated.message.webhook.unwrap_or_default();
    let envelope = Envelope::written(ResultCode::Saved, "Webhook updated successfully.", &webhook);
    Ok(body.respond(respond(StatusCode::OK, &envelope)))
}

/// Delete a webhook
///
/// Deletes a webhook and its delivery log. A message that is already being sent can still arrive.
///
/// - Operation: `deleteWebhook`
/// - Path: of the webhook
/// - 200: `WebhookDeleted`. The webhook is deleted.
/// - Refused: `WebhookNotFound`
pub(crate) async fn delete(caller: Caller, path: PathId) -> Result<Response, Rejection> {
    let id = caller.accept(path.record_id(Error::webhook_not_found)).await?;
    caller.call(DeleteWebhookRequest { id }, |core, request| core.webhooks.delete_webhook(request)).await?;
    Ok(respond_saved(StatusCode::OK, Detail { msg: "Webhook deleted successfully.", ..Detail::default() }))
}

/// Rotate the secret of a webhook
///
/// Creates a new secret, which only this response contains. For a day, messages have two signatures: one with the new secret, and one
/// with the previous secret.
///
/// - Operation: `rotateWebhookSecret`
/// - Path: of the webhook
/// - 200: `WebhookSecretRotated`. The webhook and its new secret.
/// - Refused: `WebhookNotFound`
pub(crate) async fn rotate_secret(caller: Caller, path: PathId) -> Result<Response, Rejection> {
    let id = caller.accept(path.record_id(Error::webhook_not_found)).await?;
    let request = RotateWebhookSecretRequest { id };
    let rotated = caller.call(request, |core, request| core.webhooks.rotate_webhook_secret(request)).await?;
    let envelope = Envelope::written(ResultCode::Saved, "Secret rotated successfully.", &rotated.message);
    Ok(respond(StatusCode::OK, &envelope))
}

/// Test a webhook
///
/// Sends a message of the type `test` immediately, even to a disabled webhook, and waits for the endpoint's response.
///
/// - Operation: `testWebhook`
/// - Path: of the webhook
/// - 200: `WebhookTested`. The result. If `error` is absent, the endpoint accepted the message.
/// - Refused: `WebhookNotFound`
pub(crate) async fn test(caller: Caller, path: PathId) -> Result<Response, Rejection> {
    let id = caller.accept(path.record_id(Error::webhook_not_found)).await?;
    let response = caller.call(TestWebhookRequest { id }, |core, request| core.webhooks.test_webhook(request)).await?;
    response.found(&caller, "Webhook tested.", |tested| tested)
}

/// List deliveries
///
/// Returns the last attempts to deliver changes to a webhook, newest first, without the messages. The service keeps the last 1,000
/// attempts of each webhook.
///
/// - Operation: `listWebhookDeliveries`
/// - Path: of the webhook
/// - Query: `ListWebhookDeliveriesRequest`
/// - 200: `WebhookDeliveriesFound`. The attempts; an empty list if there are none.
/// - Refused: `WebhookNotFound`
pub(crate) async fn deliveries(caller: Caller, path: PathId, query: Query) -> Result<Response, Rejection> {
    let request = caller.accept(query.of_record(&path, Error::webhook_not_found)).await?;
    let response = caller.call(request, |core, request| core.webhooks.list_webhook_deliveries(request)).await?;
    response.found(&caller, "Deliveries found", |found| &found.deliveries)
}
