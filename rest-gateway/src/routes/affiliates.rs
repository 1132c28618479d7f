//! `/affiliates`

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::Response,
};
use compliance_api::{
    error::{Error, ResultCode},
    v1::{AffiliateResult, GetAffiliateRequest, ListAffiliatesRequest},
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::{StatusCode, Uri};

use super::text;
use crate::{
    context::Caller,
    envelope::{Detail, Envelope, respond, respond_with},
    error::Refusal,
    extract::{
        affiliates::{self, Create, Update},
        body::enter,
        path::PathId,
    },
    gateway::Gateway,
    stream::list_body,
};

pub(crate) async fn list(State(gateway): State<Arc<Gateway>>, caller: Caller) -> Result<Response, Refusal> {
    let within = gateway.settings.list_timeout;
    let deadline = tokio::time::Instant::now() + within;
    let client = &gateway.clients.affiliates;
    let request = caller.request_within(within, ListAffiliatesRequest {});
    let (mut messages, rate_limit) = caller.call(client.list_affiliates(request)).await?;
    // An error that comes before the first record still gets the status that it deserves.
    let first = caller.wait(messages.try_next()).await;
    let first = first.map_err(|refusal| Refusal { rate_limit: rate_limit.clone(), ..refusal })?;
    let messages = stream::iter(first.map(Ok)).chain(messages);
    let body = list_body(text::AFFILIATES_FOUND, messages, deadline);
    Ok(respond_with(StatusCode::OK, rate_limit, body))
}

pub(crate) async fn get(State(gateway): State<Arc<Gateway>>, caller: Caller, uri: Uri) -> Result<Response, Refusal> {
    let path = PathId::of(uri.path());
    let Some(id) = path.possible() else {
        return Err(caller.refuse(&gateway, Error::affiliate_not_found(path.text)).await);
    };
    let call = gateway.clients.affiliates.get_affiliate(caller.request(GetAffiliateRequest { id }));
    let (affiliate, rate) = caller.call(call).await?;
    Ok(respond(StatusCode::OK, rate, &Envelope::found(text::AFFILIATE_FOUND, &affiliate, None)))
}

pub(crate) async fn create(State(gateway): State<Arc<Gateway>>, request: Request) -> Result<Response, Refusal> {
    let entered = enter(&gateway, request).await?;
    let memory = gateway.settings.message_memory();
    let parse = move |body: &[u8]| affiliates::create(body, memory);
    let client = &gateway.clients.affiliates;
    let caller = &entered.caller;
    let answered = match entered.form(parse).await? {
        Create::One(request) => {
            Box::pin(caller.call(client.create_affiliate(caller.request(*request)))).await.map(|(created, rate)| {
                let detail = Detail {
                    affiliate_id: Some(created.affiliate_id),
                    client_affiliate_id: Some(&created.client_affiliate_id),
                    msg: text::AFFILIATE_CREATED,
                    ..Detail::default()
                };
                respond(StatusCode::CREATED, rate, &Envelope::result(ResultCode::Saved, detail))
            })
        }
        Create::Batch(request) => {
            let request = caller.request(request);
            let call = client.batch_create_affiliates(request);
            caller.call(call).await.map(|(done, rate)| {
                respond(batch_status(StatusCode::CREATED, &done.results), rate, &results(&done.results))
            })
        }
    };
    match answered {
        Ok(response) => Ok(response),
        Err(refusal) => Err(entered.told_whole(refusal, parse).await),
    }
}

pub(crate) async fn update(State(gateway): State<Arc<Gateway>>, request: Request) -> Result<Response, Refusal> {
    let entered = enter(&gateway, request).await?;
    let (path, memory) = (PathId::of(entered.parts.uri.path()), gateway.settings.message_memory());
    let parse = move |body: &[u8]| affiliates::update(body, &path, memory);
    let client = &gateway.clients.affiliates;
    let caller = &entered.caller;
    let answered = match entered.form(parse.clone()).await? {
        Update::One(request) => {
            Box::pin(caller.call(client.update_affiliate(caller.request(*request)))).await.map(|(updated, rate)| {
                let detail = Detail {
                    affiliate_id: Some(updated.affiliate_id),
                    msg: text::AFFILIATE_UPDATED,
                    ..Detail::default()
                };
                respond(StatusCode::OK, rate, &Envelope::result(ResultCode::Saved, detail))
            })
        }
        Update::Batch(request) => {
            let request = caller.request(request);
            let call = client.batch_update_affiliates(request);
            caller
                .call(call)
                .await
                .map(|(done, rate)| respond(batch_status(StatusCode::OK, &done.results), rate, &results(&done.results)))
        }
    };
    match answered {
        Ok(response) => Ok(response),
        Err(refusal) => Err(entered.told_whole(refusal, parse).await),
    }
}

/// `good` when every item succeeded, else 207.
fn batch_status(good: StatusCode, results: &[AffiliateResult]) -> StatusCode {
    let saved = i32::from(ResultCode::Saved);
    if results.iter().all(|result| result.code == saved) { good } else { StatusCode::MULTI_STATUS }
}

fn results(results: &[AffiliateResult]) -> Vec<Envelope<'_, ()>> {
    let envelopes = results.iter().map(|result| {
        let detail = Detail {
            affiliate_id: result.affiliate_id,
            client_affiliate_id: result.client_affiliate_id.as_deref(),
            url_id: None,
            msg: &result.msg,
        };
        Envelope::result(result.code, detail)
    });
    envelopes.collect()
}
