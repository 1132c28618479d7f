//! Builds the statement that counts the matches, finds a page and reads its records, on one snapshot.
//!
//! `docs/architecture/lists.md` explains the design. This module combines the statement fragments in `sql`. Bounds and limits are
//! subqueries, which hide their values from the planner. The planner then uses the same defaults regardless of its statistics.

use storage::template::fill;

use super::description::{Counts, Filter, List, Part, Value, midnight};
use crate::record_sql::Place;

/// The parameter number of the first filter.
const FIRST_FILTER: usize = 7;

/// Returns a statement's parameter types: company, limit, offset, first day, last day and affiliate, then the types of the values.
pub(super) fn types<'v, Q: 'v>(values: impl Iterator<Item = &'v Value<Q>>) -> String {
    let types = ["bigint, bigint, bigint, integer, integer, bigint"].into_iter();
    types.chain(values.map(|value| value.sql_type().0)).collect::<Vec<_>>().join(", ")
}

/// Returns conditions that compare the columns of `u` with the filters. Absent filters are null.
pub(super) fn filters_or_null<Q>(list: &List<Q>) -> String {
    let condition = |(number, filter): (usize, &Filter<Q>)| {
        let value = format!("(select ${number}::{})", filter.value.sql_type().0);
        format!(" and ({value} is null or u.{} = {value})", filter.column)
    };
    (FIRST_FILTER..).zip(list.filters).map(condition).collect()
}

/// Returns conditions that compare the date of `u` with a day range. Absent days are null. Empty if the list has no counts.
pub(super) fn days_or_null<Q>(list: &List<Q>) -> String {
    let Some(Counts { date, .. }) = &list.counts else { return String::new() };
    let (after, before) = ("(select $4::integer)", "(select $5::integer)");
    let (from, to) = (midnight(after), midnight(&format!("{before} + 1")));
    format!(" and ({after} is null or u.{date} >= {from}) and ({before} is null or u.{date} < {to})")
}

/// The request properties that determine the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the properties are independent")]
pub(super) struct Shape {
    /// The parts of the sort key.
    pub(super) parts: &'static [Part],
    pub(super) descending: bool,
    /// Whether the request has a day range.
    pub(super) ranged: bool,
    pub(super) filtered: bool,
    pub(super) of_affiliate: bool,
}

/// Builds a statement that reads a page.
pub(super) struct PageStatement<'l, Q: 'static> {
    pub(super) list: &'l List<Q>,
    pub(super) counts: &'l Counts,
    pub(super) shape: Shape,
}

