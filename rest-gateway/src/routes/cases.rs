//! `/cases`

use std::mem::take;

use axum::response::Response;
use compliance_api::{error::Error, v1::IncidentResult};
use http::StatusCode;

use crate::{
    accept::{Format, varied},
    caller::Caller,
    envelope::{
        Detail, Envelope, NO_KNOWN_FIELD, OfFile, Rejection, respond, respond_saved, respond_tagged, respond_to_items,
        with_affiliate, with_etag, with_location,
    },
    extract::{bodies, body::RequestBody, request::Query},
    head::{IfMatch, IfNoneMatch, PathId},
    streamed::{ListFormat, respond_opened},
};

/// Message in list responses.
const FOUND: &str = "Cases found";

/// List compliance cases
///
/// Returns one page of the cases that match all filters, each with its incidents and the current data of its affiliate. Ties are
/// sorted by ID in the same direction. A page past the end is empty.
///
/// With `Accept: application/x-ndjson` or `text/csv`, the response is a stream of all cases that match, by ascending ID. These
/// formats do not accept `sort_by`, `sort_dir`, `per_page` and `page`; only they accept `changed_after`. If the connection ends
/// early, the list is incomplete.
///
/// - Operation: `listCases`
/// - Query: `ListComplianceCasesRequest`, `ListAllComplianceCasesRequest.changed_after`
/// - 200: `CaseList`, `application/x-ndjson`, `text/csv`. The page, or the whole list.
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
    let list = caller.open(request, 1, |core, request| core.cases.list_all_compliance_cases(request)).await?;
    Ok(respond_opened(ListFormat::of(format, FOUND, "ComplianceCase"), list, |message| &message.cases, deadline))
}

async fn list_page(caller: Caller, query: &Query) -> Result<Response, Rejection> {
    let request = caller.accept(query.page()).await?;
    let read = caller.call(request, |core, request| core.cases.list_compliance_cases(request)).await?;
    read.respond(&caller, 0, |page| respond(StatusCode::OK, &Envelope::found(FOUND, &page.cases, page.meta)))
}

/// Read a compliance case
///
/// Returns one case by its ID, as it is now or, with `as_of`, as it was at the end of that second.
///
/// - Operation: `getCase`
/// - Path: of the case
/// - Query: `GetComplianceCaseRequest`
/// - Header: `If-None-Match`
/// - 200: `CaseFound`, `ETag`. The case.
/// - 304: `ETag`. The case has not changed.
/// - Refused: `CaseNotFound`, `PositionGone`, `BodyTooLarge`
pub(crate) async fn get(
    caller: Caller,
    path: PathId,
    if_none_match: IfNoneMatch,
    query: Query,
) -> Result<Response, Rejection> {
    let request = caller.accept(query.of_record(&path, Error::case_not_found)).await?;
    let mut read = caller.call(request, |core, request| core.cases.get_compliance_case(request)).await?;
    let etag = with_affiliate(take(&mut read.message.etag), &read.message.affiliate_etag);
    read.respond(&caller, 0, |case| respond_tagged(&Envelope::found("Case found.", case, None), &etag, &if_none_match))
}

/// Open a case
///
/// Opens a case for an affiliate, optionally with incidents. `request_id` is your own key for the case: if you repeat the request, no
/// other case is opened, and you get the same `case_id` with the status 200. `GET /api/vocabularies` lists the names of statuses and
/// infractions. The service sets the dates that follow from opening a case, such as `created_date`, unless you send them.
///
/// - Operation: `openCase`
/// - Body: `CaseOpen`
/// - 201: `CaseOpened`, `Location`. The case is open.
/// - 200: `CaseOpened`, `Location`. An earlier request with this `request_id` opened the case.
/// - Refused: `ReferenceNotFound`, `RequestIdReused`
pub(crate) async fn open(mut body: RequestBody) -> Result<Response, Rejection> {
    let request = body.read(bodies::open_case).await?;
    let call = body.caller.call_checked(request, |core, request| core.monitoring.open_case(request));
    let opened = call.await?.message;
    let (status, msg) = if opened.created {
        (StatusCode::CREATED, "Case opened.")
    } else {
        (StatusCode::OK, "The case was already opened.")
    };
    let detail = Detail { case_id: Some(opened.case_id), msg, ..Detail::default() };
    let response = respond_saved(status, detail);
    Ok(body.respond(with_location(response, "cases", opened.case_id)))
}

/// Update a case
///
/// Changes the fields that you send. Null and `""` clear an optional field. `tags` replaces all tags. The service sets the dates that
/// follow from the change, such as `closed_date`, unless you send them. With `If-Match`, the service changes the case only if it
/// still has one of these etags.
///
/// - Operation: `updateCase`
/// - Path: of the case
/// - Header: `If-Match`
/// - Body: `CaseUpdate`
/// - 200: `CaseUpdated`, `ETag`. The case has the values that you sent.
/// - Refused: `CaseNotFound`, `ReferenceNotFound`, `EtagMismatch`
pub(crate) async fn update(path: PathId, if_match: IfMatch, mut body: RequestBody) -> Result<Response, Rejection> {
    let request = body.read(|input| bodies::update_case(input, &path, &if_match)).await?;
    let call = body.caller.call_checked(request, |core, request| core.monitoring.update_case(request));
    let updated = call.await?.message;
    let msg = match updated.changed {
        true => "Case updated.",
        false if body.is_unknown => NO_KNOWN_FIELD,
        false => "The case already has these values.",
    };
    let etag = with_affiliate(updated.etag, &updated.affiliate_etag);
    Ok(respond_changed(body, updated.case_id, &etag, msg))
}

