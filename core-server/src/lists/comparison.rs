//! Lists by filters and sort keys without counts: the statement compares all records of the company.

use storage::template::fill;

use super::{
    description::{Comparison, List, Part},
    page::Asked,
    statement::{filters_or_null, types},
};
use crate::record_query::Place;

/// A statement that compares all records and reads a page of the matches.
pub(super) struct Compared {
    sort: i32,
    descending: bool,
    pub(super) statement: &'static str,
    pub(super) types: &'static str,
}

impl Compared {
    /// The statements of a list: one for each sort key and direction.
    pub(super) fn all<Q>(list: &List<Q>) -> Vec<Self> {
        let Some(comparison) = &list.comparison else { return Vec::new() };
        let types = &*types(list.values(true)).leak();
        let usual = list.sorts.iter().map(|sort| (sort.number, key(sort.parts)));
        let usual = usual.chain(list.sorts.first().map(|sort| (0, key(sort.parts))));
        let own = comparison.sorts.iter().map(|(number, key)| (*number, (*key).to_owned()));
        let sorts = usual.chain(own).flat_map(|(sort, key)| [(sort, key.clone(), false), (sort, key, true)]);
        let statement = |(sort, key, descending): (i32, String, bool)| Self {
            sort,
            descending,
            statement: statement(list, comparison, &key, descending).leak(),
            types,
        };
        sorts.map(statement).collect()
    }

    /// Whether the statement has the sort key and the direction of a request.
    pub(super) fn is_of(&self, asked: Asked) -> bool {
        (self.sort, self.descending) == (asked.sort, asked.page.descending)
    }
}

fn key(parts: &[Part]) -> String {
    if let [Part::Days(column), ..] = parts { format!("u.{column}") } else { "null::timestamptz".to_owned() }
}

fn statement<Q>(list: &List<Q>, comparison: &Comparison<Q>, key: &str, descending: bool) -> String {
    let direction = if descending { "desc" } else { "asc" };
    let order = |alias: &str| format!("{alias}k {direction} nulls last, {alias}id {direction}");
    let matches = fill(
        include_str!("sql/compared.sql"),
        &[
            ("table", list.table),
            ("key", key),
            ("date", list.date),
            ("filters", &filters_or_null(list)),
            ("conditions", &fill(comparison.conditions, &[])),
            ("order", &order("")),
        ],
    );
    let record = (list.record)(&Place::now("$1", "p.id"));
    matches + &fill(include_str!("sql/records.sql"), &[("record", &record), ("order", &order("p."))])
}
