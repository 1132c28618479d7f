//! `/urls`

use std::sync::Arc;

use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use compliance_api::{
    error::Error,
    v1::{ComplianceUrl, GetComplianceUrlRequest, ListComplianceUrlsRequest, UrlResult},
};
use http::StatusCode;
use http_server::FinishBy;
use tokio::time::Instant;

use super::text;
use crate::{
    caller::Caller,
    envelope::{Detail, Envelope, respond, respond_with},
    error::Refusal,
    extract::{body::RequestBody, path::PathId, query, urls},
    found::respond_found,
    gateway::Gateway,
    stream::url_page_body,
};

/// What a page that is read in parts takes in memory: a part of 4 MiB as the core reads it, as a message, and as JSON.
const PAGE_MEMORY: usize = 16 << 20;

pub(crate) async fn list(
    State(gateway): State<Arc<Gateway>>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let request = caller.accept(query::urls(query.as_deref())).await?;
    let request = ListComplianceUrlsRequest { large_as_ids: true, ..request };
    let read = caller.read(request, |core, request| core.urls.list_compliance_urls(request));
    let (page, rate_limit, memory) = read.await?;
    if !page.ids.is_empty() {
        let mut memory = caller.memory();
        if let Err(full) = memory.grow(PAGE_MEMORY) {
            return Err(Refusal { error: full.into(), rate_limit });
        }
        let deadline = Instant::now() + gateway.settings.list_timeout;
        let body = url_page_body(text::URLS_FOUND, caller, page.ids, page.meta, memory, deadline);
        let mut response = respond_with(StatusCode::OK, rate_limit, body);
        response.extensions_mut().insert(FinishBy(deadline));
        return Ok(response);
    }
    let found = Envelope::found(text::URLS_FOUND, &page.urls, page.meta);
    respond_found(&caller, rate_limit, memory, page.urls.iter().map(transcript).sum(), &found)
}

pub(crate) async fn get(caller: Caller, path: PathId) -> Result<Response, Refusal> {
    let id = caller.accept(path.record_id(Error::url_not_found)).await?;
    let request = GetComplianceUrlRequest { id };
    let read = caller.read(request, |core, request| core.urls.get_compliance_url(request));
    let (url, rate_limit, memory) = read.await?;
    respond_found(&caller, rate_limit, memory, transcript(&url), &Envelope::found(text::URL_FOUND, &url, None))
}

/// The bytes of a transcript, which makes a record long.
fn transcript(url: &ComplianceUrl) -> usize {
    url.transcription_text.as_ref().map_or(0, String::len)
}

pub(crate) async fn add(mut body: RequestBody) -> Result<Response, Refusal> {
    let request = body.read(urls::add).await?;
    let result = body.caller.call(request, |core, request| core.urls.add_compliance_urls(request)).await;
    let (added, rate_limit) = body.with_all_violations(result, urls::add)?;
    let results = || added.results.iter().map(envelope).collect::<Vec<_>>();
    let response = body.compute(|| respond(StatusCode::CREATED, rate_limit, &results()));
    Ok(body.respond(response))
}

fn envelope(result: &UrlResult) -> Envelope<'_> {
    let detail = Detail { url_id: result.url_id, msg: &result.msg, ..Detail::default() };
    Envelope::result(result.code, detail)
}
