//! `/changes` and `/audit`

use axum::response::Response;
use compliance_api::v1::{ListChangesRequest, WatchChangesRequest};
use http::{HeaderMap, HeaderName};

use crate::{
    accept::{prefers_events, varied},
    caller::Caller,
    envelope::Rejection,
    extract::request::Query,
    streamed::respond_events,
};

/// Header with the position of the client's last event.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// List changes
///
/// Returns the changes to the company's records after the position `after`, in the order they were made. Without `after`, the
/// response contains the last position and no changes. A new change never gets a position below a position that you have read. The
/// service deletes old changes: `dropped_position` is the position of the last deleted change.
///
/// To keep a copy of all records up to date, read the last position first, then all records. After that, repeatedly read the changes
/// after the position.
///
/// With `Accept: text/event-stream`, the response is a stream of server-sent events: the changes after `after`, then each new change
/// when it is committed. Without `after`, the stream begins with the next change. Each event `changes` has a page of changes as
/// `data`, and its `position` as `id`. `limit` has no effect.
///
/// The stream ends when its token expires, when the service stops, when you stop reading, and after a day. To continue, send the
/// last `id` as the header `Last-Event-ID`, which replaces `after`. If your client cannot set headers, send it as the parameter
/// `lastEventId`.
///
/// - Operation: `listChanges`
/// - Query: `ListChangesRequest`
/// - Header: `Last-Event-ID`
/// - Header: `lastEventId`
/// - 200: `ChangesFound`, `text/event-stream`. The changes.
/// - Refused: `PositionRestored`, `PositionGone`
pub(crate) async fn list(caller: Caller, headers: HeaderMap, query: Query) -> Result<Response, Rejection> {
    if !prefers_events(&headers) {
        return list_page(caller, &query).await.map(varied);
    }
    // An ID that is not text cannot be a position.
    let last = headers.get(LAST_EVENT_ID).map(|id| id.to_str().unwrap_or("?"));
    let request = caller.accept(query.changes(last)).await?;
    let (caller, deadline) = caller.for_watch();
    let request = WatchChangesRequest { after: request.after, types: request.types };
    let opened = caller.open(request, 1, |core, request| core.changes.watch_changes(request)).await?;
    Ok(varied(respond_events(opened, deadline)))
}

async fn list_page(caller: Caller, query: &Query) -> Result<Response, Rejection> {
    let request: ListChangesRequest = caller.accept(query.request()).await?;
    let changes = caller.call(request, |core, request| core.changes.list_changes(request)).await?;
    changes.found(&caller, "Changes found", |changes| changes)
}

/// Search the audit trail
///
/// Returns who changed what, newest first. Filter by the record, by who changed it, and by time. With the scope `cases` instead of
/// `audit`, the request must name one case or URL (`resource` and `id`). The service deletes old changes:
/// `dropped_position` is the position of the last deleted change.
///
/// - Operation: `searchChanges`
/// - Query: `SearchChangesRequest`
/// - 200: `AuditFound`. The changes.
pub(crate) async fn audit(caller: Caller, query: Query) -> Result<Response, Rejection> {
    let request = caller.accept(query.request()).await?;
    let changes = caller.call(request, |core, request| core.audit.search_changes(request)).await?;
    changes.found(&caller, "Changes found", |changes| changes)
}
