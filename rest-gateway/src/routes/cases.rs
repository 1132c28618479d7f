//! `/cases`

use std::sync::Arc;

use axum::{extract::State, response::Response};
use compliance_api::{error::Error, v1::GetComplianceCaseRequest};
use http::{StatusCode, Uri};

use super::text;
use crate::{
    context::Caller,
    envelope::{Envelope, respond},
    error::Refusal,
    extract::{path::PathId, query},
    gateway::Gateway,
};

pub(crate) async fn list(State(gateway): State<Arc<Gateway>>, caller: Caller, uri: Uri) -> Result<Response, Refusal> {
    let request = match query::cases(uri.query()) {
        Ok(request) => request,
        Err(error) => return Err(caller.refuse(&gateway, error).await),
    };
    let client = &gateway.clients.cases;
    let request = caller.request(request);
    let (page, rate) = caller.call(client.list_compliance_cases(request)).await?;
    Ok(respond(StatusCode::OK, rate, &Envelope::found(text::CASES_FOUND, &page.cases, page.meta)))
}

pub(crate) async fn get(State(gateway): State<Arc<Gateway>>, caller: Caller, uri: Uri) -> Result<Response, Refusal> {
    let path = PathId::of(uri.path());
    let Some(case_id) = path.possible() else {
        return Err(caller.refuse(&gateway, Error::case_not_found(path.text)).await);
    };
    let call = gateway.clients.cases.get_compliance_case(caller.request(GetComplianceCaseRequest { case_id }));
    let (case, rate) = caller.call(call).await?;
    Ok(respond(StatusCode::OK, rate, &Envelope::found(text::CASE_FOUND, &case, None)))
}
