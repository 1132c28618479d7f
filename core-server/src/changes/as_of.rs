//! Records as they were at an earlier time: as they are now, with all later changes undone, the last one first.

use std::{collections::BTreeMap, fmt::Write as _, sync::LazyLock};

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
};
use tonic::Response;

use crate::{
    affiliates,
    backend::Backend,
    cases,
    lists::{Records, read_records},
    requests::holding,
    shares::Work,
    urls,
};

/// The statements, by the number of the table of their records.
pub(crate) static STATEMENTS: LazyLock<BTreeMap<i16, &str>> = LazyLock::new(|| {
    BTreeMap::from([
        (1, statement(affiliates::query("$1", "p.id"))),
        (2, statement(urls::record::query::<ComplianceUrl>("$1", "p.id"))),
        (4, statement(cases::record::query::<ComplianceCase>("$1", "p.id"))),
    ])
});
/// The types of their parameters.
pub(crate) const TYPES: &str = "bigint, smallint, bigint, bigint";

/// The statement for what a query reads by its ID: it reads the same from records as they were.
fn statement(mut record: String) -> &'static str {
    let mut tables = String::new();
    for (number, table) in (1..).zip(["affiliates", "compliance_urls", "infractions", "compliance_cases", "incidents"])
    {
        record = record.replace(&format!("from {table} "), &format!("from past_{table} "));
        let fields = format!("past p cross join lateral jsonb_populate_record(null::recorded_{table}, p.fields) r");
        let _ = writeln!(tables, ", past_{table} as (select r.* from {fields} where p.resource = {number})");
    }
    // The upline is an affiliate of its own, whose name at that time is not read.
    record = record.replace("= a.upline ", "= null ");
    let past = include_str!("as_of.sql")
        .replace("{of_record}", &changes_of("$2", "$3"))
        .replace("{of_parts}", &later_rows("(select case $2 when 2 then 3 when 4 then 5 end::smallint)", OF_PARTS))
        .replace("{of_affiliate}", &changes_of("1", "k.id"))
        .replace("{tables}", &tables)
        .replace("{record}", &record);
    [include_str!("state.sql"), &past].concat().leak()
}

/// Rows of the one part, and rows that may have others: each kind has an index.
const OF_PARTS: [&str; 2] = [
    "cardinality(c.parents) = 1 and c.parents[1] = $3",
    "c.resource in (3, 5) and coalesce(cardinality(c.parents), 0) <> 1 and (c.parents is null or c.parents @> array[$3])",
];

/// A query for the later changes of a record.
fn changes_of(resource: &str, id: &str) -> String {
    let one = format!("cardinality(c.ids) = 1 and c.ids[1] = {id}");
    let several = format!("cardinality(c.ids) > 1 and c.ids @> array[{id}]");
    format!(
        "
        select c.before + e.number as position, c.resource, c.operation, e.id,
            case c.operation when 2 then ('{{' || substr(e.record, 2) || '}}')::jsonb
                else change_fields(c.resource, c.columns, c.operation, e.record) end as fields
        from ({}
        ) c
        cross join lateral unnest(c.ids, c.records) with ordinality e (id, record, number)
        where e.id = {id} and c.operation <> 4",
        later_rows(resource, [&one, &several])
    )
}

/// A query for the later rows of one kind of records that have either property. The limits are none, which the planner cannot see: it
/// reads along the indexes. What is said of a row is computed once, and not for each entry: its arrays can be large.
fn later_rows(resource: &str, properties: [&str; 2]) -> String {
    properties
        .map(|property| {
            format!(
                "
            (
                select c.position, c.resource, c.columns, c.operation, c.ids, c.records, c.position - cardinality(c.ids) as before,
                    case when cardinality(c.parents) = 1 then c.parents[1] end as parent,
                    case when cardinality(c.parents) > 1 then c.parents end as parents
                from changes c
                where c.company_id = $1 and c.resource = {resource} and c.position >= (select l.position from later l)
                    and c.changed_at >= (select to_timestamp($4::double precision)) and {property}
                order by c.position limit (select null::bigint)
            )"
            )
        })
        .join(
            "
            union all",
        )
}

/// The record as it is now, or as it was at the end of a second if that is given as a text.
pub(crate) async fn get<R: Record>(
    backend: &Backend,
    reads: &Reads<R>,
    company_id: i64,
    id: i64,
    as_of: Option<String>,
) -> Result<Response<R>, Error> {
    let Some(as_of) = as_of.filter(|as_of| !as_of.is_empty()) else {
        let (record, memory) = reads.get(company_id, id).await?;
        return Ok(holding(record, memory));
    };
    let second = timestamp(&as_of).unwrap_or_default();
    // It reads the company's batches, however many there are, so that it must not take the slots of its pages.
    backend.in_slot(company_id, Work::Heavy, read(backend, reads, company_id, id, second)).await
}

async fn read<R: Record>(
    backend: &Backend,
    reads: &Reads<R>,
    company_id: i64,
    id: i64,
    second: i64,
) -> Result<Response<R>, Error> {
    let ReadByKey { resource, decode, not_found, .. } = reads.statement;
    let statement = STATEMENTS.get(&resource).copied().ok_or_else(Error::internal)?;
    let query = || sqlx::query(statement).bind(company_id).bind(resource).bind(id).bind(second + 1);
    let read = |reader: &Reader<R>, row: &PgRow| {
        let is_found: Option<bool> = row.try_get("is_found")?;
        Ok((refusal(row, second)?, is_found.map(|_| decode(reader, row)).transpose()?))
    };
    let Records { mut records, memory } = read_records(backend.source(company_id), query, read).await?;
    match records.pop() {
        Some((Some(error), _)) => Err(error),
        Some((None, Some(record))) => Ok(holding(record, memory)),
        _ => Err(not_found(id)),
    }
}

/// Why what was at the end of a second is not known.
fn refusal(row: &PgRow, second: i64) -> Result<Option<Error>, sqlx::Error> {
    if second > row.try_get("this_second")? {
        return Ok(Some(Error::invalid(Violations::one("as_of", "The as of field must not be in the future."))));
    }
    let (dropped, last): (i64, i64) = (row.try_get("dropped_position")?, row.try_get("last_position")?);
    // That of the first change that is kept.
    let first: Option<i64> = row.try_get("first_second")?;
    let is_gone = dropped > 0 && first.is_none_or(|first| second < first);
    let message = "The record cannot be read as it was then: later changes are no longer kept.";
    let error = || Error::new(Reason::PositionGone, message).with("dropped_position", dropped);
    Ok(is_gone.then(|| error().with("last_position", last)))
}