/// Resolve a case
///
/// Sets the case status to Resolved. A case that is already resolved does not change. The body can be empty.
///
/// - Operation: `resolveCase`
/// - Path: of the case
/// - Header: `If-Match`
/// - Body: `CaseResolve`
/// - 200: `CaseUpdated`, `ETag`. The case is resolved.
/// - Refused: `CaseNotFound`, `EtagMismatch`
pub(crate) async fn resolve(path: PathId, if_match: IfMatch, mut body: RequestBody) -> Result<Response, Rejection> {
    let request = body.read(|input| bodies::case_status(input, &path, &if_match)).await?;
    let call = body.caller.call(request, |core, request| core.monitoring.resolve_case(request));
    let resolved = call.await?.message;
    let msg = if resolved.changed { "Case resolved." } else { "The case was already resolved." };
    let etag = with_affiliate(resolved.etag, &resolved.affiliate_etag);
    Ok(respond_changed(body, resolved.case_id, &etag, msg))
}

/// Close a case
///
/// Sets the case status to Closed, or to another status that ends a case: Rejected, Invalid or Duplicate. Without `case_status`, a
/// case that already has one of these statuses does not change. The body can be empty.
///
/// - Operation: `closeCase`
/// - Path: of the case
/// - Header: `If-Match`
/// - Body: `CaseClose`
/// - 200: `CaseUpdated`, `ETag`. The case is closed.
/// - Refused: `CaseNotFound`, `EtagMismatch`
pub(crate) async fn close(path: PathId, if_match: IfMatch, mut body: RequestBody) -> Result<Response, Rejection> {
    let request = body.read(|input| bodies::case_status(input, &path, &if_match)).await?;
    let call = body.caller.call(request, |core, request| core.monitoring.close_case(request));
    let closed = call.await?.message;
    let msg = if closed.changed { "Case closed." } else { "The case was already closed." };
    let etag = with_affiliate(closed.etag, &closed.affiliate_etag);
    Ok(respond_changed(body, closed.case_id, &etag, msg))
}

/// Reopen a case
///
/// Sets the case status to Open, or to another status that does not end a case. A case that is open does not change. The body can be
/// empty.
///
/// - Operation: `reopenCase`
/// - Path: of the case
/// - Header: `If-Match`
/// - Body: `CaseReopen`
/// - 200: `CaseUpdated`, `ETag`. The case is open.
/// - Refused: `CaseNotFound`, `EtagMismatch`
pub(crate) async fn reopen(path: PathId, if_match: IfMatch, mut body: RequestBody) -> Result<Response, Rejection> {
    let request = body.read(|input| bodies::case_status(input, &path, &if_match)).await?;
    let call = body.caller.call(request, |core, request| core.monitoring.reopen_case(request));
    let reopened = call.await?.message;
    let msg = if reopened.changed { "Case reopened." } else { "The case was already open." };
    let etag = with_affiliate(reopened.etag, &reopened.affiliate_etag);
    Ok(respond_changed(body, reopened.case_id, &etag, msg))
}

/// Attach incidents to a case
///
/// Adds incidents to a case, which can have at most 10,000. If the case already has an incident, your infraction replaces the
/// incident's infraction. Each item has its own result. If an item is invalid (1021), or the company does not have its URL (1025), only
/// this item fails, and the status is 207.
///
/// - Operation: `attachIncidents`
/// - Path: of the case
/// - Body: `IncidentsAttach`
/// - 200: `[IncidentSaved]`. Every incident is attached; one result per item, in the order sent.
/// - 207: `[IncidentSaved | IncidentInvalid | IncidentUnknown]`. Some or all items failed; one result per item, in the order sent.
/// - Refused: `CaseNotFound`
pub(crate) async fn attach(path: PathId, mut body: RequestBody) -> Result<Response, Rejection> {
    let request = body.read(|input| bodies::incidents(input, &path)).await?;
    let attached = body.caller.call(request, |core, request| core.monitoring.attach_incidents(request)).await?;
    Ok(respond_to_incidents(body, &attached.message.results))
}

/// Detach incidents from a case
///
/// Removes incidents, each by its ID or by its type and content. An incident that the case does not have counts as removed.
///
/// - Operation: `detachIncidents`
/// - Path: of the case
/// - Body: `IncidentsDetach`
/// - 200: `[IncidentDetached]`. The case has none of these incidents; one result per item, in the order sent.
/// - 207: `[IncidentDetached | IncidentInvalid]`. Some or all items failed; one result per item, in the order sent.
/// - Refused: `CaseNotFound`
pub(crate) async fn detach(path: PathId, mut body: RequestBody) -> Result<Response, Rejection> {
    let request = body.read(|input| bodies::incidents(input, &path)).await?;
    let detached = body.caller.call(request, |core, request| core.monitoring.detach_incidents(request)).await?;
    Ok(respond_to_incidents(body, &detached.message.results))
}

/// Returns the response to a change of one case.
fn respond_changed(body: RequestBody, case_id: i64, etag: &str, msg: &str) -> Response {
    let detail = Detail { case_id: Some(case_id), msg, ..Detail::default() };
    body.respond(with_etag(respond_saved(StatusCode::OK, detail), etag))
}

fn respond_to_incidents(body: RequestBody, results: &[IncidentResult]) -> Response {
    let items = results.iter().map(|result| {
        let detail = Detail { incident_id: result.incident_id, msg: &result.msg, ..Detail::default() };
        (result.code, detail)
    });
    let response = body.compute(|| respond_to_items(StatusCode::OK, items, OfFile::default()));
    body.respond(response)
}
