//! `/cases`

use axum::{extract::RawQuery, response::Response};
use compliance_api::{error::Error, v1::GetComplianceCaseRequest};

use crate::{
    caller::Caller,
    envelope::Envelope,
    error::Refusal,
    extract::{path::PathId, query},
    found::respond_found,
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
/// - 200: `CaseFound`. The case.
/// - Refused: `CaseNotFound`
pub(crate) async fn get(caller: Caller, path: PathId) -> Result<Response, Refusal> {
    let request = GetComplianceCaseRequest { id: caller.accept(path.record_id(Error::case_not_found)).await? };
    let read = caller.call(request, |core, request| core.cases.get_compliance_case(request));
    let (case, rate_limit, held) = read.await?;
    respond_found(&caller, rate_limit, held, 0, &Envelope::found("Case found.", &case, None))
}
