//! `/cases`

pub(crate) mod work;

use axum::response::Response;
use compliance_api::{error::Error, v1::GetComplianceCaseRequest};

use crate::{
    accept::{Format, varied},
    caller::Caller,
    envelope::{Envelope, respond_tagged},
    error::Refusal,
    extract::{checked::id_with, path::PathId, query::Query},
    found::{respond_found, respond_holding},
    stream::{ListFormat, respond_opened},
    tags::IfNoneMatch,
};

/// The message of a list.
const FOUND: &str = "Cases found";

/// List compliance cases
///
/// One page of the cases that match every filter, each with its affiliate's current data and its incidents. Ties
/// are sorted by ID in the same direction. A page past the end is empty.
///
/// With `Accept: application/x-ndjson` or `text/csv` the response is a stream of all cases that match, by ID ascending. `sort_by`,
/// `sort_dir`, `per_page` and `page` are refused then, as `changed_after` is without. If the connection ends early, the list is incomplete.
///
/// - Operation: `listCases`
/// - Query: `ListComplianceCasesRequest`, `ListAllComplianceCasesRequest.changed_after`
/// - 200: `CaseList`, `application/x-ndjson`, `text/csv`. The page, or the whole list.
/// - Refused: `PositionRestored`, `PositionGone`
pub(crate) async fn list(caller: Caller, format: Format, query: Query) -> Result<Response, Refusal> {
    let response = match format {
        Format::Json => list_page(caller, &query).await?,
        format => list_all(caller, format, &query).await?,
    };
    Ok(varied(response))
}

async fn list_all(caller: Caller, format: Format, query: &Query) -> Result<Response, Refusal> {
    let request = caller.accept(query.whole_list()).await?;
    let (caller, deadline) = caller.for_list();
    let list = caller.open(request, 1, |core, request| core.cases.list_all_compliance_cases(request)).await?;
    Ok(respond_opened(ListFormat::of(format, FOUND, "ComplianceCase"), list, |message| &message.cases, deadline))
}

async fn list_page(caller: Caller, query: &Query) -> Result<Response, Refusal> {
    let request = caller.accept(query.page()).await?;
    let read = caller.call(request, |core, request| core.cases.list_compliance_cases(request));
    let (page, rate_limit, held) = read.await?;
    respond_found(&caller, rate_limit, held, 0, &Envelope::found(FOUND, &page.cases, page.meta))
}

/// Read a compliance case
///
/// One case by its ID, as it is now or as it was at the end of a second.
///
/// - Operation: `getCase`
/// - Path: of the case
/// - Query: `GetComplianceCaseRequest`
/// - Header: `If-None-Match`
/// - 200: `CaseFound`, `ETag`. The case.
/// - 304: `ETag`. It has not changed.
/// - Refused: `CaseNotFound`, `PositionGone`, `BodyTooLarge`
pub(crate) async fn get(
    caller: Caller,
    path: PathId,
    if_none_match: IfNoneMatch,
    query: Query,
) -> Result<Response, Refusal> {
    let sent: GetComplianceCaseRequest = caller.accept(query.request()).await?;
    let id = caller.accept(id_with(path, &sent, Error::case_not_found)).await?;
    let request = GetComplianceCaseRequest { id, ..sent };
    let read = caller.call(request, |core, request| core.cases.get_compliance_case(request));
    let (mut case, rate_limit, held) = read.await?;
    let etag = std::mem::take(&mut case.etag);
    let found = Envelope::found("Case found.", &case, None);
    // It shows its affiliate's data, too.
    respond_holding(&caller, held, 0, || respond_tagged(rate_limit, &found, etag, false, &if_none_match))
}
