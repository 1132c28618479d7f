//! `/cases`

use axum::{extract::RawQuery, response::Response};
use compliance_api::{error::Error, v1::GetComplianceCaseRequest};

use crate::{
    caller::Caller,
    envelope::{Envelope, respond_tagged},
    error::Refusal,
    extract::{path::PathId, query, tags::IfNoneMatch},
    found::{respond_found, respond_holding},
};

/// List compliance cases
///
/// One page of the cases that match every filter, each with its affiliate's current data and its incidents. Ties
/// are sorted by ID in the same direction. A page past the end is empty.
///
/// - Operation: `listCases`
/// - Query: `ListComplianceCasesRequest`
/// - 200: `CaseList`. The page.
pub(crate) async fn list(caller: Caller, RawQuery(query): RawQuery) -> Result<Response, Refusal> {
    let request = caller.accept(query::cases(query.as_deref())).await?;
    let read = caller.call(request, |core, request| core.cases.list_compliance_cases(request));
    let (page, rate_limit, held) = read.await?;
    respond_found(&caller, rate_limit, held, 0, &Envelope::found("Cases found", &page.cases, page.meta))
}

/// Read a compliance case
///
/// One case by its ID.
///
/// - Operation: `getCase`
/// - Path: of the case
/// - Header: `If-None-Match`
/// - 200: `CaseFound`, `ETag`. The case.
/// - 304: `ETag`. It has not changed.
/// - Refused: `CaseNotFound`
pub(crate) async fn get(caller: Caller, path: PathId, if_none_match: IfNoneMatch) -> Result<Response, Refusal> {
    let request = GetComplianceCaseRequest { id: caller.accept(path.record_id(Error::case_not_found)).await? };
    let read = caller.call(request, |core, request| core.cases.get_compliance_case(request));
    let (mut case, rate_limit, held) = read.await?;
    let etag = std::mem::take(&mut case.etag);
    let found = Envelope::found("Case found.", &case, None);
    // It shows its affiliate's data, too.
    respond_holding(&caller, held, 0, || respond_tagged(rate_limit, &found, etag, false, &if_none_match))
}
