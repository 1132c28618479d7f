//! `/cases`

use std::sync::Arc;

use axum::{extract::State, response::Response};
use compliance_api::{error::Error, in_process::Slot};
use http::{StatusCode, Uri};

use super::text;
use crate::{
    context::Caller,
    envelope::{Envelope, respond},
    error::Refusal,
    extract::{path::PathId, query},
    gateway::Gateway,
    reads::read,
};

pub(crate) async fn list(State(gateway): State<Arc<Gateway>>, caller: Caller, uri: Uri) -> Result<Response, Refusal> {
    let request = match query::cases(uri.query()) {
        Ok(request) => request,
        Err(error) => return Err(caller.refuse(&gateway, error).await),
    };
    let mut client = gateway.cases.clone();
    let mut request = caller.request(request);
    let slot = Slot::beside(&mut request);
    let (page, rate) = caller.call(client.list_compliance_cases(request)).await?;
    let page = slot.or_sent(page);
    Ok(respond(StatusCode::OK, rate, &Envelope::found(text::CASES_FOUND, &page.cases, page.meta)))
}

pub(crate) async fn get(State(gateway): State<Arc<Gateway>>, caller: Caller, uri: Uri) -> Result<Response, Refusal> {
    let path = PathId::of(uri.path());
    let Some(case_id) = path.possible() else {
        return Err(caller.refuse(&gateway, Error::case_not_found(path.text)).await);
    };
    let (case, rate) = read(&gateway.case, caller.wants(case_id), Error::case_not_found).await?;
    Ok(respond(StatusCode::OK, rate, &Envelope::found(text::CASE_FOUND, &*case, None)))
}
