//! All records of a list that its filters let through, by ID: the statements for the pages in which they are read.

use storage::template::fill;

use super::{
    description::{Filter, List},
    page::Asked,
    statements::chosen,
};
use crate::{limits::TRANSCRIPT_BYTES, record_pages::PageOfRecords, record_query::Place};

/// The company, the ID that the page follows, the number of records, the days and the affiliate. Then the filters.
const TYPES: &str = "bigint, bigint, bigint, integer, integer, bigint";

pub(crate) struct Whole<Q: 'static> {
    list: &'static List<Q>,
    /// With the types of their parameters: for all records of the company and for those of an affiliate, then the same for records that
    /// have changed.
    pub(crate) statements: [(&'static str, &'static str); 4],
}

impl<Q> Whole<Q> {
    /// `long` is a column with texts that are so long that few of them make a page.
    pub(crate) fn of(list: &'static List<Q>, long: Option<&str>) -> Self {
        let filters: String = list.filters.iter().flat_map(|filter| [", ", filter.value.sql_type().0]).collect();
        // Records of one affiliate have an index of their own.
        let (all, of_affiliate) = ("", "and u.affiliate_id = $6");
        let statements = [(false, all), (false, of_affiliate), (true, all), (true, of_affiliate)];
        let statements = statements.map(|(changed, condition)| {
            let from = chosen(list.table, "u", changed.then_some(7 + list.filters.len()));
            let types = format!("{TYPES}{filters}{}", if changed { ", bigint[]" } else { "" });
            (&*statement(list, long, &from, condition).leak(), &*types.leak())
        });
        Self { list, statements }
    }

    /// The statement for a page.
    pub(crate) fn statement(&self, asked: Asked, changed: bool) -> &'static str {
        self.statements[usize::from(asked.affiliate.is_some()) + 2 * usize::from(changed)].0
    }

    /// Binds what follows the number of records.
    pub(crate) fn bind(&self, page: PageOfRecords, request: &Q, asked: Asked) -> PageOfRecords {
        let (first, last) = asked.days.unzip();
        let page = page.bind(first).bind(last).bind(asked.affiliate);
        self.list.filters.iter().fold(page, |page, filter| filter.value.bind(page, request))
    }
}

fn statement<Q>(list: &List<Q>, long: Option<&str>, from: &str, condition: &str) -> String {
    let columns: String =
        list.filters.iter().map(|filter| filter.column).chain(long).flat_map(|column| [", u.", column]).collect();
    let filter = |(number, filter): (usize, &Filter<Q>)| {
        let value = format!("(select ${number}::{})", filter.value.sql_type().0);
        format!(" and ({value} is null or u.{} = {value})", filter.column)
    };
    let filters: String = (7..).zip(list.filters).map(filter).collect();
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

/// The records `p.id` that a statement selects, each as `record` has it. Of those with texts in `long`, which the statement selects too, as
/// many as their texts let fit.
pub(crate) fn page(ids: &str, long: Option<&str>, record: &str) -> String {
    let file = if long.is_some() { include_str!("sql/page_of_texts.sql") } else { include_str!("sql/page.sql") };
    let most = TRANSCRIPT_BYTES.to_string();
    fill(file, &[("ids", ids), ("record", record), ("long", long.unwrap_or_default()), ("most", &most)])
}
