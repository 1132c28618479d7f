//! Builds statements that read all of a company's records by key: whole lists in pages by ID, and lists with uncounted
//! filters or sort keys.

use std::collections::BTreeSet;

use prost::Message;
use sqlx::{
    Postgres,
    postgres::{PgArguments, PgRow},
    query::Query,
};
use storage::template::fill;

use super::{
    description::{Comparison, Counts, List, Part},
    page_sql::{days_or_null, filters_or_null, types},
};
use crate::record_sql::Place;

/// Maximum size of transcribed text on a page, in bytes. The page ends with the record that exceeds it.
const TRANSCRIPT_BYTES: usize = 2 << 20;

/// A stream message: a page of records, or a part of a page.
pub(crate) trait RecordPage: Message + Sized + Send + 'static {
    /// Whether a page can contain fewer records than requested even if more follow.
    const MAY_BE_SHORT: bool = false;

    /// The records' table number.
    const RESOURCE: i16;

    /// The filters that select records, or `()` for all records.
    type Filters: Send + Sync + 'static;

    /// Returns the statement for a page.
    ///
    /// The first parameters are the company, the ID before the page, and the number of records. With `changed`, the last parameter is the
    /// changed records' IDs. The `last_id` column is a record's ID.
    fn statement(filters: &Self::Filters, changed: bool) -> &'static str;

    /// Binds the remaining parameters.
    fn bind(query: PageOfRecords, _: &Self::Filters) -> PageOfRecords {
        query
    }

    /// Reads records. `last_id` is the last record's ID.
    fn read(rows: &[PgRow], last_id: i64) -> Result<Self, sqlx::Error>;
}

/// A page statement with its parameters.
pub(crate) type PageOfRecords = Query<'static, Postgres, PgArguments>;

/// Returns the statements for pages of a whole list, with their parameter types.
///
/// The first two read all records of the company or of an affiliate. The others read only changed records. Lists without counts have
/// separate statements.
pub(super) fn whole<Q>(list: &List<Q>) -> Vec<(&'static str, &'static str)> {
    let Some(counts) = &list.counts else { return Vec::new() };
    let all_types = types(list.values(true));
    // Records of one affiliate have their own index.
    let (all, of_affiliate) = ("", "and u.affiliate_id = $6");
    let statement = |(changed, condition): (bool, &str)| {
        let from = chosen(list.table, "u", changed.then_some(1 + all_types.split(", ").count()));
        let types = format!("{all_types}{}", if changed { ", bigint[]" } else { "" });
        (&*whole_statement(list, counts, &from, condition).leak(), &*types.leak())
    };
    [(false, all), (false, of_affiliate), (true, all), (true, of_affiliate)].map(statement).into()
}

fn whole_statement<Q>(list: &List<Q>, counts: &Counts, from: &str, condition: &str) -> String {
    let long = list.long;
    let (conditions, compared) =
        list.comparison.as_ref().map_or((String::new(), &[][..]), |it| ((it.conditions)(), it.columns));
    let columns: BTreeSet<&str> =
        list.filters.iter().map(|filter| filter.column).chain(compared.iter().copied()).chain(long).collect();
    let columns: String = columns.into_iter().flat_map(|column| [", u.", column]).collect();
    let filters = days_or_null(list) + &filters_or_null(list) + &conditions;
    let long_column = long.map_or_else(String::new, |long| format!(", u.{long}"));
    let parts = [
        ("from", from),
        ("condition", condition),
        ("date", counts.date),
        ("columns", &columns),
        ("filters", &filters),
        ("long", &long_column),
    ];
    page(&fill(include_str!("sql/whole.sql"), &parts), long, &(list.record)(&Place::now("$1", "p.id")))
}

/// Returns a statement that reads the records selected by the statement `ids`, each with the query `record`.
///
/// If `ids` also selects texts in the `long` column, their size limits the number of records on the page.
pub(crate) fn page(ids: &str, long: Option<&str>, record: &str) -> String {
    let file = if long.is_some() { include_str!("sql/page_of_texts.sql") } else { include_str!("sql/page.sql") };
    let most = TRANSCRIPT_BYTES.to_string();
    fill(file, &[("ids", ids), ("record", record), ("long", long.unwrap_or_default()), ("most", &most)])
}

/// Returns the `from` item for all records of a table, or for the IDs in the `ids` parameter.
pub(crate) fn chosen(table: &str, alias: &str, ids: Option<usize>) -> String {
    let Some(ids) = ids else { return format!("{table} {alias}") };
    let ids = format!("${ids}");
    fill(include_str!("sql/chosen.sql"), &[("table", table), ("alias", alias), ("ids", &ids)])
}

/// A statement that compares all records and reads a page of the matches, with its sort key and direction.
pub(super) type Compared = ((i32, bool), &'static str);

/// Returns the statements for uncounted filters and sort keys: one for each sort key and direction.
pub(super) fn compared<Q>(list: &List<Q>) -> Vec<Compared> {
    let Some(comparison) = &list.comparison else { return Vec::new() };
    let usual = list.sorts.iter().map(|sort| (sort.number, key(sort.parts)));
    let usual = usual.chain(list.sorts.first().map(|sort| (0, key(sort.parts))));
    let own = comparison.sorts.iter().map(|(number, key)| (*number, (*key).to_owned()));
    let statement = |(sort, key): (i32, String)| {
        let statement = |descending| &*compared_statement(list, comparison, &key, descending).leak();
        [((sort, false), statement(false)), ((sort, true), statement(true))]
    };
    usual.chain(own).flat_map(statement).collect()
}

fn key(parts: &[Part]) -> String {
    if let [Part::Days(column), ..] = parts { format!("u.{column}") } else { "null::timestamptz".to_owned() }
}

fn compared_statement<Q>(list: &List<Q>, comparison: &Comparison<Q>, key: &str, descending: bool) -> String {
    let direction = if descending { "desc" } else { "asc" };
    let order = |alias: &str| format!("{alias}k {direction} nulls last, {alias}id {direction}");
    let of_affiliate = list.counts.as_ref().map_or("", |_| " and ($6::bigint is null or u.affiliate_id = $6)");
    let filters = days_or_null(list) + of_affiliate + &filters_or_null(list) + &(comparison.conditions)();
    let matches = fill(
        include_str!("sql/compared.sql"),
        &[("table", list.table), ("key", key), ("filters", &filters), ("order", &order(""))],
    );
    let record = (list.record)(&Place::now("$1", "p.id"));
    matches + &fill(include_str!("sql/records.sql"), &[("record", &record), ("order", &order("p."))])
}
