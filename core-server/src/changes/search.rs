//! Searches of the record of changes: by the record, by who changed it, and by time.

use std::sync::LazyLock;

use admission::Reservation;
use compliance_api::{
    MAX_ID,
    error::Error,
    rules::{Violations, timestamp},
    v1::{SearchChangesRequest, SearchChangesResponse},
};
use sqlx::Row as _;

use super::feed::{self, resource_number};
use crate::{
    limits::{CHANGE_ROWS, DEFAULT_CHANGES},
    lists::Source,
};

/// All rows, along the key. The first one may have entries from the position on, and has 1,024 at most.
const ALL: &str = "
    select c.* from changes c
    where c.company_id = $1 and c.position < (select $2 + 1023) and c.position - cardinality(c.ids) + 1 < (select $2)
        and c.changed_at < (select to_timestamp($8::double precision))
    order by c.position desc limit (select $10)";

/// The rows that may have the record: those of it alone, and all with several records.
const OF_RECORD: &str = "
    (
        select c.* from changes c
        where c.company_id = $1 and c.resource = $3 and c.ids[1] = $4 and cardinality(c.ids) = 1 and c.position < (select $2)
            and c.changed_at < (select to_timestamp($8::double precision))
        order by c.position desc limit (select $10)
    )
    union all
    (
        select c.* from changes c
        where c.company_id = $1 and c.resource = $3 and cardinality(c.ids) > 1 and c.position < (select $2 + 1023)
            and c.position - cardinality(c.ids) + 1 < (select $2) and c.changed_at < (select to_timestamp($8::double precision))
        order by c.position desc limit (select $10)
    )";

/// The statements, with the types of their parameters: for all records, and for one.
pub(crate) static STATEMENTS: LazyLock<[(&str, &str); 2]> = LazyLock::new(|| {
    [ALL, OF_RECORD].map(|rows| {
        let page = include_str!("search.sql").replace("{rows}", rows);
        let statement = [include_str!("state.sql"), &page, include_str!("entries.sql")].concat();
        (&*statement.leak(), "bigint, bigint, smallint, bigint, text, text, bigint, bigint, bigint, bigint")
    })
});

/// The end of all seconds.
const NO_END: i64 = 253_402_300_800;

/// The changes that match, newest first, with the memory that they take.
pub(super) async fn search(
    source: Source,
    request: &SearchChangesRequest,
) -> Result<(SearchChangesResponse, Reservation), Error> {
    let resource = request.resource.as_deref().and_then(resource_number);
    if request.id.is_some() && resource.is_none() {
        return Err(Error::invalid(Violations::one("resource", "The resource field is required with id.")));
    }
    let [all, of_record] = *STATEMENTS;
    let (statement, _) = if request.id.is_some() { of_record } else { all };
    // An empty text is an absent one.
    let text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (subject, request_id) = (text(&request.subject), text(&request.request_id));
    let second = |text: &Option<String>| text.as_deref().and_then(timestamp);
    let (from, end) = (second(&request.from).unwrap_or_default(), second(&request.to).map_or(NO_END, |last| last + 1));
    let limit = request.limit.unwrap_or(DEFAULT_CHANGES);
    let query = || {
        let query =
            sqlx::query(statement).bind(source.company_id).bind(request.before.unwrap_or(MAX_ID)).bind(resource);
        let query = query.bind(request.id).bind(&subject).bind(&request_id).bind(from).bind(end);
        query.bind(limit).bind(CHANGE_ROWS)
    };
    feed::entries(&source, query, |first, changes, is_complete| {
        let next = if is_complete { first.try_get("next_position")? } else { changes.last().map(|last| last.position) };
        Ok(SearchChangesResponse { changes, next, dropped_position: first.try_get("dropped_position")? })
    })
    .await
}
