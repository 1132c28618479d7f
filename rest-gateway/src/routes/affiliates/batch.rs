//! Calls the core for affiliate batches from JSON or files, and builds the responses.

use axum::response::Response;
use compliance_api::{
    error::ResultCode,
    v1::{AffiliateResult, AffiliateSyncResult, BatchCreateAffiliatesRequest, BatchSyncAffiliatesResponse},
};
use http::StatusCode;

use crate::{
    envelope::{Detail, OfFile, Rejection, respond_to_items},
    extract::body::RequestBody,
};

/// Creates the affiliates in a batch.
pub(super) async fn create_batch(
    body: &RequestBody,
    request: BatchCreateAffiliatesRequest,
    file: OfFile<'_>,
) -> Result<Response, Rejection> {
    let call = body.caller.call(request, |core, request| core.affiliates.batch_create_affiliates(request));
    let created = call.await?;
    Ok(respond_to_batch(body, StatusCode::CREATED, &created.message.results, file))
}

/// Returns the response to a batch.
pub(super) fn respond_to_batch(
    body: &RequestBody,
    success: StatusCode,
    results: &[AffiliateResult],
    file: OfFile<'_>,
) -> Response {
    let items = results.iter().map(|result| {
        let detail = Detail {
            affiliate_id: result.affiliate_id,
            client_affiliate_id: result.client_affiliate_id.as_deref(),
            msg: &result.msg,
            ..Detail::default()
        };
        (result.code, detail)
    });
    body.compute(|| respond_to_items(success, items, file))
}

/// Returns the number of refused items.
pub(super) fn count_refused<'a>(results: impl IntoIterator<Item = &'a AffiliateSyncResult>) -> usize {
    let saved = i32::from(ResultCode::Saved);
    results.into_iter().filter(|result| result.code != saved).count()
}

/// Returns a sync's status, code and message.
pub(super) fn outcome(
    synced: &BatchSyncAffiliatesResponse,
    refused: usize,
    absent_status: Option<&str>,
    is_dry: bool,
) -> (StatusCode, ResultCode, String) {
    let (status, code, mut msg) = match refused {
        0 if is_dry => (StatusCode::OK, ResultCode::Saved, "Every item is valid. Nothing was saved.".to_owned()),
        0 if synced.absent_changed == 0 => {
            (StatusCode::OK, ResultCode::Saved, "The affiliates are up to date.".to_owned())
        }
        0 => (StatusCode::OK, ResultCode::Saved, "Every affiliate in the list is up to date.".to_owned()),
        1 => (StatusCode::MULTI_STATUS, ResultCode::UpdateFailed, "1 item was refused.".to_owned()),
        _ => (StatusCode::MULTI_STATUS, ResultCode::UpdateFailed, format!("{refused} items were refused.")),
    };
    if let Some(absent_status) = absent_status {
        let BatchSyncAffiliatesResponse { absent_total, absent_changed, .. } = synced;
        let set = if is_dry { "to be set" } else { "set" };
        msg = format!("{msg} Absent affiliates {set} to {absent_status}: {absent_changed} of {absent_total}.");
    }
    (status, code, msg)
}
