//! `/urls`

use std::mem::take;

use axum::response::Response;
use compliance_api::{
    error::Error,
    v1::{AddComplianceUrlsRequest, AddComplianceUrlsResponse, ComplianceUrl, StreamComplianceUrlsRequest, UrlInput},
};
use futures::{StreamExt as _, stream};
use http::StatusCode;
use spreadsheets::Empty;

use crate::{
    accept::{Format, varied},
    caller::{Caller, CoreResponse, Opened},
    envelope::{
        Detail, Envelope, NO_KNOWN_FIELD, OfFile, Rejection, respond, respond_saved, respond_tagged, results,
        with_affiliate, with_etag,
    },
    extract::{
        bodies::{add_urls, review_url},
        body::RequestBody,
        request::Query,
    },
    head::{IfMatch, IfNoneMatch, PathId},
    limits::PAGE_MEMORY,
    streamed::{ListFormat, respond_list, respond_opened},
};

/// Message in list responses.
const FOUND: &str = "URLs found";

/// List compliance URLs
///
/// Returns one page of the URLs that match all filters. Ties are sorted by ID in the same direction; URLs without the date come last
/// in both directions. A page past the end is empty.
///
/// With `Accept: application/x-ndjson` or `text/csv`, the response is a stream of all URLs that match, by ascending ID. These formats
/// do not accept `sort_by`, `sort_dir`, `per_page` and `page`; only they accept `changed_after`. If the connection ends early, the
/// list is incomplete.
///
/// - Operation: `listUrls`
/// - Query: `ListComplianceUrlsRequest`, `ListAllComplianceUrlsRequest.changed_after`
/// - 200: `UrlList`, `application/x-ndjson`, `text/csv`. The page, or the whole list.
/// - Refused: `PositionRestored`, `PositionGone`
pub(crate) async fn list(caller: Caller, format: Format, query: Query) -> Result<Response, Rejection> {
    let response = match format {
        Format::Json => list_page(caller, &query).await?,
        format => list_all(caller, format, &query).await?,
    };
    Ok(varied(response))
}

async fn list_all(caller: Caller, format: Format, query: &Query) -> Result<Response, Rejection> {
    let request = caller.accept(query.whole_list()).await?;
    let (caller, deadline) = caller.for_list();
    let list = caller.open(request, 1, |core, request| core.urls.list_all_compliance_urls(request)).await?;
    Ok(respond_opened(ListFormat::of(format, FOUND, "ComplianceUrl"), list, |message| &message.urls, deadline))
}

async fn list_page(caller: Caller, query: &Query) -> Result<Response, Rejection> {
    let list = caller.accept(query.page()).await?;
    let (caller, deadline) = caller.for_list();
    let request = StreamComplianceUrlsRequest { list: Some(list) };
    let opened = caller.open(request, 2, |core, request| core.urls.stream_compliance_urls(request)).await?;
    let Opened { first, rest, memory } = opened;
    let mut first = first.into_iter();
    let page = first.next().ok_or_else(Error::internal)?;
    let Some(next) = first.next() else {
        let bytes = page.urls.iter().map(transcript).sum();
        return CoreResponse { message: page, memory }
            .respond(&caller, bytes, |page| respond(StatusCode::OK, &Envelope::found(FOUND, &page.urls, page.meta)));
    };
    let mut own = caller.memory();
    own.grow(PAGE_MEMORY).map_err(Error::from)?;
    let document = ListFormat::envelope(FOUND, page.meta);
    let messages = stream::iter([Ok(page), Ok(next)]).chain(rest).boxed();
    Ok(respond_list(document, messages, |message| &message.urls, (memory, own), deadline))
}

/// Read a compliance URL
///
/// Returns one URL by its ID, as it is now or, with `as_of`, as it was at the end of that second.
///
/// - Operation: `getUrl`
/// - Path: of the URL
/// - Query: `GetComplianceUrlRequest`
/// - Header: `If-None-Match`
/// - 200: `UrlFound`, `ETag`. The URL.
/// - 304: `ETag`. The URL has not changed.
/// - Refused: `UrlNotFound`, `PositionGone`, `BodyTooLarge`
pub(crate) async fn get(
    caller: Caller,
    path: PathId,
    if_none_match: IfNoneMatch,
    query: Query,
) -> Result<Response, Rejection> {
    let request = caller.accept(query.of_record(&path, Error::url_not_found)).await?;
    let mut read = caller.call(request, |core, request| core.urls.get_compliance_url(request)).await?;
    let bytes = transcript(&read.message);
    let etag = with_affiliate(take(&mut read.message.etag), &read.message.affiliate_etag);
    read.respond(&caller, bytes, |url| respond_tagged(&Envelope::found("URL found.", url, None), &etag, &if_none_match))
}

