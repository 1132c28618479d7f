//! `/affiliates`

mod batch;
mod files;

use axum::response::Response;
use compliance_api::{
    error::{Error, ResultCode},
    v1::{CreateAffiliateRequest, EraseAffiliateRequest, ListAffiliatePageRequest, UpdateAffiliateRequest},
};
use http::StatusCode;

use self::batch::{count_refused, create_batch, outcome, respond_to_batch};
use crate::{
    accept::{Format, varied},
    caller::Caller,
    envelope::{
        Detail, Envelope, NO_KNOWN_FIELD, OfFile, Rejection, respond, respond_saved, respond_tagged, with_etag,
        with_location,
    },
    extract::{
        bodies::{Create, Input, Update, create_affiliates, sync_affiliates, update_affiliates},
        body::RequestBody,
        request::{Draft, Query},
    },
    head::{IfMatch, IfNoneMatch, PathId},
    streamed::{ListFormat, respond_opened},
};

/// Message in list responses.
const FOUND: &str = "Affiliates found";

/// List affiliates
///
/// Without parameters, returns every affiliate of the company, by ascending ID, in one response without pages. The response is a stream:
/// read it as it arrives. If the connection ends early, the list is incomplete.
///
/// With a filter, `sort_by`, `sort_dir`, `per_page` or `page`, returns one page with `meta`, under the same rules as the list of URLs.
///
/// With `Accept: application/x-ndjson` or `text/csv`, returns all affiliates that match, by ascending ID. These formats accept
/// no page parameters.
///
/// - Operation: `listAffiliates`
/// - Query: `ListAffiliatePageRequest`, `ListAffiliatesRequest.changed_after`
/// - 200: `AffiliateList`, `application/x-ndjson`, `text/csv`. The whole list, or the page.
/// - Refused: `PositionRestored`, `PositionGone`
pub(crate) async fn list(caller: Caller, format: Format, query: Query) -> Result<Response, Rejection> {
    let response = match format {
        Format::Json if query.has_any::<ListAffiliatePageRequest>() => list_page(&caller, &query).await?,
        format => list_all(caller, format, &query).await?,
    };
    Ok(varied(response))
}

async fn list_all(caller: Caller, format: Format, query: &Query) -> Result<Response, Rejection> {
    let request = caller.accept(query.whole_list()).await?;
    let (caller, deadline) = caller.for_list();
    let list = caller.open(request, 1, |core, request| core.affiliates.list_affiliates(request)).await?;
    Ok(respond_opened(ListFormat::of(format, FOUND, "Affiliate"), list, |message| &message.affiliates, deadline))
}

async fn list_page(caller: &Caller, query: &Query) -> Result<Response, Rejection> {
    let request = caller.accept(query.page()).await?;
    let read = caller.call(request, |core, request| core.affiliates.list_affiliate_page(request)).await?;
    read.respond(caller, 0, |page| respond(StatusCode::OK, &Envelope::found(FOUND, &page.affiliates, page.meta)))
}

/// Read an affiliate
///
/// Returns one affiliate by its ID, as it is now or, with `as_of`, as it was at the end of that second.
///
/// - Operation: `getAffiliate`
/// - Path: of the affiliate
/// - Query: `GetAffiliateRequest`
/// - Header: `If-None-Match`
/// - 200: `AffiliateFound`, `ETag`. The affiliate.
/// - 304: `ETag`. The affiliate has not changed.
/// - Refused: `AffiliateNotFound`, `PositionGone`, `BodyTooLarge`
pub(crate) async fn get(
    caller: Caller,
    path: PathId,
    if_none_match: IfNoneMatch,
    query: Query,
) -> Result<Response, Rejection> {
    let request = caller.accept(query.of_record(&path, Error::affiliate_not_found)).await?;
    let mut read = caller.call(request, |core, request| core.affiliates.get_affiliate(request)).await?;
    let etag = std::mem::take(&mut read.message.etag);
    read.respond(&caller, 0, |affiliate| {
        respond_tagged(&Envelope::found("Affiliate found.", affiliate, None), &etag, &if_none_match)
    })
}

