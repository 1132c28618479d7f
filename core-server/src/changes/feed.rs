//! Reads changes with one statement and decodes its rows.

use std::{collections::HashSet, sync::LazyLock};

use admission::Reservation;
use compliance_api::{
    error::Error,
    json::{datetime_text, records::timestamp_of_text},
    record::{Access, Record},
    token::SCOPE_AUDIT,
    v1::{Change, ComplianceCase, ComplianceUrl, FieldChange, ListChangesRequest, ListChangesResponse},
};
use serde_json::{Map, Value};
use sqlx::{
    Postgres, Row as _, ValueRef as _,
    postgres::{PgArguments, PgRow},
    query::Query,
};

use tonic::{Request, Status};

use super::positions::Positions;
use crate::{access::caller, lists::Source};
use storage::{
    database::{self, Connections, End},
    error::from_database,
    table::{ValidTimestamp, timestamp, valid_date},
};

/// Default number of changes in a response.
pub(crate) const DEFAULT_CHANGES: i64 = 100;
/// Maximum number of rows that one response reads, even if few of their changes match.
pub(super) const CHANGE_ROWS: i64 = 2000;

/// The statement that reads changes, with its parameter types.
pub(crate) const STATEMENT: (&str, &str) = (
    concat!(include_str!("state.sql"), include_str!("list.sql"), include_str!("entries.sql")),
    "bigint, bigint, smallint[], bigint, bigint",
);

/// The record kinds, by table number.
const RESOURCES: [&str; 7] = ["affiliate", "url", "infraction", "case", "incident", "vocabulary_entry", WEBHOOK];
/// The feed contains record changes and company erasures. Only audits show webhook changes.
const IN_FEED: [i16; 7] = [0, 1, 2, 3, 4, 5, 6];
const WEBHOOK: &str = "webhook";
/// The kind of entries about a whole company, whose table number is 0.
const COMPANY: &str = "company";
const OPERATIONS: [&str; 4] = ["created", "updated", "deleted", "erased"];
/// The operation for a company whose positions jumped ahead after a database restore. Stored as an update.
const RESTORED: &str = "restored";
/// Columns that are not fields: keys and internal columns.
const HIDDEN: [&str; 5] = ["company_id", "id", "url_hash", "opened_with", "request_id"];

/// Columns with dates.
const DATES: [&str; 1] = ["start_date"];

/// Columns with timestamps.
static TIMESTAMPS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    fn of<R: Record>() -> impl Iterator<Item = &'static str> {
        let timestamps = R::FIELDS.iter().filter(|field| matches!(field.access, Access::Timestamp { .. }));
        timestamps.map(|field| field.column.name)
    }
    of::<ComplianceUrl>().chain(of::<ComplianceCase>()).chain(["secret_rotated_at", "tested_at"]).collect()
});

/// Returns the table number of a record kind.
pub(super) fn resource_number(name: &str) -> Option<i16> {
    RESOURCES.iter().position(|resource| *resource == name).map(|index| index as i16 + 1)
}

/// Returns the changes after a position, with their memory reservation. Rejects the position if some of these changes were removed.
pub(super) async fn list(
    source: Source,
    request: &ListChangesRequest,
) -> Result<(ListChangesResponse, Reservation), Error> {
    let ((response, positions), memory) = read(source, request).await?;
    request.after.map_or(Ok(()), |after| positions.check(after))?;
    Ok((response, memory))
}

/// Returns the retained changes after a position, with their memory reservation.
pub(crate) async fn read(
    source: Source,
    request: &ListChangesRequest,
) -> Result<((ListChangesResponse, Positions), Reservation), Error> {
    let types: Vec<i16> = request.types.iter().filter_map(|name| resource_number(name)).collect();
    let types = if types.is_empty() { IN_FEED.to_vec() } else { types };
    let query = || {
        let query = sqlx::query(STATEMENT.0).bind(source.company_id).bind(request.after).bind(&types);
        query.bind(request.limit.unwrap_or(DEFAULT_CHANGES)).bind(CHANGE_ROWS)
    };
    entries(&source, query, |first, changes, is_complete| {
        let positions = Positions::of(first)?;
        let (last_position, dropped_position) = (positions.last, positions.dropped);
        let is_full = !is_complete || changes.len() as i64 >= request.limit.unwrap_or(DEFAULT_CHANGES);
        let position = match changes.last() {
            Some(last) if is_full => last.position,
            _ if request.after.is_none() => last_position,
            _ => first.try_get("scanned_position")?,
        };
        Ok((ListChangesResponse { changes, position, last_position, dropped_position }, positions))
    })
    .await
}

/// Reads entries and returns them with their memory reservation.
///
/// `make` receives the first row, the changes, and whether the changes are complete.
pub(super) async fn entries<'q, T>(
    source: &Source,
    query: impl Fn() -> Query<'q, Postgres, PgArguments>,
    make: impl FnOnce(&PgRow, Vec<Change>, bool) -> Result<T, sqlx::Error>,
) -> Result<(T, Reservation), Error> {
    let read = async |pool: Connections| pool.fetch_at_most(query(), source.most, &source.memory).await;
    let fetched = database::read(&source.pool, read).await.map_err(from_database)?;
    let Some(first) = fetched.rows.first() else {
        return Err(if let End::LimitReached(limit) = fetched.end { limit.into() } else { Error::internal() });
    };
    let response = admission::compute(fetched.memory.bytes(), || {
        make(first, changes(&fetched.rows)?, fetched.end == End::Complete)
    });
    Ok((response.map_err(from_database)?, fetched.memory))
}

