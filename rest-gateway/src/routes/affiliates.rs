//! `/affiliates`

use axum::response::Response;
use compliance_api::{
    error::{Error, ResultCode},
    v1::{
        AffiliateResult, BatchSyncAffiliatesResponse, CreateAffiliateRequest, EraseAffiliateRequest,
        UpdateAffiliateRequest,
    },
};
use http::StatusCode;

use crate::{
    accept::{Format, varied},
    caller::Caller,
    envelope::{
        Detail, Envelope, Refusal, respond, respond_saved, respond_tagged, respond_to_items, with_etag, with_location,
    },
    extract::{
        bodies::{Create, Input, Update, create_affiliates, sync_affiliates, update_affiliates},
        body::RequestBody,
        request::{Draft, Query},
    },
    head::{IfMatch, IfNoneMatch, PathId},
    stream::{ListFormat, respond_opened},
};

/// The message of a list.
const FOUND: &str = "Affiliates found";

/// List all affiliates
///
/// Every affiliate of the company, by ID ascending, in one response without pages. The response is a stream: read it while it arrives. If
/// the connection ends early, the list is incomplete. With `Accept: application/x-ndjson`, the response has one record per line. With
/// `Accept: text/csv`, it has a row of names and a row for each record.
///
/// - Operation: `listAffiliates`
/// - Query: `ListAffiliatesRequest`
/// - 200: `AffiliateList`, `application/x-ndjson`, `text/csv`. The affiliates; an empty list if there are none.
/// - Refused: `PositionRestored`, `PositionGone`
pub(crate) async fn list(caller: Caller, format: Format, query: Query) -> Result<Response, Refusal> {
    let request = caller.accept(query.request()).await?;
    let (caller, deadline) = caller.for_list();
    let list = caller.open(request, 1, |core, request| core.affiliates.list_affiliates(request)).await?;
    let document = ListFormat::of(format, FOUND, "Affiliate");
    Ok(varied(respond_opened(document, list, |message| &message.affiliates, deadline)))
}

/// Read an affiliate
///
/// One affiliate by its ID, as it is now or as it was at the end of a second.
///
/// - Operation: `getAffiliate`
/// - Path: of the affiliate
/// - Query: `GetAffiliateRequest`
/// - Header: `If-None-Match`
/// - 200: `AffiliateFound`, `ETag`. The affiliate.
/// - 304: `ETag`. It has not changed.
/// - Refused: `AffiliateNotFound`, `PositionGone`, `BodyTooLarge`
pub(crate) async fn get(
    caller: Caller,
    path: PathId,
    if_none_match: IfNoneMatch,
    query: Query,
) -> Result<Response, Refusal> {
    let request = caller.accept(query.of_record(&path, Error::affiliate_not_found)).await?;
    let mut read = caller.call(request, |core, request| core.affiliates.get_affiliate(request)).await?;
    let etag = std::mem::take(&mut read.message.etag);
    read.respond(&caller, 0, |affiliate| {
        respond_tagged(&Envelope::found("Affiliate found.", affiliate, None), etag, false, &if_none_match)
    })
}

/// Search affiliates
///
/// The affiliates whose name or client identifier contains a text, by ID ascending. The records of the company are read until
/// enough are found.
///
/// - Operation: `searchAffiliates`
/// - Query: `SearchAffiliatesRequest`
/// - 200: `AffiliateList`. The affiliates; an empty list if there are none.
pub(crate) async fn search(caller: Caller, query: Query) -> Result<Response, Refusal> {
    let request = caller.accept(query.request()).await?;
    let response = caller.call(request, |core, request| core.affiliates.search_affiliates(request)).await?;
    response.found(&caller, FOUND, |found| &found.affiliates)
}