/// Search affiliates
///
/// Returns the affiliates with exactly this ID, name or `client_affiliate_id`, and then the others that match `q`, by ascending ID. The
/// service reads all of the company's affiliates, so a search takes longer in a large company.
///
/// - Operation: `searchAffiliates`
/// - Query: `SearchAffiliatesRequest`
/// - 200: `AffiliateList`. The affiliates; an empty list if there are none.
pub(crate) async fn search(caller: Caller, query: Query) -> Result<Response, Rejection> {
    let request = caller.accept(query.request()).await?;
    let response = caller.call(request, |core, request| core.affiliates.search_affiliates(request)).await?;
    response.found(&caller, FOUND, |found| &found.affiliates)
}

/// Create affiliates
///
/// Creates one affiliate, or many in the list `affiliates` (a batch). If an item of a batch has a name that exists (1023) or an
/// unknown country code (1024), only this item fails, and the status is 207. On any other violation, the service rejects the whole
/// request with 422 and saves nothing.
///
/// With `validate_only`, a batch gets the same response, without IDs, and the service saves nothing.
///
/// The body can also be a file with a row for each affiliate: CSV or an Excel workbook. The response is the same as for a batch. Each
/// result also has the `row` of the file, and the first result has `notes` about what the service skipped. If a row cannot be
/// read reliably or breaks a rule, the service rejects the whole file with 422. Then `violations` names each row, and its cell or column.
///
/// - Operation: `createAffiliates`
/// - Body: `AffiliateCreate | AffiliateCreateBatch`
/// - File: `BatchCreateAffiliatesRequest`
/// - 201: `AffiliateCreated | [AffiliateCreated | AffiliateValid]`, `Location`. The affiliate was created. For a batch: every item was created; one
///   result per item, in the order sent.
/// - 207: `[AffiliateCreated | AffiliateValid | AffiliateDuplicate | AffiliateInvalidCountry]`. Some or all items of a batch failed;
///   one result per item, in the order sent.
/// - Refused: `AffiliateNameExists`
pub(crate) async fn create(mut body: RequestBody) -> Result<Response, Rejection> {
    if body.is_file() {
        return files::create(body).await;
    }
    let result = match body.read(create_affiliates).await? {
        Create::One(request) => Box::pin(create_one(&body.caller, *request)).await,
        Create::Batch(request) => create_batch(&body, request, OfFile::default()).await,
    };
    Ok(body.respond(result?))
}

