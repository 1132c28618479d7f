//! The shape of a request for a page. It decides how the page is found: by a seek, by a scan, or by a choice between a scan and a sort.

use super::description::{Filter, List, Part, midnight};

/// The properties of a request that decide on its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// The parts of the sort key.
    pub(super) parts: &'static [Part],
    /// The column of a range of days.
    pub(super) date: &'static str,
    pub(super) descending: bool,
    /// Whether the request has a range of days.
    pub(super) ranged: bool,
    pub(super) filtered: bool,
    pub(super) among: Among,
}

/// The records of one affiliate, or all records, with a shallow or a deep offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    Affiliate,
    Shallow,
    Deep,
}

impl Shape {
    /// The column of the sort key, unless it is the ID.
    pub(super) fn column(&self) -> Option<&'static str> {
        if let [Part::Days(column), ..] = self.parts { Some(column) } else { None }
    }

    /// Whether the range and the sort key are on different columns.
    pub(super) fn ranged_elsewhere(&self) -> bool {
        self.ranged && self.column() != Some(self.date)
    }

    /// Whether the range is on the column of this part of the sort key.
    pub(super) fn ranged_along(&self, part: Part) -> bool {
        self.ranged && part == Part::Days(self.date)
    }

    /// Whether the statement seeks the page by counts.
    ///
    /// With a range on another column, a seek counts the records of each bucket that is partly in the range. These are few if the sort key
    /// is the ID, and nearly all if it is another timestamp.
    pub(super) fn seeks(&self) -> bool {
        self.among == Among::Deep && (!self.ranged_elsewhere() || self.column().is_none())
    }

    /// Whether the statement chooses between a scan and a sort.
    pub(super) fn chooses(&self) -> bool {
        self.ranged_elsewhere() && !self.seeks()
    }

    /// Whether each combination of filter values has its own scan.
    ///
    /// With a deep offset and without a seek, sorting the results of all scans would cost more than skipping records that do not match.
    pub(super) fn grouped(&self) -> bool {
        self.filtered && !(self.chooses() && self.among == Among::Deep)
    }
}

/// The number of the first filter's parameter.
pub(super) const FIRST_FILTER: usize = 7;

/// A statement that reads a page.
pub(super) struct PageStatement<'l, Q: 'static> {
    pub(super) list: &'l List<Q>,
    pub(super) shape: Shape,
}

impl<Q> PageStatement<'_, Q> {
    /// Compares the columns of the counts with the filters. An absent filter is null. The condition is a range, so the counts' index can
    /// evaluate it.
    pub(super) fn equal_counts(&self, alias: &str) -> String {
        self.each_filter(|number, Filter { column, value }| {
            let (_, lowest, highest) = value.sql_type();
            format!(" and {alias}.{column} between coalesce(${number}, {lowest}) and coalesce(${number}, {highest})")
        })
    }

    /// Compares the columns of `u` with the filters. The planner estimates that half of the records match. For a column that is compared
    /// with itself, it would estimate a few.
    pub(super) fn equal(&self) -> String {
        self.each_filter(|number, Filter { column, .. }| format!(" and coalesce(u.{column} = ${number}, true)"))
    }

    /// A condition for each filter, from the number of its parameter. Empty without filters in the request.
    fn each_filter(&self, condition: impl Fn(usize, &Filter<Q>) -> String) -> String {
        let filters = if self.shape.filtered { self.list.filters } else { &[] };
        (FIRST_FILTER..).zip(filters).map(|(number, filter)| condition(number, filter)).collect()
    }

    /// Compares the date of `u` with the range. The bounds are subqueries, which are computed once.
    pub(super) fn in_range(&self) -> String {
        let (date, from, to) = (self.list.date, midnight("$4"), midnight("$5 + 1"));
        if self.shape.ranged {
            format!(" and u.{date} >= (select {from}) and u.{date} < (select {to})")
        } else {
            String::new()
        }
    }

    pub(super) fn direction(&self) -> &'static str {
        if self.shape.descending { "desc" } else { "asc" }
    }
}

/// The same conditions in a form that does not influence the choice of an index.
pub(super) fn unindexed(conditions: &str) -> String {
    if conditions.is_empty() { String::new() } else { format!(" and (true {conditions}) is true") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: &[Part] = &[Part::Ids];
    const MADE: &[Part] = &[Part::Days("made")];
    const SEEN: &[Part] = &[Part::Days("seen"), Part::Nulls("seen")];

    /// The shape of a request, and how its page is found.
    type Row<'a> = (&'static [Part], bool, bool, Among, &'a [&'a str]);

    #[test]
    fn the_shape_of_a_request_decides_how_its_page_is_found() {
        let (seeks, chooses, grouped) = ("seeks", "chooses", "grouped");
        let table: &[Row] = &[
            (IDS, false, false, Among::Shallow, &[]),
            (MADE, true, false, Among::Shallow, &[]),
            (MADE, false, true, Among::Shallow, &[grouped]),
            (SEEN, true, false, Among::Shallow, &[chooses]),
            (SEEN, true, true, Among::Shallow, &[chooses, grouped]),
            (IDS, true, true, Among::Shallow, &[chooses, grouped]),
            (IDS, false, false, Among::Deep, &[seeks]),
            (IDS, true, false, Among::Deep, &[seeks]),
            (MADE, true, false, Among::Deep, &[seeks]),
            (SEEN, false, false, Among::Deep, &[seeks]),
            (SEEN, true, false, Among::Deep, &[chooses]),
            (SEEN, true, true, Among::Deep, &[chooses]),
            (MADE, true, true, Among::Deep, &[seeks, grouped]),
            (SEEN, false, true, Among::Deep, &[seeks, grouped]),
            (IDS, true, true, Among::Deep, &[seeks, grouped]),
        ];
        for (number, (parts, ranged, filtered, among, expected)) in table.iter().enumerate() {
            let (ranged, filtered, among) = (*ranged, *filtered, *among);
            let shape = Shape { parts, date: "made", descending: false, ranged, filtered, among };
            let found = [(seeks, shape.seeks()), (chooses, shape.chooses()), (grouped, shape.grouped())];
            let found: Vec<&str> = found.into_iter().filter_map(|(name, is_so)| is_so.then_some(name)).collect();
            assert_eq!(found, *expected, "row {number}");
        }
    }
}