impl<Q> PageStatement<'_, Q> {
    pub(super) fn sql(&self) -> String {
        let found = if self.shape.of_affiliate {
            self.of_affiliate()
        } else if self.ranged_elsewhere() {
            self.scan_or_sort()
        } else {
            self.in_order()
        };
        let (record, order) = ((self.list.record)(&Place::now("$1", "p.id")), self.order_of("p."));
        found + &fill(include_str!("sql/records.sql"), &[("record", &record), ("order", &order)])
    }

    fn of_affiliate(&self) -> String {
        fill(
            include_str!("sql/of_affiliate.sql"),
            &[
                ("table", self.list.table),
                ("key", &self.key_column()),
                // Reading twice costs less than materializing, unless a range excludes most records.
                ("kept", if self.shape.ranged { "materialized" } else { "not materialized" }),
                ("equal", &self.equal()),
                ("in_range", &unindexed(&self.in_range())),
                ("direction", self.direction()),
                ("order", &self.order_of("")),
            ],
        )
    }

    fn in_order(&self) -> String {
        let (low, high) = if self.shape.ranged { (Some("$4"), Some("$5 + 1")) } else { (None, None) };
        let scans: Vec<String> =
            self.shape.parts.iter().map(|part| self.scan(*part, &part.between(low, high), "")).collect();
        fill(
            include_str!("sql/in_order.sql"),
            &[("total", &self.total()), ("groups", &self.groups()), ("scans", &scans.join(" union all "))],
        )
    }

    fn scan_or_sort(&self) -> String {
        let in_range = self.in_range();
        let (mut bounds, mut scans) = (Vec::new(), Vec::new());
        for (number, part) in self.shape.parts.iter().enumerate() {
            bounds.push(format!("bounds{number} as materialized ({})", self.bounds(*part)));
            // `near` is a fine bucket, and `far` is a coarse bucket.
            let (near, far) =
                (format!("(select near from bounds{number})"), format!("(select far from bounds{number})"));
            let (low, high) = if self.shape.descending {
                (format!("{far} << 5"), format!("{near} + 1"))
            } else {
                (near, format!("({far} + 1) << 5"))
            };
            scans.push(self.scan(*part, &part.between(Some(&low), Some(&high)), &unindexed(&in_range)));
        }
        fill(
            include_str!("sql/scan_or_sort.sql"),
            &[
                ("total", &self.total()),
                ("groups", &self.groups()),
                ("number_of_scans", if self.shape.filtered { "(select count(*) from groups)" } else { "1" }),
                ("bounds", &bounds.join(",\n")),
                ("scans", &scans.join(" union all ")),
                ("table", self.list.table),
                ("key", &self.key_column()),
                ("of_group", &self.of_group()),
                ("in_range", &in_range),
                ("date", self.counts.date),
                ("order", &self.order_of("u.")),
            ],
        )
    }

    /// Returns a query with one row: `total`, the number of matches.
    fn total(&self) -> String {
        let file =
            if self.shape.ranged { include_str!("sql/total_in_range.sql") } else { include_str!("sql/total.sql") };
        let date = Part::Days(self.counts.date);
        fill(
            file,
            &[
                ("counts", self.counts.table),
                ("date", date.fine()),
                ("date_coarse", &date.coarse()),
                ("equal", &self.equal_counts("c")),
            ],
        )
    }

    fn groups(&self) -> String {
        let columns: Vec<&str> = self.list.filters.iter().map(|filter| filter.column).collect();
        let (columns, equal) = (columns.join(", "), self.equal_counts("c"));
        let parts = [("columns", &*columns), ("counts", self.counts.table), ("equal", &*equal)];
        fill(include_str!("sql/groups.sql"), &parts)
    }

    fn bounds(&self, part: Part) -> String {
        let (nearest, farthest, edge) =
            if self.shape.descending { ("desc", "asc", "+ 31") } else { ("asc", "desc", "") };
        fill(
            include_str!("sql/bounds.sql"),
            &[
                ("counts", self.counts.table),
                ("fine", part.fine()),
                ("coarse", &part.coarse()),
                ("number", &part.number()),
                ("fine_equal", &self.equal_counts("f")),
                ("coarse_equal", &self.equal_counts("c")),
                ("nearest", nearest),
                ("farthest", farthest),
                ("edge", edge),
            ],
        )
    }

    /// Returns a scan of one part of the sort key. With filters, scans each combination of their values.
    fn scan(&self, part: Part, between: &str, in_range: &str) -> String {
        let file = if self.shape.filtered { include_str!("sql/scan_groups.sql") } else { include_str!("sql/scan.sql") };
        fill(
            file,
            &[
                ("table", self.list.table),
                ("key", &self.key_column()),
                ("of_group", &self.of_group()),
                ("between", between),
                ("in_range", in_range),
                ("index_order", &part.order(self.shape.descending)),
                ("order", &self.order_of("u.")),
            ],
        )
    }

    /// Returns whether the range and the sort key are on different columns.
    fn ranged_elsewhere(&self) -> bool {
        self.shape.ranged && self.column() != Some(self.counts.date)
    }

    /// Returns conditions that compare the counts columns with the filters. Absent filters are null. The conditions are ranges, which the
    /// counts' index can evaluate.
    fn equal_counts(&self, alias: &str) -> String {
        self.each_filter(|number, Filter { column, value }| {
            let (_, lowest, highest) = value.sql_type();
            format!(" and {alias}.{column} between coalesce(${number}, {lowest}) and coalesce(${number}, {highest})")
        })
    }

    /// Returns conditions that compare the columns of `u` with the filters.
    ///
    /// With `coalesce`, the planner estimates that half of the records match. For a column compared with itself, it would estimate only a
    /// few.
    fn equal(&self) -> String {
        self.each_filter(|number, Filter { column, .. }| format!(" and coalesce(u.{column} = ${number}, true)"))
    }

    /// Builds a condition for each filter from its parameter number. Empty if the request has no filters.
    fn each_filter(&self, condition: impl Fn(usize, &Filter<Q>) -> String) -> String {
        let filters = if self.shape.filtered { self.list.filters } else { &[] };
        (FIRST_FILTER..).zip(filters).map(|(number, filter)| condition(number, filter)).collect()
    }

    /// Returns a condition for records `u` in the group `g`.
    fn of_group(&self) -> String {
        let column = |filter: &Filter<Q>| format!(" and u.{0} = g.{0}", filter.column);
        self.list.filters.iter().map(column).collect()
    }

    /// Returns conditions that compare the date of `u` with the range. The bounds are subqueries, which run only once.
    fn in_range(&self) -> String {
        let (date, from, to) = (self.counts.date, midnight("$4"), midnight("$5 + 1"));
        if self.shape.ranged {
            format!(" and u.{date} >= (select {from}) and u.{date} < (select {to})")
        } else {
            String::new()
        }
    }

    /// Returns the sort key's column, or `None` for the ID.
    fn column(&self) -> Option<&'static str> {
        if let [Part::Days(column), ..] = self.shape.parts { Some(column) } else { None }
    }

    /// Returns SQL for the sort key. Null for the ID, which is always selected.
    fn key_column(&self) -> String {
        self.column().map_or_else(|| "null::timestamptz".to_owned(), |column| format!("u.{column}"))
    }

    fn order_of(&self, alias: &str) -> String {
        let direction = self.direction();
        format!("{alias}k {direction} nulls last, {alias}id {direction}")
    }

    fn direction(&self) -> &'static str {
        if self.shape.descending { "desc" } else { "asc" }
    }
}

/// Returns the same conditions in a form that does not affect the choice of index.
fn unindexed(conditions: &str) -> String {
    if conditions.is_empty() { String::new() } else { format!(" and (true {conditions}) is true") }
}