async fn create_one(caller: &Caller, request: CreateAffiliateRequest) -> Result<Response, Rejection> {
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
/// Changes one affiliate, or many in the list `affiliates` (a batch). Only the fields that you send change. For one affiliate, `id`
/// in the body equals the ID in the URL. For a batch, the ID in the URL is the ID of any affiliate of the company.
///
/// The service applies the changes of a batch in the order sent. If an item has an unknown ID (1025), a name that is taken or an
/// unknown country code (1021), only this item fails, and the status is 207.
///
/// With `If-Match`, the service changes one affiliate only if it still has one of these etags. A batch with `If-Match` gets 422. With
/// `validate_only`, a batch gets the same response, and the service saves nothing.
///
/// - Operation: `updateAffiliates`
/// - Path: of the affiliate
/// - Header: `If-Match`
/// - Body: `AffiliateUpdate | AffiliateUpdateBatch`
/// - 200: `AffiliateUpdated | [AffiliateUpdated]`, `ETagOfOne`. The affiliate was updated. For a batch: every item was updated;
///   one result per item, in the order sent.
/// - 207: `[AffiliateUpdated | AffiliateUpdateFailed | AffiliateUnknown]`. Some or all items of a batch failed; one
///   result per item, in the order sent.
/// - Refused: `AffiliateNotFound`, `EtagMismatch`
pub(crate) async fn update(path: PathId, if_match: IfMatch, mut body: RequestBody) -> Result<Response, Rejection> {
    let parse = |input: Input<'_>| update_affiliates(input, &path, &if_match);
    let result = match body.read(parse).await? {
        Update::One(request) => Box::pin(update_one(&body, *request)).await,
        Update::Batch(request) => {
            let call = body.caller.call(request, |core, request| core.affiliates.batch_update_affiliates(request));
            let updated = call.await;
            updated.map(|it| respond_to_batch(&body, StatusCode::OK, &it.message.results, OfFile::default()))
        }
    };
    Ok(body.respond(result?))
}

async fn update_one(body: &RequestBody, request: UpdateAffiliateRequest) -> Result<Response, Rejection> {
    let call = body.caller.call(request, |core, request| core.affiliates.update_affiliate(request));
    let updated = call.await?.message;
    let detail = Detail {
        affiliate_id: Some(updated.affiliate_id),
        msg: if body.is_unknown { NO_KNOWN_FIELD } else { "Affiliate updated successfully." },
        ..Detail::default()
    };
    Ok(with_etag(respond_saved(StatusCode::OK, detail), &updated.etag))
}

/// Sync affiliates
///
/// Updates the company's affiliates from a list. The service finds them by `client_affiliate_id`, and creates missing ones. It changes
/// the fields that you send: null and `""` clear an optional field. If it refuses some items, it saves all others, and the status is 207.
///
/// Absent affiliates, which are missing from the list, stay unchanged unless you send `absent_status`.
///
/// The body can also be a CSV file or an Excel workbook. An empty cell clears the field; fields without a column do not change.
///
/// - Operation: `syncAffiliates`
/// - Body: `AffiliateRoster`
/// - File: `BatchSyncAffiliatesRequest`
/// - 200: `AffiliatesSynced`. Every affiliate in the list is up to date; one result per item, in the order sent.
/// - 207: `AffiliatesPartlySynced`. The service refused some or all items.
/// - Refused: `FailedPrecondition`
pub(crate) async fn sync(mut body: RequestBody) -> Result<Response, Rejection> {
    if body.is_file() {
        return files::sync(body).await;
    }
    let request = body.read(sync_affiliates).await?;
    let absent_status = request.absent_status.clone().filter(|status| !status.is_empty());
    let is_dry = request.validate_only;
    let synced = body.caller.call(request, |core, request| core.syncs.batch_sync_affiliates(request)).await?.message;
    let (status, code, msg) = outcome(&synced, count_refused(&synced.results), absent_status.as_deref(), is_dry);
    let response = body.compute(|| respond(status, &Envelope::written(code, &msg, &synced)));
    Ok(body.respond(response))
}

/// Erase an affiliate
///
/// Removes an affiliate permanently, with its URLs, its cases, and their infractions and incidents. Its entries in the record of
/// changes lose all personal data, but keep IDs, dates and statuses. If the affiliate has too many records or changes, you get 409:
/// ask the service operator to erase it.
///
/// With `If-Match`, the service erases the affiliate only if it still has one of these etags.
///
/// - Operation: `eraseAffiliate`
/// - Path: of the affiliate
/// - Header: `If-Match`
/// - 200: `AffiliateErased`. How many records were erased with the affiliate.
/// - Refused: `AffiliateNotFound`, `EtagMismatch`, `FailedPrecondition`
pub(crate) async fn erase(caller: Caller, path: PathId, if_match: IfMatch) -> Result<Response, Rejection> {
    let draft = Draft::empty::<EraseAffiliateRequest>().if_match(&if_match);
    let request = caller.accept(draft.of_record(&path, Error::affiliate_not_found)).await?;
    let call = caller.call(request, |core, request| core.erasures.erase_affiliate(request));
    let erased = call.await?.message;
    Ok(respond(StatusCode::OK, &Envelope::written(ResultCode::Saved, "The affiliate is erased.", &erased)))
}
