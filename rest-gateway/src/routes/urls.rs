//! `/urls`

use axum::{extract::RawQuery, response::Response};
use compliance_api::{
    error::Error,
    v1::{GetComplianceUrlRequest, UrlResult},
};
use http::StatusCode;

use super::text;
use crate::{
    caller::Caller,
    envelope::{Detail, Envelope, respond},
    error::Refusal,
    extract::{body::RequestBody, path::PathId, query, urls},
};

pub(crate) async fn list(caller: Caller, RawQuery(query): RawQuery) -> Result<Response, Refusal> {
    let request = caller.accept(query::urls(query.as_deref())).await?;
    let (page, rate_limit) = caller.call(request, |core, request| core.urls.list_compliance_urls(request)).await?;
    Ok(respond(StatusCode::OK, rate_limit, &Envelope::found(text::URLS_FOUND, &page.urls, page.meta)))
}

pub(crate) async fn get(caller: Caller, path: PathId) -> Result<Response, Refusal> {
    let id = caller.accept(path.record_id(Error::url_not_found)).await?;
    let request = GetComplianceUrlRequest { id };
    let (url, rate_limit) = caller.call(request, |core, request| core.urls.get_compliance_url(request)).await?;
    Ok(respond(StatusCode::OK, rate_limit, &Envelope::found(text::URL_FOUND, &url, None)))
}

pub(crate) async fn add(body: RequestBody) -> Result<Response, Refusal> {
    let request = body.read(urls::add).await?;
    let result = body.caller.call(request, |core, request| core.urls.add_compliance_urls(request)).await;
    let (added, rate_limit) = body.with_all_violations(result, urls::add).await?;
    Ok(respond(StatusCode::CREATED, rate_limit, &added.results.iter().map(envelope).collect::<Vec<_>>()))
}

fn envelope(result: &UrlResult) -> Envelope<'_> {
    let detail = Detail { url_id: result.url_id, msg: &result.msg, ..Detail::default() };
    Envelope::result(result.code, detail)
}
