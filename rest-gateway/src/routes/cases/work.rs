//! `/cases`, as officers change them.

use axum::response::Response;
use compliance_api::{
    error::{Error, ResultCode},
    v1::{
        AttachIncidentsRequest, CloseCaseRequest, DetachIncidentsRequest, IncidentResult, ReopenCaseRequest,
        ResolveCaseRequest, UpdateCaseRequest,
    },
};
use http::{
    HeaderValue, StatusCode,
    header::{ETAG, LOCATION},
};

use crate::{
    envelope::{Detail, Envelope, RateLimit, respond},
    error::Refusal,
    extract::{
        body::RequestBody,
        cases as extract,
        checked::id_with,
        path::{ParentId, PathId},
    },
    tags::{self, IfMatch},
};

/// Open a case
///
/// Opens a case for an affiliate, with incidents if there are any. `request_id` is your key: a repeated request opens no other case and gets
/// the same response with the status 200. Names of statuses and infractions are those of `GET /api/vocabularies`. The service sets the
/// dates that follow from the opening, unless you send them.
///
/// - Operation: `openCase`
/// - Body: `CaseOpen`
/// - 201: `CaseOpened`, `Location`. The case is open.
/// - 200: `CaseOpened`, `Location`. An earlier request with this `request_id` opened the case.
/// - Refused: `ReferenceNotFound`, `RequestIdReused`
pub(crate) async fn open(mut body: RequestBody) -> Result<Response, Refusal> {
    let request = body.read(extract::open).await?;
    let result = body.call(request, |core, request| core.monitoring.open_case(request)).await;
    let (opened, rate_limit) = body.with_all_violations(result, extract::open)?;
    let (status, msg) = if opened.created {
        (StatusCode::CREATED, "Case opened.")
    } else {
        (StatusCode::OK, "The case was already opened.")
    };
    let detail = Detail { case_id: Some(opened.case_id), msg, ..Detail::default() };
    let mut response = respond(status, rate_limit, &Envelope::result(ResultCode::Saved, detail));
    if let Ok(path) = HeaderValue::try_from(format!("/api/cases/{}", opened.case_id)) {
        response.headers_mut().insert(LOCATION, path);
    }
    Ok(body.respond(response))
}

/// Update a case
///
/// Changes the fields that are sent. Null and `""` clear an optional field; `tags` replaces all tags. The service sets the dates that follow
/// from the change, such as `closed_date`, unless you send them. With `If-Match`, the case is changed only if it has one of these tags.
///
/// - Operation: `updateCase`
/// - Path: of the case
/// - Header: `If-Match`
/// - Body: `CaseUpdate`
/// - 200: `CaseUpdated`, `ETag`. The case has these values.
/// - Refused: `CaseNotFound`, `ReferenceNotFound`, `EtagMismatch`
pub(crate) async fn update(path: PathId, if_match: IfMatch, mut body: RequestBody) -> Result<Response, Refusal> {
    let request = body.read(|body, _, ignored| extract::update(body, &if_match, ignored)).await?;
    let id = body.caller.accept(id_with(path, &request, Error::case_not_found)).await?;
    let request = UpdateCaseRequest { id, ..request };
    let (updated, rate_limit) = body.call(request, |core, request| core.monitoring.update_case(request)).await?;
    let msg = if updated.changed { "Case updated." } else { "The case has these values already." };
    Ok(body.respond(respond_changed(rate_limit, id, &updated.etag, msg)))
}

/// Resolve a case
///
/// Sets the case status Resolved. A resolved case stays as it is. The body may be empty.
///
/// - Operation: `resolveCase`
/// - Path: of the case
/// - Header: `If-Match`
/// - Body: `CaseResolve`
/// - 200: `CaseUpdated`, `ETag`. The case is resolved.
/// - Refused: `CaseNotFound`, `EtagMismatch`
pub(crate) async fn resolve(
    ParentId(path): ParentId,
    if_match: IfMatch,
    mut body: RequestBody,
) -> Result<Response, Refusal> {
    let request: ResolveCaseRequest = body.read(|body, _, ignored| extract::status(body, &if_match, ignored)).await?;
    let id = body.caller.accept(id_with(path, &request, Error::case_not_found)).await?;
    let request = ResolveCaseRequest { id, ..request };
    let (resolved, rate_limit) = body.call(request, |core, request| core.monitoring.resolve_case(request)).await?;
    let msg = if resolved.changed { "Case resolved." } else { "The case was already resolved." };
    Ok(body.respond(respond_changed(rate_limit, id, &resolved.etag, msg)))
}

