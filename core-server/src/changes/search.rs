//! Searches of the record of changes: by the record, by who changed it, and by time.

use admission::Reservation;
use compliance_api::{
    MAX_ID,
    error::Error,
    rules::timestamp,
    v1::{SearchChangesRequest, SearchChangesResponse},
};
use sqlx::Row as _;

use super::feed::{self, resource_number};
use crate::changes::DEFAULT_CHANGES;
use crate::changes::feed::CHANGE_ROWS;
use crate::lists::Source;

/// The statement, with the types of its parameters.
pub(crate) const STATEMENT: (&str, &str) = (
    concat!(include_str!("state.sql"), include_str!("search.sql"), include_str!("entries.sql")),
    "bigint, bigint, smallint, bigint, text, text, bigint, bigint, bigint, bigint",
);

/// The end of all seconds.
const NO_END: i64 = 253_402_300_800;

/// The changes that match, newest first, with the memory that they take.
pub(super) async fn search(
    source: Source,
    request: &SearchChangesRequest,
) -> Result<(SearchChangesResponse, Reservation), Error> {
    let resource = request.resource.as_deref().and_then(resource_number);
    // An empty text is an absent one.
    let text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (subject, request_id) = (text(&request.subject), text(&request.request_id));
    let second = |text: &Option<String>| text.as_deref().and_then(timestamp);
    let (from, end) = (second(&request.from).unwrap_or_default(), second(&request.to).map_or(NO_END, |last| last + 1));
    let limit = request.limit.unwrap_or(DEFAULT_CHANGES);
    let query = || {
        let before = request.before.unwrap_or(MAX_ID);
        let query = sqlx::query(STATEMENT.0).bind(source.company_id).bind(before).bind(resource);
        let query = query.bind(request.id).bind(&subject).bind(&request_id).bind(from).bind(end);
        query.bind(limit).bind(CHANGE_ROWS)
    };
    feed::entries(&source, query, |first, changes, is_complete| {
        let next = if is_complete { first.try_get("next_position")? } else { changes.last().map(|last| last.position) };
        Ok(SearchChangesResponse { changes, next, dropped_position: first.try_get("dropped_position")? })
    })
    .await
}
