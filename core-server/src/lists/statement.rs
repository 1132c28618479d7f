//! The statement that counts the matches, finds a page and reads its records, on one snapshot.
//!
//! Its strategy depends on the request: a scan in sort order, a seek by counts, a sort of all matches, or a choice between a scan and a
//! sort. PostgreSQL executes only one of these. `docs/architecture/lists.md` has the reasons. The files in `sql` are the parts of
//! statements, and this file chooses them. Bounds and limits are subqueries, so the planner does not see their values, and uses the same
//! defaults whatever it knows about the table.

use storage::template::fill;

use super::{
    description::{Filter, List, Part, Value},
    shape::{Among, FIRST_FILTER, PageStatement, unindexed},
};
use crate::record_query::Place;

/// The cost of reading and sorting a match, in index entries that a scan reads in the same time.
///
/// The first is low because a sort keeps few matches, and because a scan reads more than expected if the range and the sort key are
/// correlated.
const SORT_SHALLOW: f64 = 0.25;
const SORT_DEEP: f64 = 4.0;

/// The types of a statement's parameters: company, limit, offset, first day, last day and affiliate, then the types of the values.
pub(super) fn types<'v, Q: 'v>(values: impl Iterator<Item = &'v Value<Q>>) -> String {
    let types = ["bigint, bigint, bigint, integer, integer, bigint"].into_iter();
    types.chain(values.map(|value| value.sql_type().0)).collect::<Vec<_>>().join(", ")
}

/// Compares the columns of `u` with the filters. An absent filter is null.
pub(super) fn filters_or_null<Q>(list: &List<Q>) -> String {
    let condition = |(number, filter): (usize, &Filter<Q>)| {
        let value = format!("(select ${number}::{})", filter.value.sql_type().0);
        format!(" and ({value} is null or u.{} = {value})", filter.column)
    };
    (FIRST_FILTER..).zip(list.filters).map(condition).collect()
}