/// Close a case
///
/// Sets the case status Closed, or another that ends a case. A closed case stays as it is. The body may be empty.
///
/// - Operation: `closeCase`
/// - Path: of the case
/// - Header: `If-Match`
/// - Body: `CaseClose`
/// - 200: `CaseUpdated`, `ETag`. The case is closed.
/// - Refused: `CaseNotFound`, `EtagMismatch`
pub(crate) async fn close(
    ParentId(path): ParentId,
    if_match: IfMatch,
    mut body: RequestBody,
) -> Result<Response, Refusal> {
    let request: CloseCaseRequest = body.read(|body, _, ignored| extract::status(body, &if_match, ignored)).await?;
    let id = body.caller.accept(id_with(path, &request, Error::case_not_found)).await?;
    let request = CloseCaseRequest { id, ..request };
    let (closed, rate_limit) = body.call(request, |core, request| core.monitoring.close_case(request)).await?;
    let msg = if closed.changed { "Case closed." } else { "The case was already closed." };
    Ok(body.respond(respond_changed(rate_limit, id, &closed.etag, msg)))
}

/// Reopen a case
///
/// Sets the case status Open, or another that does not end a case. A case that has not ended stays as it is. The body may be empty.
///
/// - Operation: `reopenCase`
/// - Path: of the case
/// - Header: `If-Match`
/// - Body: `CaseReopen`
/// - 200: `CaseUpdated`, `ETag`. The case is open.
/// - Refused: `CaseNotFound`, `EtagMismatch`
pub(crate) async fn reopen(
    ParentId(path): ParentId,
    if_match: IfMatch,
    mut body: RequestBody,
) -> Result<Response, Refusal> {
    let request: ReopenCaseRequest = body.read(|body, _, ignored| extract::status(body, &if_match, ignored)).await?;
    let id = body.caller.accept(id_with(path, &request, Error::case_not_found)).await?;
    let request = ReopenCaseRequest { id, ..request };
    let (reopened, rate_limit) = body.call(request, |core, request| core.monitoring.reopen_case(request)).await?;
    let msg = if reopened.changed { "Case reopened." } else { "The case was already open." };
    Ok(body.respond(respond_changed(rate_limit, id, &reopened.etag, msg)))
}

/// Attach incidents to a case
///
/// Adds incidents; a case can have 10,000. An incident that the case has already takes the infraction that is sent. Each item has its own
/// result: an invalid one (1021) or a URL that the company does not have (1025) fails alone, and the status is 207.
///
/// - Operation: `attachIncidents`
/// - Path: of the case
/// - Body: `IncidentsAttach`
/// - 200: `[IncidentSaved]`. Every incident is attached; one result per item, in the order sent.
/// - 207: `[IncidentSaved | IncidentInvalid | IncidentUnknown]`. Some or all items failed; one result per item, in the order sent.
/// - Refused: `CaseNotFound`
pub(crate) async fn attach(ParentId(path): ParentId, mut body: RequestBody) -> Result<Response, Refusal> {
    let request = body.read(extract::attach).await?;
    let id = body.caller.accept(id_with(path, &request, Error::case_not_found)).await?;
    let request = AttachIncidentsRequest { id, ..request };
    let (attached, rate_limit) = body.call(request, |core, request| core.monitoring.attach_incidents(request)).await?;
    Ok(respond_to_incidents(body, rate_limit, &attached.results))
}

/// Detach incidents from a case
///
/// Removes incidents, each by its ID or by its type and content. An incident that the case does not have counts as detached.
///
/// - Operation: `detachIncidents`
/// - Path: of the case
/// - Body: `IncidentsDetach`
/// - 200: `[IncidentDetached]`. No such incident is attached; one result per item, in the order sent.
/// - 207: `[IncidentDetached | IncidentInvalid]`. Some or all items failed; one result per item, in the order sent.
/// - Refused: `CaseNotFound`
pub(crate) async fn detach(ParentId(path): ParentId, mut body: RequestBody) -> Result<Response, Refusal> {
    let request = body.read(extract::detach).await?;
    let id = body.caller.accept(id_with(path, &request, Error::case_not_found)).await?;
    let request = DetachIncidentsRequest { id, ..request };
    let (detached, rate_limit) = body.call(request, |core, request| core.monitoring.detach_incidents(request)).await?;
    Ok(respond_to_incidents(body, rate_limit, &detached.results))
}

/// The response to a change of one case, which has this etag now.
fn respond_changed(rate_limit: RateLimit, id: i64, etag: &str, msg: &str) -> Response {
    let detail = Detail { case_id: Some(id), msg, ..Detail::default() };
    let mut response = respond(StatusCode::OK, rate_limit, &Envelope::result(ResultCode::Saved, detail));
    if let Some(tag) = tags::header(etag).filter(|_| !etag.is_empty()) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

/// Responds with 207 unless every item succeeded.
fn respond_to_incidents(body: RequestBody, rate_limit: RateLimit, results: &[IncidentResult]) -> Response {
    let saved = i32::from(ResultCode::Saved);
    let is_done = results.iter().all(|result| result.code == saved);
    let status = if is_done { StatusCode::OK } else { StatusCode::MULTI_STATUS };
    let response = body.compute(|| respond(status, rate_limit, &results.iter().map(envelope).collect::<Vec<_>>()));
    body.respond(response)
}

fn envelope(result: &IncidentResult) -> Envelope<'_> {
    let detail = Detail { incident_id: result.incident_id, msg: &result.msg, ..Detail::default() };
    Envelope::result(result.code, detail)
}
