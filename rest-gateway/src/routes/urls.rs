//! `/urls`

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::Response,
};
use compliance_api::{
    error::Error,
    v1::{GetComplianceUrlRequest, UrlResult},
};
use http::{StatusCode, Uri};

use super::text;
use crate::{
    context::Caller,
    envelope::{Detail, Envelope, respond},
    error::Refusal,
    extract::{body::enter, path::PathId, query, urls},
    gateway::Gateway,
};

pub(crate) async fn list(State(gateway): State<Arc<Gateway>>, caller: Caller, uri: Uri) -> Result<Response, Refusal> {
    let request = match query::urls(uri.query()) {
        Ok(request) => request,
        Err(error) => return Err(caller.refuse(&gateway, error).await),
    };
    let client = &gateway.clients.urls;
    let request = caller.request(request);
    let (page, rate) = caller.call(client.list_compliance_urls(request)).await?;
    Ok(respond(StatusCode::OK, rate, &Envelope::found(text::URLS_FOUND, &page.urls, page.meta)))
}

pub(crate) async fn get(State(gateway): State<Arc<Gateway>>, caller: Caller, uri: Uri) -> Result<Response, Refusal> {
    let path = PathId::of(uri.path());
    let Some(id) = path.possible() else {
        return Err(caller.refuse(&gateway, Error::url_not_found(path.text)).await);
    };
    let call = gateway.clients.urls.get_compliance_url(caller.request(GetComplianceUrlRequest { id }));
    let (url, rate) = caller.call(call).await?;
    Ok(respond(StatusCode::OK, rate, &Envelope::found(text::URL_FOUND, &url, None)))
}

pub(crate) async fn add(State(gateway): State<Arc<Gateway>>, request: Request) -> Result<Response, Refusal> {
    let entered = enter(&gateway, request).await?;
    let memory = gateway.settings.message_memory();
    let parse = move |body: &[u8]| urls::add(body, memory);
    let request = entered.form(parse).await?;
    let client = &gateway.clients.urls;
    let request = entered.caller.request(request);
    match entered.caller.call(client.add_compliance_urls(request)).await {
        Ok((done, rate)) => Ok(respond(StatusCode::CREATED, rate, &results(&done.results))),
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