/// Create affiliates
///
/// One affiliate, or many as `affiliates`. In a batch, a name that exists (1023) or an unknown country code (1024)
/// fails its item alone, and the status is 207. Any other violation rejects the whole request with 422, and nothing
/// is saved. With `validate_only`, the response to a batch is the same, without IDs, and nothing is written.
///
/// - Operation: `createAffiliates`
/// - Body: `AffiliateCreate | AffiliateCreateBatch`
/// - 201: `AffiliateCreated | [AffiliateCreated | AffiliateValid]`, `Location`. Created. For a batch: every item was created; one
///   result per item, in the order sent.
/// - 207: `[AffiliateCreated | AffiliateValid | AffiliateDuplicate | AffiliateInvalidCountry]`. Some or all items of a batch failed;
///   one result per item, in the order sent.
/// - Refused: `AffiliateNameExists`
pub(crate) async fn create(mut body: RequestBody) -> Result<Response, Refusal> {
    let result = match body.read(create_affiliates).await? {
        Create::One(request) => Box::pin(create_one(&body.caller, *request)).await,
        Create::Batch(request) => {
            let call = body.caller.call(request, |core, request| core.affiliates.batch_create_affiliates(request));
            let created = call.await;
            created.map(|it| respond_to_batch(&body, StatusCode::CREATED, &it.message.results))
        }
    };
    let response = body.with_all_violations(result, create_affiliates)?;
    Ok(body.respond(response))
}

async fn create_one(caller: &Caller, request: CreateAffiliateRequest) -> Result<Response, Refusal> {
    let call = caller.call(request, |core, request| core.affiliates.create_affiliate(request));
    let created = call.await?.message;
    let detail = Detail {
        affiliate_id: Some(created.affiliate_id),
        client_affiliate_id: Some(&created.client_affiliate_id),
        msg: "Affiliate created successfully.",
        ..Detail::default()
    };
    let response = respond_saved(StatusCode::CREATED, detail);
    Ok(with_location(response, "affiliates", created.affiliate_id))
}

/// Update affiliates
///
/// Changes the fields that are sent, of one affiliate or of many as `affiliates`. One: `id` in the body equals the
/// ID in the URL. Many: the ID in the URL is any affiliate of the company. The changes are applied in the order
/// sent. An unknown ID (1025), a name that is taken or an unknown country code (1021) fails its item alone, and the
/// status is 207. With `If-Match`, one affiliate is changed only if it has one of these tags. A batch is refused.
/// With `validate_only`, the response to a batch is the same, and nothing is written.
///
/// - Operation: `updateAffiliates`
/// - Path: of the affiliate
/// - Header: `If-Match`
/// - Body: `AffiliateUpdate | AffiliateUpdateBatch`
/// - 200: `AffiliateUpdated | [AffiliateUpdated]`, `ETagOfOne`. Updated. For a batch: every item was updated; one result per
///   item, in the order sent.
/// - 207: `[AffiliateUpdated | AffiliateUpdateFailed | AffiliateUnknown]`. Some or all items of a batch failed; one
///   result per item, in the order sent.
/// - Refused: `AffiliateNotFound`, `EtagMismatch`
pub(crate) async fn update(path: PathId, if_match: IfMatch, mut body: RequestBody) -> Result<Response, Refusal> {
    let parse = |input: Input<'_>| update_affiliates(input, &path, &if_match);
    let result = match body.read(parse).await? {
        Update::One(request) => Box::pin(update_one(&body.caller, *request)).await,
        Update::Batch(request) => {
            let call = body.caller.call(request, |core, request| core.affiliates.batch_update_affiliates(request));
            let updated = call.await;
            updated.map(|it| respond_to_batch(&body, StatusCode::OK, &it.message.results))
        }
    };
    let response = body.with_all_violations(result, parse)?;
    Ok(body.respond(response))
}

async fn update_one(caller: &Caller, request: UpdateAffiliateRequest) -> Result<Response, Refusal> {
    let call = caller.call(request, |core, request| core.affiliates.update_affiliate(request));
    let updated = call.await?.message;
    let detail = Detail {
        affiliate_id: Some(updated.affiliate_id),
        msg: "Affiliate updated successfully.",
        ..Detail::default()
    };
    Ok(with_etag(respond_saved(StatusCode::OK, detail), &updated.etag))
}

