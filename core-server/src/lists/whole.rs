//! All records of a list that match its filters, by ID: the statements for the pages in which they are read.

use std::collections::BTreeSet;

use prost::Message;
use sqlx::{
    Postgres,
    postgres::{PgArguments, PgRow},
    query::Query,
};
use storage::template::fill;

use super::{
    description::List,
    statement::{filters_or_null, types},
    statements::chosen,
};
use crate::record_query::Place;

/// Maximum size of transcribed text on a page, in bytes. The page ends with the record that exceeds it.
const TRANSCRIPT_BYTES: usize = 2 << 20;

/// A message of the stream: a page of records, or a part of one.
pub(crate) trait RecordPage: Message + Sized + Send + 'static {
    /// Whether a page may have fewer records than requested although more follow.
    const MAY_BE_SHORT: bool = false;

    /// The number of the table of the records.
    const RESOURCE: i16;

    /// Which records are read. `()` for all.
    type Filters: Send + Sync + 'static;

    /// The statement for a page. Its first parameters are the company, the ID before the page, and the number of records. With
    /// `changed`, its last parameter is the IDs of the changed records. Its column `last_id` is the ID of a record.
    fn statement(filters: &Self::Filters, changed: bool) -> &'static str;

    /// Binds the other parameters.
    fn bind(query: PageOfRecords, _: &Self::Filters) -> PageOfRecords {
        query
    }

    /// Reads records. `last_id` is the ID of the last one.
    fn read(rows: &[PgRow], last_id: i64) -> Result<Self, sqlx::Error>;
}

/// A statement for a page, with its parameters.
pub(crate) type PageOfRecords = Query<'static, Postgres, PgArguments>;

pub(crate) struct Whole<Q: 'static> {
    list: &'static List<Q>,
    /// The statements with the types of their parameters. The first two read all records of the company or of an affiliate. The
    /// others read only the changed records.
    pub(crate) statements: [(&'static str, &'static str); 4],
}

impl<Q> Whole<Q> {
    /// `long` is a column with texts so long that a few records make a page.
    pub(crate) fn of(list: &'static List<Q>, long: Option<&str>) -> Self {
        let all_types = types(list.values(true));
        // Records of one affiliate have an index of their own.
        let (all, of_affiliate) = ("", "and u.affiliate_id = $6");
        let statements = [(false, all), (false, of_affiliate), (true, all), (true, of_affiliate)];
        let statements = statements.map(|(changed, condition)| {
            let from = chosen(list.table, "u", changed.then_some(1 + all_types.split(", ").count()));
            let types = format!("{all_types}{}", if changed { ", bigint[]" } else { "" });
            (&*statement(list, long, &from, condition).leak(), &*types.leak())
        });
        Self { list, statements }
    }

    /// The statement for a page.
    pub(crate) fn statement(&self, request: &Q, changed: bool) -> &'static str {
        let affiliate = (self.list.asked)(request).affiliate;
        self.statements[usize::from(affiliate.is_some()) + 2 * usize::from(changed)].0
    }

    /// Binds what follows the number of records.
    pub(crate) fn bind(&self, page: PageOfRecords, request: &Q) -> PageOfRecords {
        let asked = (self.list.asked)(request);
        let (first, last) = asked.days.unzip();
        let page = page.bind(first).bind(last).bind(asked.affiliate);
        self.list.values(true).fold(page, |page, value| value.bind(page, request))
    }
}

fn statement<Q>(list: &List<Q>, long: Option<&str>, from: &str, condition: &str) -> String {
    let (conditions, compared) = list.comparison.as_ref().map_or(("", &[][..]), |it| (it.conditions, it.columns));
    let columns: BTreeSet<&str> =
        list.filters.iter().map(|filter| filter.column).chain(compared.iter().copied()).chain(long).collect();
    let columns: String = columns.into_iter().flat_map(|column| [", u.", column]).collect();
    let filters = filters_or_null(list) + &fill(conditions, &[]);
    let long_column = long.map_or_else(String::new, |long| format!(", u.{long}"));
    let parts = [
        ("from", from),
        ("condition", condition),
        ("date", list.date),
        ("columns", &columns),
        ("filters", &filters),
        ("long", &long_column),
    ];
    page(&fill(include_str!("sql/whole.sql"), &parts), long, &(list.record)(&Place::now("$1", "p.id")))
}

/// The records `p.id` that the statement `ids` selects, each as `record` reads it.
///
/// If the statement also selects texts in the column `long`, the page has as many records as their texts allow.
pub(crate) fn page(ids: &str, long: Option<&str>, record: &str) -> String {
    let file = if long.is_some() { include_str!("sql/page_of_texts.sql") } else { include_str!("sql/page.sql") };
    let most = TRANSCRIPT_BYTES.to_string();
    fill(file, &[("ids", ids), ("record", record), ("long", long.unwrap_or_default()), ("most", &most)])
}
