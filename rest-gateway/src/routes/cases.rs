//! `/cases`

use axum::{extract::RawQuery, response::Response};
use compliance_api::{error::Error, v1::GetComplianceCaseRequest};

use super::text;
use crate::{
    caller::Caller,
    envelope::Envelope,
    error::Refusal,
    extract::{path::PathId, query},
    found::respond_found,
};

pub(crate) async fn list(caller: Caller, RawQuery(query): RawQuery) -> Result<Response, Refusal> {
    let request = caller.accept(query::cases(query.as_deref())).await?;
    let read = caller.read(request, |core, request| core.cases.list_compliance_cases(request));
    let (page, rate_limit, memory) = read.await?;
    respond_found(&caller, rate_limit, memory, 0, &Envelope::found(text::CASES_FOUND, &page.cases, page.meta))
}

pub(crate) async fn get(caller: Caller, path: PathId) -> Result<Response, Refusal> {
    let request = GetComplianceCaseRequest { id: caller.accept(path.record_id(Error::case_not_found)).await? };
    let read = caller.read(request, |core, request| core.cases.get_compliance_case(request));
    let (case, rate_limit, memory) = read.await?;
    respond_found(&caller, rate_limit, memory, 0, &Envelope::found(text::CASE_FOUND, &case, None))
}
