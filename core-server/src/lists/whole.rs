//! All records of a list that its filters let through, by ID: the statements for the pages in which they are read.

use std::collections::BTreeSet;

use storage::template::fill;

use super::{
    description::List,
    page::Asked,
    statement::{TYPES, filter_types, filters_or_null},
    statements::chosen,
};
use crate::{record_pages::PageOfRecords, record_query::Place};

/// Transcribed text on a page, in bytes: after it, the page has no further record.
const TRANSCRIPT_BYTES: usize = 2 << 20;

pub(crate) struct Whole<Q: 'static> {
    list: &'static List<Q>,
    /// With the types of their parameters: for all records of the company and for those of an affiliate, then the same for records that
    /// have changed.
    pub(crate) statements: [(&'static str, &'static str); 4],
}

impl<Q> Whole<Q> {
    /// `long` is a column with texts that are so long that few of them make a page.
    pub(crate) fn of(list: &'static List<Q>, long: Option<&str>) -> Self {
        let compared = list.comparison.as_ref().map(|comparison| comparison.types);
        let (filters, compared) = (filter_types(list), compared.map_or_else(String::new, |types| format!(", {types}")));
        let filters = filters + &compared;
        // Records of one affiliate have an index of their own.
        let (all, of_affiliate) = ("", "and u.affiliate_id = $6");
        let statements = [(false, all), (false, of_affiliate), (true, all), (true, of_affiliate)];
        let statements = statements.map(|(changed, condition)| {
            let from = chosen(list.table, "u", changed.then_some(1 + format!("{TYPES}{filters}").split(", ").count()));
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
        let page = self.list.filters.iter().fold(page, |page, filter| filter.value.bind(page, request));
        match &self.list.comparison {
            Some(comparison) => (comparison.bind)(page, request),
            None => page,
        }
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

/// The records `p.id` that a statement selects, each as `record` has it. Of those with texts in `long`, which the statement selects too, as
/// many as their texts let fit.
pub(crate) fn page(ids: &str, long: Option<&str>, record: &str) -> String {
    let file = if long.is_some() { include_str!("sql/page_of_texts.sql") } else { include_str!("sql/page.sql") };
    let most = TRANSCRIPT_BYTES.to_string();
    fill(file, &[("ids", ids), ("record", record), ("long", long.unwrap_or_default()), ("most", &most)])
}