/// Sync affiliates
///
/// Brings the company's affiliates up to date with a list. `client_affiliate_id` identifies an affiliate, so its name can change.
/// Missing affiliates are created. For existing affiliates, the fields that are sent and differ are changed: null and `""` clear an
/// optional field. An invalid item is refused alone, and the status is 207. All names change together, so two affiliates can
/// swap their names. An identifier of several affiliates or of several items is refused. The same list again changes nothing.
///
/// Affiliates that are not in the list do not change. `report_absent` reports them, and `absent_status` gives them a status.
/// If more than `max_absent` affiliates would get it, the whole request is refused with 409: a truncated list lacks most affiliates.
/// With `validate_only`, the response is the same, and nothing is written.
///
/// - Operation: `syncAffiliates`
/// - Body: `AffiliateRoster`
/// - 200: `AffiliatesSynced`. Every affiliate of the list is up to date; one result per item, in the order sent.
/// - 207: `AffiliatesPartlySynced`. Some or all items were refused.
/// - Refused: `FailedPrecondition`
pub(crate) async fn sync(mut body: RequestBody) -> Result<Response, Refusal> {
    let request = body.read(sync_affiliates).await?;
    let absent_status = request.absent_status.clone().filter(|status| !status.is_empty());
    let is_dry = request.validate_only;
    let result = body.caller.call(request, |core, request| core.syncs.batch_sync_affiliates(request)).await;
    let synced = body.with_all_violations(result, sync_affiliates)?.message;
    let saved = i32::from(ResultCode::Saved);
    let refused = synced.results.iter().filter(|result| result.code != saved).count();
    let (status, code, mut msg) = match refused {
        0 if synced.absent_changed == 0 => {
            (StatusCode::OK, ResultCode::Saved, "The affiliates are up to date.".to_owned())
        }
        0 => (StatusCode::OK, ResultCode::Saved, "Every affiliate of the list is up to date.".to_owned()),
        1 => (StatusCode::MULTI_STATUS, ResultCode::UpdateFailed, "1 item was refused.".to_owned()),
        _ => (StatusCode::MULTI_STATUS, ResultCode::UpdateFailed, format!("{refused} items were refused.")),
    };
    if let Some(absent_status) = absent_status {
        let BatchSyncAffiliatesResponse { absent_total, absent_changed, .. } = synced;
        let set = if is_dry { "to be set" } else { "set" };
        msg = format!("{msg} Absent affiliates {set} to {absent_status}: {absent_changed} of {absent_total}.");
    }
    let response = body.compute(|| respond(status, &Envelope::written(code, &msg, &synced)));
    Ok(body.respond(response))
}

/// Erase an affiliate
///
/// Removes an affiliate permanently, with its URLs, its cases, and their infractions and incidents. Its changes lose all personal data, and
/// keep IDs, dates and statuses. Only the operator of the service can erase an affiliate with too many records or changes. With
/// `If-Match`, it is erased only if it has one of these tags.
///
/// - Operation: `eraseAffiliate`
/// - Path: of the affiliate
/// - Header: `If-Match`
/// - 200: `AffiliateErased`. How many records were erased with it.
/// - Refused: `AffiliateNotFound`, `EtagMismatch`, `FailedPrecondition`
pub(crate) async fn erase(caller: Caller, path: PathId, if_match: IfMatch) -> Result<Response, Refusal> {
    let draft = Draft::empty::<EraseAffiliateRequest>().if_match(&if_match);
    let request = caller.accept(draft.of_record(&path, Error::affiliate_not_found)).await?;
    let call = caller.call(request, |core, request| core.erasures.erase_affiliate(request));
    let erased = call.await?.message;
    Ok(respond(StatusCode::OK, &Envelope::written(ResultCode::Saved, "The affiliate is erased.", &erased)))
}

fn respond_to_batch(body: &RequestBody, success: StatusCode, results: &[AffiliateResult]) -> Response {
    let items = results.iter().map(|result| {
        let detail = Detail {
            affiliate_id: result.affiliate_id,
            client_affiliate_id: result.client_affiliate_id.as_deref(),
            msg: &result.msg,
            ..Detail::default()
        };
        (result.code, detail)
    });
    body.compute(|| respond_to_items(success, items))
}
