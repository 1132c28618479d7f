//! `/urls`

use std::sync::Arc;

use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use compliance_api::{
    error::Error,
    v1::{ComplianceUrl, GetComplianceUrlRequest, StreamComplianceUrlsRequest, UrlResult},
};
use futures::{StreamExt as _, stream};
use http::StatusCode;
use http_server::FinishBy;
use tokio::time::Instant;

use super::text;
use crate::{
    caller::{Caller, Opened},
    envelope::{Detail, Envelope, respond, respond_with},
    error::Refusal,
    extract::{body::RequestBody, path::PathId, query, urls},
    found::respond_found,
    gateway::Gateway,
    stream::list_body,
};

/// What a large page takes in memory: a record as a message and as JSON, each of which can be encoded yet.
const PAGE_MEMORY: usize = 16 << 20;

pub(crate) async fn list(
    State(gateway): State<Arc<Gateway>>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let list = caller.accept(query::urls(query.as_deref())).await?;
    let timeout = gateway.settings.list_timeout;
    let deadline = Instant::now() + timeout;
    let caller = caller.with_timeout(timeout);
    let request = StreamComplianceUrlsRequest { list: Some(list) };
    let opened = caller.open(request, 2, |core, request| core.urls.stream_compliance_urls(request)).await?;
    let Opened { first, rest, rate_limit, memory } = opened;
    let mut first = first.into_iter();
    let Some(page) = first.next() else {
        return Err(Refusal { error: Error::internal(), rate_limit });
    };
    let Some(next) = first.next() else {
        let found = Envelope::found(text::URLS_FOUND, &page.urls, page.meta);
        return respond_found(&caller, rate_limit, memory, page.urls.iter().map(transcript).sum(), &found);
    };
    let mut own = caller.memory();
    if let Err(full) = own.grow(PAGE_MEMORY) {
        return Err(Refusal { error: full.into(), rate_limit });
    }
    let meta = page.meta;
    let messages = stream::iter([Ok(page), Ok(next)]).chain(rest).boxed();
    let body = list_body(text::URLS_FOUND, messages, meta, (memory, own), deadline);
    let mut response = respond_with(StatusCode::OK, rate_limit, body);
    // A client that does not read never polls the body, so the body itself cannot end in time.
    response.extensions_mut().insert(FinishBy(deadline));
    Ok(response)
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
    let result = body.call(request, |core, request| core.urls.add_compliance_urls(request)).await;
    let (added, rate_limit) = body.with_all_violations(result, urls::add)?;
    let results = || added.results.iter().map(envelope).collect::<Vec<_>>();
    let response = body.compute(|| respond(StatusCode::CREATED, rate_limit, &results()));
    Ok(body.respond(response))
}

fn envelope(result: &UrlResult) -> Envelope<'_> {
    let detail = Detail { url_id: result.url_id, msg: &result.msg, ..Detail::default() };
    Envelope::result(result.code, detail)
}