impl<Q> PageStatement<'_, Q> {
    pub(super) fn sql(&self) -> String {
        let found = if self.shape.among == Among::Affiliate { self.of_affiliate() } else { self.of_all() };
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

    fn of_all(&self) -> String {
        let (shape, parts) = (self.shape, self.shape.parts.iter().enumerate());
        let mut ctes = vec![("counted".to_owned(), self.total())];
        if self.shape.grouped() || shape.chooses() {
            ctes.push(("groups".to_owned(), self.groups()));
        }
        if shape.seeks() {
            ctes.extend(self.seek());
        }
        if shape.chooses() {
            ctes.push(("choice".to_owned(), self.choice()));
            ctes.extend(parts.clone().map(|(number, part)| (format!("bounds{number}"), self.bounds(*part))));
        }
        if self.seeks_groups() {
            ctes.push(("strategy".to_owned(), self.strategy()));
        }
        let ctes: Vec<String> = ctes.into_iter().map(|(name, sql)| format!("{name} as materialized ({sql})")).collect();
        let strategies = if self.seeks_groups() { &[true, false][..] } else { &[self.shape.grouped()] };
        let scans = parts.flat_map(|(number, part)| strategies.iter().map(move |by| self.scan(number, *part, *by)));
        let scans = scans.collect::<Vec<_>>().join(" union all ");
        let scanned = format!("select id, k from ({scans}) u offset {} limit $2", self.skip());
        let page = if shape.chooses() { format!("({scanned}) union all ({})", self.sort()) } else { scanned };
        format!("with {}, page as ({page})\n", ctes.join(",\n"))
    }

    fn choice(&self) -> String {
        let sort = if self.shape.among == Among::Deep { SORT_DEEP } else { SORT_SHALLOW };
        // The scan of each group ends when it has filled a page.
        let (scans, scanned) = if self.shape.grouped() {
            ("(select count(*) from groups)", "(select sum(n) from groups)".to_owned())
        } else {
            (
                "1",
                format!(
                    "(select sum(c.n) from {} c where c.company_id = $1 and c.dimension = 'all' and c.bucket = 0)",
                    self.list.counts
                ),
            )
        };
        fill(include_str!("sql/choice.sql"), &[("sort", &sort.to_string()), ("scans", scans), ("scanned", &scanned)])
    }

    fn strategy(&self) -> String {
        fill(include_str!("sql/strategy.sql"), &[("counts", self.list.counts)])
    }

    /// Scans one part of the sort key. If `grouped`, with one scan per group.
    fn scan(&self, number: usize, part: Part, grouped: bool) -> String {
        let (low, high) = self.ends(number, part);
        let mut passed_over = if grouped { String::new() } else { self.equal() };
        if self.shape.ranged_elsewhere() {
            passed_over += &self.in_range();
        }
        let (ordered, sorted) = if self.seeks_groups() {
            ("and (select ordered from strategy)", "where not (select ordered from strategy)")
        } else {
            ("", "")
        };
        let file = if grouped { include_str!("sql/scan_groups.sql") } else { include_str!("sql/scan.sql") };
        fill(
            file,
            &[
                ("table", self.list.table),
                ("key", &self.key_column()),
                ("of_group", &self.of_group()),
                ("between", &part.between(low.as_deref(), high.as_deref())),
                ("matches", &unindexed(&passed_over)),
                ("ordered", ordered),
                ("sorted", sorted),
                ("index_order", &part.order(self.shape.descending)),
                ("order", &self.order_of("u.")),
                ("skip", self.skip()),
            ],
        )
    }

    /// The fine buckets that bound the scan of a part.
    fn ends(&self, number: usize, part: Part) -> (Option<String>, Option<String>) {
        let shape = self.shape;
        // The farthest bucket is of a coarser level.
        let (near, far, shift) = if shape.seeks() {
            // A part after the part of `start` is read from its beginning.
            let edge = if shape.descending { "1::bigint << 52" } else { "0" };
            let near = format!("case when part = {number} then bucket when part < {number} then {edge} end");
            let farthest = if shape.descending { "min" } else { "max" };
            let far = format!("(select {farthest}(bucket) from all{number} where n > 0)");
            let near = Some(format!("(select {near} from start)"));
            (near, shape.ranged_elsewhere().then_some(far), part.levels()[0].1)
        } else if shape.chooses() {
            let bound = |name: &str| Some(format!("(select {name} from bounds{number})"));
            (bound("near"), bound("far"), 5)
        } else {
            (None, None, 0)
        };
        let (mut low, mut high) = if shape.descending {
            (far.map(|far| format!("{far} << {shift}")), near.map(|near| format!("{near} + 1")))
        } else {
            (near, far.map(|far| format!("({far} + 1) << {shift}")))
        };
        if shape.ranged_along(part) {
            low = low.or_else(|| Some("$4".to_owned()));
            high = high.or_else(|| Some("$5 + 1".to_owned()));
        }
        (low, high)
    }

    /// Sorts all matches, unless a scan finds the page.
    fn sort(&self) -> String {
        fill(
            include_str!("sql/sort.sql"),
            &[
                ("table", self.list.table),
                ("key", &self.key_column()),
                ("of_group", &self.of_group()),
                ("in_range", &self.in_range()),
                ("date", self.list.date),
                ("order", &self.order_of("u.")),
            ],
        )
    }

    /// A condition for records `u` of the group `g`.
    fn of_group(&self) -> String {
        let column = |filter: &Filter<Q>| format!(" and u.{0} = g.{0}", filter.column);
        self.list.filters.iter().map(column).collect()
    }

    fn seeks_groups(&self) -> bool {
        self.shape.seeks() && self.shape.grouped()
    }

    fn skip(&self) -> &'static str {
        if self.shape.seeks() { "(select skip from start)" } else { "$3" }
    }

    /// The sort key. Null for the ID, which is selected in any case.
    fn key_column(&self) -> String {
        self.shape.column().map_or_else(|| "null::timestamptz".to_owned(), |column| format!("u.{column}"))
    }

    fn order_of(&self, alias: &str) -> String {
        let direction = self.direction();
        format!("{alias}k {direction} nulls last, {alias}id {direction}")
    }
}