/// Review a URL
///
/// Saves the result of a review: changes the fields that you send, and sets `last_review_date` to now. Null and `""` clear an
/// optional field. `infractions` replaces all infractions of the URL. A request without fields changes nothing. With `If-Match`, the
/// service changes the URL only if it still has one of these etags.
///
/// - Operation: `reviewUrl`
/// - Path: of the URL
/// - Header: `If-Match`
/// - Body: `UrlReview`
/// - 200: `UrlReviewed`, `ETag`. The URL has the values that you sent.
/// - Refused: `UrlNotFound`, `EtagMismatch`
pub(crate) async fn review(path: PathId, if_match: IfMatch, mut body: RequestBody) -> Result<Response, Rejection> {
    let request = body.read(|input| review_url(input, &path, &if_match)).await?;
    let call = body.caller.call_checked(request, |core, request| core.monitoring.review_url(request));
    let reviewed = call.await?.message;
    let msg = if body.is_unknown { NO_KNOWN_FIELD } else { "URL reviewed." };
    let detail = Detail { url_id: Some(reviewed.url_id), msg, ..Detail::default() };
    let etag = with_affiliate(reviewed.etag, &reviewed.affiliate_etag);
    Ok(body.respond(with_etag(respond_saved(StatusCode::OK, detail), &etag)))
}

/// Returns the transcript's length. Transcripts can make a record large.
fn transcript(url: &ComplianceUrl) -> usize {
    url.transcription_text.as_ref().map_or(0, String::len)
}

/// Search compliance URLs
///
/// Returns the newest URLs that contain all words of `q`. The URL with exactly this text or ID comes first. The service reads the company's
/// records until it has found `limit` URLs, so a search with few matches takes longer.
///
/// - Operation: `searchUrls`
/// - Query: `SearchComplianceUrlsRequest`
/// - 200: `UrlsFound`. The URLs; an empty list if there are none.
/// - Refused: `BodyTooLarge`
pub(crate) async fn search(caller: Caller, query: Query) -> Result<Response, Rejection> {
    let request = caller.accept(query.request()).await?;
    let read = caller.call(request, |core, request| core.urls.search_compliance_urls(request)).await?;
    let bytes = read.message.urls.iter().map(transcript).sum();
    read.respond(&caller, bytes, |found| respond(StatusCode::OK, &Envelope::found(FOUND, &found.urls, None)))
}

/// Add compliance URLs
///
/// Adds URLs to monitor. The service skips a URL that the company already has (1023). It compares URLs in their normalized form: the
/// scheme and the host in lower case, without the default port, and with `/` for an empty path. With `validate_only`, the response is
/// the same, without IDs, and the service saves nothing.
///
/// The body can also be a file with a URL in each row: CSV or an Excel workbook, with the heading `url`. Each result also has the `row` of
/// the file, and the first result has `notes` about what the service skipped. If a row has no valid URL, you get 422 for the whole
/// file: `violations` names each such row.
///
/// - Operation: `addUrls`
/// - Body: `UrlsAdd`
/// - File: `AddComplianceUrlsRequest`
/// - 201: `[UrlAdded | UrlValid | UrlDuplicate]`. One result per element, in the order sent. The status is 201 even if the
///   service skipped URLs.
pub(crate) async fn add(mut body: RequestBody) -> Result<Response, Rejection> {
    if body.is_file() {
        return add_from_file(body).await;
    }
    let request = body.read(add_urls).await?;
    let added = body.caller.call(request, |core, request| core.urls.add_compliance_urls(request)).await?.message;
    Ok(respond_added(body, &added, OfFile::default()))
}

/// Adds a URL for every row, or none at all.
async fn add_from_file(mut body: RequestBody) -> Result<Response, Rejection> {
    let (request, mut rows) = body.rows(&["url"], Empty::Absent, |url: UrlInput| url).await?;
    if let Some(refusal) = rows.refusal(&body.caller, "urls").await {
        return Ok(refusal);
    }
    let request = AddComplianceUrlsRequest { urls: take(&mut rows.records), ..request };
    let added = body.caller.call(request, |core, request| core.urls.add_compliance_urls(request)).await?.message;
    Ok(respond_added(body, &added, rows.of_file()))
}

/// Returns the response to added URLs.
fn respond_added(body: RequestBody, added: &AddComplianceUrlsResponse, file: OfFile<'_>) -> Response {
    let items = added
        .results
        .iter()
        .map(|result| (result.code, Detail { url_id: result.url_id, msg: &result.msg, ..Detail::default() }));
    let response = body.compute(|| respond(StatusCode::CREATED, &results(items, file)));
    body.respond(response)
}
