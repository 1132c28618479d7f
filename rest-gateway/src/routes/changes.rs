//! `/changes`

use axum::{extract::RawQuery, response::Response};

use crate::{caller::Caller, envelope::Envelope, error::Refusal, extract::query, found::respond_found};

/// List changes
///
/// The record of every change of the company's records, in the order in which the changes were made. Without `after`, the response has no
/// changes, and the last position. To have a copy of all records that stays up to date, read that position, then the records, and then the
/// changes that follow the position, again and again: a reader who has seen a position never finds a smaller one later. Changes are
/// kept for a while; `dropped_position` is the last one that is not.
///
/// - Operation: `listChanges`
/// - Query: `ListChangesRequest`
/// - 200: `ChangesFound`. The changes.
/// - Refused: `PositionGone`
pub(crate) async fn list(caller: Caller, RawQuery(query): RawQuery) -> Result<Response, Refusal> {
    let request = caller.accept(query::changes(query.as_deref())).await?;
    let read = caller.call(request, |core, request| core.changes.list_changes(request));
    let (changes, rate_limit, held) = read.await?;
    respond_found(&caller, rate_limit, held, 0, &Envelope::found("Changes found", &changes, None))
}