/// Decodes the changes in rows. Without changes, the only row contains no entry.
pub(super) fn changes(rows: &[PgRow]) -> Result<Vec<Change>, sqlx::Error> {
    rows.iter().take_while(|row| row.try_get_raw("id").is_ok_and(|id| !id.is_null())).map(change).collect()
}

fn change(row: &PgRow) -> Result<Change, sqlx::Error> {
    let name = |names: &[&'static str], column, zero| {
        let number = row.try_get::<i16, _>(column)? as usize;
        Ok::<_, sqlx::Error>(names.get(number.wrapping_sub(1)).copied().unwrap_or(zero))
    };
    let (resource, operation) = (name(&RESOURCES, "resource", COMPANY)?, name(&OPERATIONS, "operation", "")?);
    let operation = if (resource, operation) == (COMPANY, "updated") { RESTORED } else { operation };
    let fields = fields(operation, row.try_get("fields")?).map_err(|error| sqlx::Error::Decode(error.into()))?;
    let operation =
        if (resource, operation) == (WEBHOOK, "updated") { operation_of_webhook(&fields) } else { operation };
    Ok(Change {
        position: row.try_get("position")?,
        time: row.try_get::<ValidTimestamp, _>("changed_at")?.0.map(timestamp),
        resource: resource.to_owned(),
        id: row.try_get("id")?,
        operation: operation.to_owned(),
        fields,
        subject: row.try_get("subject")?,
        request_id: row.try_get("request_id")?,
    })
}

/// Returns the operation of a webhook entry, which is always stored as an update.
///
/// A new webhook has no previous status, and a deleted webhook has no new status.
fn operation_of_webhook(fields: &[FieldChange]) -> &'static str {
    match fields.iter().find(|field| field.field == "status") {
        Some(FieldChange { before: None, .. }) => "created",
        Some(FieldChange { after: None, .. }) => "deleted",
        _ => "updated",
    }
}

/// Decodes a JSON object's fields. Each contains one value or, for an update, the values before and after.
fn fields(operation: &str, object: &str) -> Result<Vec<FieldChange>, serde_json::Error> {
    let object: Map<String, Value> = serde_json::from_str(object)?;
    let columns = object.into_iter().filter(|(column, value)| !HIDDEN.contains(&&**column) && !value.is_null());
    let field = |(column, value): (String, Value)| {
        let text = |value| text(&column, value);
        let (before, after) = match (operation, value) {
            ("updated" | RESTORED, Value::Array(both)) => {
                let mut both = both.into_iter().map(text);
                (both.next().flatten(), both.next().flatten())
            }
            ("created", value) => (None, text(value)),
            (_, value) => (text(value), None),
        };
        // A record's etag is its revision.
        FieldChange { field: if column == "revision" { "etag".to_owned() } else { column }, before, after }
    };
    Ok(columns.map(field).collect())
}

/// Formats a value as a string, as the contract describes for `FieldChange`.
fn text(column: &str, value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(flag) => Some(if flag { "yes" } else { "no" }.to_owned()),
        Value::String(text) if TIMESTAMPS.contains(column) => {
            timestamp_of_text(&text).and_then(|instant| datetime_text(&instant))
        }
        // Like records, changes omit dates that have no text form, such as `infinity`.
        Value::String(text) if DATES.contains(&column) => valid_date(text),
        Value::String(text) => Some(text),
        value => Some(value.to_string()),
    }
}

/// Returns whether the caller can see who made changes, which requires the `audit` scope.
pub(super) fn sees_writers<T>(request: &Request<T>) -> Result<bool, Status> {
    Ok(caller(request)?.has_scope(SCOPE_AUDIT))
}

/// Removes a change's author.
pub(crate) fn hide_writer(change: &mut Change) {
    (change.subject, change.request_id) = (None, None);
}

#[cfg(test)]
mod tests {
    use super::fields;

    #[test]
    fn change_values_match_record_text_format() {
        let read = |operation, object| {
            let fields = fields(operation, object).unwrap().into_iter();
            fields.map(|field| (field.field, field.before, field.after)).collect::<Vec<_>>()
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            read(
                "created",
                r#"{"company_id":1,"id":2,"case_id":3,"disabled":false,"last_seen":"2026-01-31T13:00:00+01:00","note":"2026-01-31T13:00:00+01:00","domain":null,"tags":["a","b"]}"#
            ),
            [
                ("case_id".to_owned(), None, text("3")),
                ("disabled".to_owned(), None, text("no")),
                ("last_seen".to_owned(), None, text("2026-01-31 12:00:00")),
                ("note".to_owned(), None, text("2026-01-31T13:00:00+01:00")),
                ("tags".to_owned(), None, text(r#"["a","b"]"#)),
            ]
        );
        assert_eq!(
            read("updated", r#"{"country":[null,840],"revision":[1,2],"opened_with":[null,"\\x00"]}"#),
            [("country".to_owned(), None, text("840")), ("etag".to_owned(), text("1"), text("2"))]
        );
        assert_eq!(read("deleted", r#"{"url_id":7}"#), [("url_id".to_owned(), text("7"), None)]);
    }
}
