//! What every part of a statement that reads a page compares, as its list and what is asked for decide.

use super::{
    description::{Filter, List, midnight},
    shape::Shape,
};

/// Number of the first filter's parameter.
pub(super) const FIRST_FILTER: usize = 7;

/// A statement that reads a page.
pub(super) struct PageStatement<'l, Q: 'static> {
    pub(super) list: &'l List<Q>,
    pub(super) shape: Shape,
}

impl<Q> PageStatement<'_, Q> {
    /// Compares the columns of the counts with the filters. A filter that is not requested is null. The condition is a range, so that
    /// the counts' index decides it.
    pub(super) fn equal_counts(&self, alias: &str) -> String {
        self.each_filter(|number, Filter { column, value }| {
            let (_, lowest, highest) = value.sql_type();
            format!(" and {alias}.{column} between coalesce(${number}, {lowest}) and coalesce(${number}, {highest})")
        })
    }

    /// Compares the columns of `u` with the filters. The planner takes this for half of the records; a column that is compared with
    /// itself would be taken for a few.
    pub(super) fn equal(&self) -> String {
        self.each_filter(|number, Filter { column, .. }| format!(" and coalesce(u.{column} = ${number}, true)"))
    }

    /// A condition for each filter, with the number of its parameter, if any is requested.
    fn each_filter(&self, condition: impl Fn(usize, &Filter<Q>) -> String) -> String {
        let filters = if self.shape.filtered { self.list.filters } else { &[] };
        (FIRST_FILTER..).zip(filters).map(|(number, filter)| condition(number, filter)).collect()
    }

    /// Compares the date of `u` with the range. As subqueries the bounds are computed once a statement.
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

/// The same conditions in a form that the planner cannot use for a choice of an index.
pub(super) fn unindexed(conditions: &str) -> String {
    if conditions.is_empty() { String::new() } else { format!(" and (true {conditions}) is true") }
}
