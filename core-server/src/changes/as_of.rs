//! Records as of an earlier time: the current record with all later changes undone, newest first.

use std::{collections::BTreeMap, sync::LazyLock};

use compliance_api::{
    error::{Error, Reason},
    record::Record,
    rules::{Violations, timestamp},
    v1::{ComplianceCase, ComplianceUrl},
};
use sqlx::{Row as _, postgres::PgRow};
use storage::{
    reads::{ReadByKey, Reads},
    table::Reader,
    template::fill,
};

use crate::{
    access::Served,
    affiliates::read as affiliates,
    backend::Backend,
    cases::list as cases,
    lists::{Records, read_records},
    quotas::{DatabaseWork, with_memory},
    record_sql::{Place, RecordQuery},
    urls::list as urls,
};

/// The statements, by table number.
pub(crate) static STATEMENTS: LazyLock<BTreeMap<i16, &str>> = LazyLock::new(|| {
    BTreeMap::from([
        (1, statement(affiliates::query)),
        (2, statement(urls::query::<ComplianceUrl>)),
        (4, statement(cases::query::<ComplianceCase>)),
    ])
});
/// The parameter types of [`STATEMENTS`].
pub(crate) const TYPES: &str = "bigint, smallint, bigint, bigint";

/// The tables of past records that `as_of.sql` builds. Past records contain no upline name.
const PAST: Place = Place {
    company: "$1",
    id: "p.id",
    tables: [
        ("affiliates", "past_affiliates"),
        ("compliance_urls", "past_compliance_urls"),
        ("infractions", "past_infractions"),
        ("compliance_cases", "past_compliance_cases"),
        ("incidents", "past_incidents"),
        ("upline", "null"),
    ],
};

fn statement(record: RecordQuery) -> &'static str {
    let changes_of = |resource, id| fill(include_str!("changes_of.sql"), &[("resource", resource), ("id", id)]);
    let (of_record, of_affiliate) = (changes_of("$2", "$3"), changes_of("1", "k.id"));
    let parts = [("of_record", &*of_record), ("of_affiliate", &of_affiliate), ("record", &record(&PAST))];
    fill(concat!(include_str!("state.sql"), include_str!("as_of.sql")), &parts).leak()
}

/// Returns a record as of the end of a second.
pub(crate) async fn past<R: Record>(
    backend: &Backend,
    reads: &Reads<R>,
    company_id: i64,
    id: i64,
    as_of: &str,
) -> Served<R> {
    let second = timestamp(as_of).unwrap_or_default();
    let ReadByKey { resource, decode, not_found, .. } = reads.statement;
    let statement = STATEMENTS.get(&resource).copied().ok_or_else(Error::internal)?;
    let query = || sqlx::query(statement).bind(company_id).bind(resource).bind(id).bind(second + 1);
    let read = |reader: &Reader<R>, row: &PgRow| {
        let is_found: Option<bool> = row.try_get("is_found")?;
        Ok((rejection(row, second)?, is_found.map(|_| decode(reader, row)).transpose()?))
    };
    // The read can take a long time, because it reads all later changes.
    let reading = read_records(backend.source(company_id), query, read);
    let Records { mut records, memory } = backend.with_permit(company_id, DatabaseWork::LongStatement, reading).await?;
    match records.pop() {
        Some((Some(error), _)) => Err(error.into()),
        Some((None, Some(record))) => Ok(with_memory(record, memory)),
        _ => Err(not_found(id).into()),
    }
}

/// Returns an error if the record's state at this time is unknown.
fn rejection(row: &PgRow, second: i64) -> Result<Option<Error>, sqlx::Error> {
    if second > row.try_get("this_second")? {
        return Ok(Some(Error::invalid(Violations::one("as_of", "The as of field must not be in the future."))));
    }
    let (dropped, last): (i64, i64) = (row.try_get("dropped_position")?, row.try_get("last_position")?);
    // The time of the first retained change.
    let first: Option<i64> = row.try_get("first_second")?;
    let is_gone = dropped > 0 && first.is_none_or(|first| second < first);
    let message = "The record cannot be read as of this time: the service has removed later changes.";
    let error = || Error::new(Reason::PositionGone, message).with("dropped_position", dropped);
    Ok(is_gone.then(|| error().with("last_position", last)))
}
