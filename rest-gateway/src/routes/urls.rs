//! `/urls`

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::Response,
};
use compliance_api::{error::Error, in_process::Slot, v1::UrlResult};
use http::{StatusCode, Uri};

use super::text;
use crate::{
    context::Caller,
    envelope::{Detail, Envelope, respond},
    error::Refusal,
    extract::{body::enter, path::PathId, query, urls},
    gateway::Gateway,
    reads::read,
};

pub(crate) async fn list(State(gateway): State<Arc<Gateway>>, caller: Caller, uri: Uri) -> Result<Response, Refusal> {
    let request = match query::urls(uri.query()) {
        Ok(request) => request,
        Err(error) => return Err(caller.refuse(&gateway, error).await),
    };
    let mut client = gateway.urls.clone();
    let mut request = caller.request(request);
    let slot = Slot::beside(&mut request);
    let (page, rate) = caller.call(client.list_compliance_urls(request)).await?;
    let page = slot.or_sent(page);
    Ok(respond(StatusCode::OK, rate, &Envelope::found(text::URLS_FOUND, &page.urls, page.meta)))
}

pub(crate) async fn get(State(gateway): State<Arc<Gateway>>, caller: Caller, uri: Uri) -> Result<Response, Refusal> {
    let path = PathId::of(uri.path());
    let Some(id) = path.possible() else {
        return Err(caller.refuse(&gateway, Error::url_not_found(path.text)).await);
    };
    let (url, rate) = read(&gateway.url, caller.wants(id), Error::url_not_found).await?;
    Ok(respond(StatusCode::OK, rate, &Envelope::found(text::URL_FOUND, &*url, None)))
}

pub(crate) async fn add(State(gateway): State<Arc<Gateway>>, request: Request) -> Result<Response, Refusal> {
    let entered = enter(&gateway, request).await?;
    let memory = gateway.settings.message_memory();
    let parse = move |body: &[u8]| urls::add(body, memory);
    let request = entered.form(parse).await?;
    let mut client = gateway.urls.clone();
    let mut request = gateway.large(entered.caller.request(request));
    let slot = Slot::beside(&mut request);
    match entered.caller.call(client.add_compliance_urls(request)).await {
        Ok((done, rate)) => Ok(respond(StatusCode::CREATED, rate, &results(&slot.or_sent(done).results))),
        Err(refusal) => Err(entered.told_whole(refusal, parse).await),
    }
}

fn results(results: &[UrlResult]) -> Vec<Envelope<'_, ()>> {
    let envelopes = results.iter().map(|result| {
        let detail = Detail { url_id: result.url_id, msg: &result.msg, ..Detail::default() };
        Envelope::result(result.code, detail)
    });
    envelopes.collect()
}
