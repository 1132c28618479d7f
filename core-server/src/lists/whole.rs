//! All records of a list that its filters let through, by ID: the statements for the pages in which they are read.

use super::{
    description::{Filter, List, midnight},
    page::Asked,
    statements::chosen,
};
use crate::{limits::TRANSCRIPT_BYTES, record_pages::PageOfRecords};

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

/// Records are read in the order of their IDs, and those that do not match are passed over. The inner limit is none. The planner cannot
/// see that: it takes the records to be few of many, so it does not read and sort all of them, and it filters what the scan returns.
fn statement<Q>(list: &List<Q>, long: Option<&str>, from: &str, condition: &str) -> String {
    let List { date, .. } = list;
    let day = |number: usize| format!("(select ${number}::integer)");
    let bound =
        |number, compared: &str, instant: String| format!("({} is null or u.{date} {compared} {instant})", day(number));
    let range = [bound(4, ">=", midnight(&day(4))), bound(5, "<", midnight(&format!("{} + 1", day(5))))];
    let filter = |(number, filter): (usize, &Filter<Q>)| {
        let value = format!("(select ${number}::{})", filter.value.sql_type().0);
        format!("({value} is null or u.{} = {value})", filter.column)
    };
    let conditions: Vec<String> = range.into_iter().chain((7..).zip(list.filters).map(filter)).collect();
    let conditions = conditions.join(" and ");
    let column = long.map_or_else(String::new, |long| format!(", u.{long}"));
    let filtered: String = list.filters.iter().flat_map(|filter| [", u.", filter.column]).collect();
    let ids = format!(
        "select u.id{column}
        from (
            select u.id, u.{date}{filtered}{column} from {from}
            where u.company_id = $1 and u.id > $2 {condition} order by u.id limit (select null::bigint)
        ) u
        where {conditions} order by u.id limit $3"
    );
    page(&ids, long, &(list.record)("$1", "p.id"))
}

/// The records `p.id` that a statement selects, each as `record` has it. Of those with texts in `long`, which the statement selects too, as
/// many as their texts let fit.
pub(crate) fn page(ids: &str, long: Option<&str>, record: &str) -> String {
    // The length of a stored text is known without reading it.
    let (bytes_before, fits) = match long {
        None => (String::new(), String::new()),
        Some(long) => (
            format!(
                ", sum(octet_length(u.{long})) over (
                    order by u.id rows between unbounded preceding and 1 preceding
                ) as bytes_before"
            ),
            format!("where p.bytes_before is null or p.bytes_before < {TRANSCRIPT_BYTES}"),
        ),
    };
    format!(
        "select p.id as last_id, r.*
        from (select u.id{bytes_before} from ({ids}) u) p
        cross join lateral ({record}) r
        {fits}
        order by p.id"
    )
}
