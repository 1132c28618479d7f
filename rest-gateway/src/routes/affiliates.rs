//! `/affiliates`

use std::sync::Arc;

use axum::{extract::State, response::Response};
use compliance_api::{
    error::{Error, ResultCode},
    v1::{
        AffiliateResult, BatchCreateAffiliatesRequest, BatchUpdateAffiliatesRequest, CreateAffiliateRequest,
        GetAffiliateRequest, ListAffiliatesRequest, UpdateAffiliateRequest,
    },
};
use futures::{StreamExt as _, stream};
use http::{HeaderValue, StatusCode, header::LOCATION};
use http_server::FinishBy;
use tokio::time::Instant;

use super::text;
use crate::{
    caller::{Caller, Opened},
    envelope::{Detail, Envelope, respond, respond_with},
    error::Refusal,
    extract::{
        affiliates::{self, Create, Update},
        body::RequestBody,
        path::PathId,
    },
    found::respond_found,
    gateway::Gateway,
    rate_limit::RateLimit,
    stream::list_body,
};

pub(crate) async fn list(State(gateway): State<Arc<Gateway>>, caller: Caller) -> Result<Response, Refusal> {
    let timeout = gateway.settings.list_timeout;
    let deadline = Instant::now() + timeout;
    let caller = caller.with_timeout(timeout);
    let list = caller.open(ListAffiliatesRequest {}, 1, |core, request| core.affiliates.list_affiliates(request));
    let Opened { first, rest, rate_limit, .. } = list.await?;
    let messages = stream::iter(first.into_iter().map(Ok)).chain(rest).boxed();
    let body = list_body(text::AFFILIATES_FOUND, messages, None, (), deadline);
    let mut response = respond_with(StatusCode::OK, rate_limit, body);
    // A client that does not read never polls the body, so the body itself cannot end in time.
    response.extensions_mut().insert(FinishBy(deadline));
    Ok(response)
}

pub(crate) async fn get(caller: Caller, path: PathId) -> Result<Response, Refusal> {
    let request = GetAffiliateRequest { id: caller.accept(path.record_id(Error::affiliate_not_found)).await? };
    let read = caller.read(request, |core, request| core.affiliates.get_affiliate(request));
    let (affiliate, rate_limit, memory) = read.await?;
    respond_found(&caller, rate_limit, memory, 0, &Envelope::found(text::AFFILIATE_FOUND, &affiliate, None))
}

pub(crate) async fn create(mut body: RequestBody) -> Result<Response, Refusal> {
    let result = match body.read(affiliates::create).await? {
        Create::One(request) => Box::pin(create_one(&body, *request)).await,
        Create::Batch(request) => create_batch(&body, request).await,
    };
    let response = body.with_all_violations(result, affiliates::create)?;
    Ok(body.respond(response))
}

async fn create_one(body: &RequestBody, request: CreateAffiliateRequest) -> Result<Response, Refusal> {
    let call = body.call(request, |core, request| core.affiliates.create_affiliate(request));
    let (created, rate_limit) = call.await?;
    let detail = Detail {
        affiliate_id: Some(created.affiliate_id),
        client_affiliate_id: Some(&created.client_affiliate_id),
        msg: text::AFFILIATE_CREATED,
        ..Detail::default()
    };
    let mut response = respond(StatusCode::CREATED, rate_limit, &Envelope::result(ResultCode::Saved, detail));
    if let Ok(path) = HeaderValue::try_from(format!("/api/affiliates/{}", created.affiliate_id)) {
        response.headers_mut().insert(LOCATION, path);
    }
    Ok(response)
}

async fn create_batch(body: &RequestBody, request: BatchCreateAffiliatesRequest) -> Result<Response, Refusal> {
    let call = body.call(request, |core, request| core.affiliates.batch_create_affiliates(request));
    let (created, rate_limit) = call.await?;
    Ok(body.compute(|| respond_to_batch(StatusCode::CREATED, rate_limit, &created.results)))
}

pub(crate) async fn update(path: PathId, mut body: RequestBody) -> Result<Response, Refusal> {
    let parse = move |body: &[u8], memory| affiliates::update(body, memory, &path);
    let result = match body.read(parse.clone()).await? {
        Update::One(request) => Box::pin(update_one(&body, *request)).await,
        Update::Batch(request) => update_batch(&body, request).await,
    };
    let response = body.with_all_violations(result, parse)?;
    Ok(body.respond(response))
}

async fn update_one(body: &RequestBody, request: UpdateAffiliateRequest) -> Result<Response, Refusal> {
    let call = body.call(request, |core, request| core.affiliates.update_affiliate(request));
    let (updated, rate_limit) = call.await?;
    let detail = Detail { affiliate_id: Some(updated.affiliate_id), msg: text::AFFILIATE_UPDATED, ..Detail::default() };
    Ok(respond(StatusCode::OK, rate_limit, &Envelope::result(ResultCode::Saved, detail)))
}

async fn update_batch(body: &RequestBody, request: BatchUpdateAffiliatesRequest) -> Result<Response, Refusal> {
    let call = body.call(request, |core, request| core.affiliates.batch_update_affiliates(request));
    let (updated, rate_limit) = call.await?;
    Ok(body.compute(|| respond_to_batch(StatusCode::OK, rate_limit, &updated.results)))
}

/// Responds with `success` if every item succeeded, otherwise with 207.
fn respond_to_batch(success: StatusCode, rate_limit: RateLimit, results: &[AffiliateResult]) -> Response {
    let saved = i32::from(ResultCode::Saved);
    let status = if results.iter().all(|result| result.code == saved) { success } else { StatusCode::MULTI_STATUS };
    respond(status, rate_limit, &results.iter().map(envelope).collect::<Vec<_>>())
}

fn envelope(result: &AffiliateResult) -> Envelope<'_> {
    let detail = Detail {
        affiliate_id: result.affiliate_id,
        client_affiliate_id: result.client_affiliate_id.as_deref(),
        msg: &result.msg,
        ..Detail::default()
    };
    Envelope::result(result.code, detail)
}
