//! The statement that counts what matches, finds a page and reads its records, on one snapshot.
//!
//! There are four kinds, by what is asked for:
//!
//! - Near the beginning, without a range or with one on the sort key: a scan along the sort order. Filters have an index
//!   for each sort key, so that it reads nothing but matches.
//! - Far from it: a walk. The counts say in which bucket the page begins, and the scan begins there. It reads each
//!   combination of the filters' values by itself, or all records if most of them match.
//! - With a range on another column than the sort key: a scan along the sort order, which passes over what is not in the
//!   range, or all matches, sorted. The counts decide, and PostgreSQL does not execute the other.
//! - Of one affiliate: all matches, sorted.
//!
//! The planner never learns a bound or a limit: each is a subquery, so that it plans with the same defaults whatever
//! it knows of the table.

use super::description::{Filter, Key, List, Part, midnight};

/// Parameters that every statement of every list has. Those of the filters follow.
pub(super) const COMPANY: &str = "$1";
pub(super) const LIMIT: &str = "$2";
pub(super) const OFFSET: &str = "$3";
pub(super) const FIRST_DAY: &str = "$4";
pub(super) const LAST_DAY: &str = "$5";
pub(super) const AFFILIATE: &str = "$6";
/// Their types, in the order of their numbers.
pub(super) const TYPES: &str = "bigint, bigint, bigint, integer, integer, bigint";
/// Number of the first filter's parameter.
const FIRST_FILTER: usize = 7;

/// What it costs to read and sort a match, in index entries that a scan reads in the same time: with a page near the
/// beginning, where few are kept, and with one far from it. The first is low because a scan reads more than expected
/// where the range and the sort key depend on each other.
const SORT_NEAR: f64 = 0.25;
const SORT_DEEP: f64 = 4.0;

/// What decides on the statement that reads a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) key: Key,
    pub(super) descending: bool,
    /// Whether a range of days is asked for.
    pub(super) ranged: bool,
    /// Whether any of the list's filters is asked for.
    pub(super) filtered: bool,
    pub(super) among: Among,
}

/// Where a page is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    /// The records of one affiliate.
    Affiliate,
    /// All records, near the beginning.
    Near,
    /// All records, far from the beginning.
    Deep,
}

impl Shape {
    /// The words that tell the statements of a list apart.
    pub(super) fn name(&self) -> String {
        let place = match self.among {
            Among::Affiliate => "of an affiliate",
            Among::Near => "near",
            Among::Deep => "deep",
        };
        let words = [
            Some(place),
            Some("by"),
            Some(self.key.column().unwrap_or("id")),
            self.descending.then_some("descending"),
            self.ranged.then_some("in a range"),
            self.filtered.then_some("filtered"),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// A statement for pages of a list.
pub(super) struct Statement<'l, Q: 'static> {
    pub(super) list: &'l List<Q>,
    pub(super) shape: Shape,
}

impl<Q> Statement<'_, Q> {
    pub(super) fn sql(&self) -> String {
        if self.shape.among == Among::Affiliate { self.of_affiliate() } else { self.of_all() }
    }

    fn of_all(&self) -> String {
        let parts = self.shape.key.parts();
        let mut ctes = vec![format!("counted as materialized ({})", self.total())];
        if self.grouped() || self.chooses() {
            ctes.push(format!("groups as materialized ({})", self.groups()));
        }
        if self.walks() {
            ctes.extend(self.walk(&parts));
        }
        if self.chooses() {
            ctes.push(format!("choice as materialized ({})", self.choice()));
            let bounds = parts.iter().enumerate().map(|(number, part)| {
                format!("bounds{number} as materialized ({} where (select scans from choice))", self.bounds(*part))
            });
            ctes.extend(bounds);
        }
        if self.walks() && self.grouped() {
            ctes.push(format!("way as materialized ({})", self.way()));
        }
        let ways = if self.weighs() { &[true, false][..] } else { &[self.grouped()] };
        let parts = parts.iter().enumerate();
        let scans = parts.flat_map(|(number, part)| ways.iter().map(move |grouped| self.scan(number, *part, *grouped)));
        let scans: Vec<String> = scans.collect();
        let scans = scans.join("\n    union all ");
        let scanned = format!("select id, k from (\n    {scans}\n) u offset {} limit {LIMIT}", self.skip());
        ctes.push(if self.chooses() {
            format!("page as (({scanned}) union all ({}))", self.matching())
        } else {
            format!("page as ({scanned})")
        });
        format!("with {}\n{}", ctes.join(",\n"), self.records())
    }

    /// The statement for the records of one affiliate: its index has every column that is filtered or sorted by.
    fn of_affiliate(&self) -> String {
        let List { table, affiliate, .. } = self.list;
        // Two readings cost less than one that is kept, unless a range leaves out most. In the order of the index, new
        // records come first where they sort first, so that few enter the sort that others would drive out.
        let keep = if self.shape.ranged { "materialized" } else { "not materialized" };
        format!(
            "with matches as {keep} (
                select u.id, {key} as k from {table} u
                where u.company_id = {COMPANY} and u.{affiliate} = {AFFILIATE} {equal} {in_range}
                order by u.{affiliate} {direction}, u.id {direction}
            ), counted as materialized (select count(*) as total from matches
            ), page as (select id, k from matches order by {order} offset {OFFSET} limit {LIMIT}) {records}",
            key = self.key_column(),
            equal = self.equal("u"),
            in_range = unindexed(&self.in_range()),
            direction = self.direction(),
            order = self.order_of(""),
            records = self.records(),
        )
    }

    /// Whether to scan along the sort order or to sort all matches; neither when the page is behind the last record.
    fn choice(&self) -> String {
        let sort = if self.shape.among == Among::Deep { SORT_DEEP } else { SORT_NEAR };
        // Each group is scanned until it has filled the page alone.
        let (scans, scanned) = if self.grouped() {
            ("(select count(*) from groups)", "(select sum(n) from groups)".to_owned())
        } else {
            ("1", format!("(select sum(c.n) {} and c.bucket = 0)", self.counts("c", "all")))
        };
        format!(
            "select total > {OFFSET} and scan <= sort as scans, total > {OFFSET} and scan > sort as sorts from (
                select total * {sort}::double precision as sort, total,
                    least(({OFFSET} + {LIMIT}) * {scans} / total::double precision, 1) * {scanned} as scan
                from counted where total > 0
            ) c"
        )
    }

    /// Whether a walk scans all records of its buckets in order, or the matches of each group and sorts them: whichever reads
    /// less. Groups are each scanned until they have filled the page alone.
    fn way(&self) -> String {
        format!(
            "select (select coalesce(sum(c.n), 0) {all} and c.bucket = 0) <= coalesce(sum(n), 0) * count(*) as ordered
            from groups",
            all = self.counts("c", "all"),
        )
    }

    /// Matches of one part in the order asked for, from where the page begins or can begin: as many as precede the end of
    /// the page. `grouped`: each group by itself.
    fn scan(&self, number: usize, part: Part, grouped: bool) -> String {
        let (low, high) = self.ends(number, part);
        let limit = format!("limit (select {} + {LIMIT})", self.skip());
        let group = if grouped { self.of_group() } else { String::new() };
        let mut passed_over = if grouped { String::new() } else { self.equal("u") };
        if self.ranged_elsewhere() {
            passed_over += &self.in_range();
        }
        let matches = format!(
            "select u.id, {key} as k from {table} u
            where u.company_id = {COMPANY} {group} {between} {passed_over} {ordered} order by {order} {limit}",
            ordered = and(self.weighs() && !grouped, || "(select ordered from way)".to_owned()),
            key = self.key_column(),
            table = self.list.table,
            between = part.between(low.as_deref(), high.as_deref()),
            passed_over = unindexed(&passed_over),
            order = part.order(self.shape.descending),
        );
        if grouped {
            let order = self.order_of("u.");
            let sorted = if self.weighs() { "where not (select ordered from way)" } else { "" };
            format!("(select u.* from groups g cross join lateral ({matches}) u {sorted} order by {order} {limit})")
        } else {
            format!("({matches})")
        }
    }

    /// The fine buckets that the scan of a part is bounded by.
    fn ends(&self, number: usize, part: Part) -> (Option<String>, Option<String>) {
        let (near, far) = if self.walks() {
            // A part behind the one that the page begins in is read from its beginning.
            let edge = if self.shape.descending { "1::bigint << 52" } else { "0" };
            let near = format!("case when part = {number} then bucket when part < {number} then {edge} end");
            let farthest = if self.shape.descending { "min" } else { "max" };
            let far = format!("(select {farthest}(bucket) from coarse{number} where n > 0)");
            (Some(format!("(select {near} from start)")), self.ranged_elsewhere().then_some(far))
        } else if self.chooses() {
            let bound = |name: &str| Some(format!("(select {name} from bounds{number})"));
            (bound("near"), bound("far"))
        } else {
            (None, None)
        };
        let (mut low, mut high) = if self.shape.descending {
            (far.map(|far| format!("{far} << 5")), near.map(|near| format!("{near} + 1")))
        } else {
            (near, far.map(|far| format!("({far} + 1) << 5")))
        };
        if self.ranged_along(part) {
            low = low.or_else(|| Some(FIRST_DAY.to_owned()));
            high = high.or_else(|| Some(format!("{LAST_DAY} + 1")));
        }
        (low, high)
    }

    /// The page among all matches, unless a scan finds it. Order and limit keep the planner from joining the groups in
    /// another way than by their index.
    fn matching(&self) -> String {
        format!(
            "select u.id, u.k from groups g cross join lateral (
                select u.id, {key} as k from {table} u where u.company_id = {COMPANY} {of_group} {in_range}
                order by u.{date}, u.id limit (select total from counted)
            ) u where (select sorts from choice) order by {order} offset {OFFSET} limit {LIMIT}",
            key = self.key_column(),
            table = self.list.table,
            of_group = self.of_group(),
            in_range = self.in_range(),
            date = self.list.date,
            order = self.order_of("u."),
        )
    }

    /// Records `u` of the group `g`, as a further condition.
    fn of_group(&self) -> String {
        let equal = self.leading().into_iter().map(|column| format!("and u.{column} = g.{column}"));
        let others = self.equal_where("u", |filter| !filter.leads);
        equal.chain([others]).collect::<Vec<_>>().join(" ")
    }

    /// The records of the page, each with the total. Without records it is one row of the total alone.
    fn records(&self) -> String {
        let order = self.order_of("p.");
        format!(
            "select t.total, p.id as found, r.* from counted t
            left join (page p cross join lateral ({}) r) on true order by {order}",
            (self.list.record)(COMPANY),
        )
    }

    /// Compares the columns of the filters with their parameters. One that is not asked for is null.
    pub(super) fn equal(&self, alias: &str) -> String {
        self.equal_where(alias, |_| true)
    }

    fn equal_where(&self, alias: &str, take: fn(&Filter<Q>) -> bool) -> String {
        let numbered = (FIRST_FILTER..).zip(self.list.filters);
        let taken = numbered.filter(|(_, filter)| self.shape.filtered && take(filter));
        let equal = taken
            .map(|(number, Filter { column, .. })| format!(" and ({alias}.{column} = ${number} or ${number} is null)"));
        equal.collect()
    }

    /// Compares the date of `u` with the range. As subqueries the bounds are computed once a statement.
    pub(super) fn in_range(&self) -> String {
        let (date, from, to) = (self.list.date, midnight(FIRST_DAY), midnight(&format!("{LAST_DAY} + 1")));
        and(self.shape.ranged, || format!("u.{date} >= (select {from}) and u.{date} < (select {to})"))
    }

    /// Columns of the filters that the filters' indexes lead with.
    pub(super) fn leading(&self) -> Vec<&'static str> {
        self.list.filters.iter().filter(|filter| filter.leads).map(|filter| filter.column).collect()
    }

    /// Whether the range is about another column than the one that is sorted by.
    pub(super) fn ranged_elsewhere(&self) -> bool {
        self.shape.ranged && self.shape.key.column() != Some(self.list.date)
    }

    /// Whether the range is about the part's own column.
    pub(super) fn ranged_along(&self, part: Part) -> bool {
        self.shape.ranged && part == Part::Days(self.list.date)
    }

    /// Whether the statement finds the page by a walk. With a range on another column it must count the records of each
    /// bucket that the range cuts: few where the sort key is the ID, nearly all with another timestamp.
    fn walks(&self) -> bool {
        self.shape.among == Among::Deep && (!self.ranged_elsewhere() || self.shape.key.column().is_none())
    }

    /// Whether the statement decides between a scan and a sort.
    fn chooses(&self) -> bool {
        self.ranged_elsewhere() && !self.walks()
    }

    /// Whether each combination of the filters' values is scanned by itself. Far from the beginning, unless the counts say
    /// where the page begins, sorting what all of them read would cost more than passing over what does not match.
    fn grouped(&self) -> bool {
        self.shape.filtered && !(self.chooses() && self.shape.among == Among::Deep)
    }

    /// Whether a walk chooses between a scan of all records and one of each group.
    fn weighs(&self) -> bool {
        self.walks() && self.grouped()
    }

    /// How many matches of the scans precede the page.
    fn skip(&self) -> &'static str {
        if self.walks() { "(select skip from start)" } else { OFFSET }
    }

    /// The sort key, null for the ID: that is selected anyway.
    fn key_column(&self) -> String {
        self.shape.key.column().map_or_else(|| "null::timestamptz".to_owned(), |column| format!("u.{column}"))
    }

    pub(super) fn direction(&self) -> &'static str {
        if self.shape.descending { "desc" } else { "asc" }
    }

    fn order_of(&self, alias: &str) -> String {
        let direction = self.direction();
        format!("{alias}k {direction} nulls last, {alias}id {direction}")
    }
}

/// The same conditions in a form that the planner cannot use for a choice of an index.
pub(super) fn unindexed(conditions: &str) -> String {
    and(!conditions.is_empty(), || format!("(true {conditions}) is true"))
}

/// A further condition, where it is needed.
pub(super) fn and(needed: bool, condition: impl FnOnce() -> String) -> String {
    if needed { format!(" and {}", condition()) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::description::Value;

    const LIST: List<()> = List {
        table: "records",
        counts: "record_counts",
        filters: &[
            Filter { column: "status", value: Value::Integer(|()| None), leads: true },
            Filter { column: "hidden", value: Value::Boolean(|()| None), leads: false },
        ],
        affiliate: "affiliate_id",
        date: "made",
        sorts: &[],
        buckets: "",
        lock: 0,
        record: |_| String::new(),
    };
    const MADE: Key = Key::Timestamp("made");
    const SEEN: Key = Key::NullableTimestamp("seen");

    fn statement(key: Key, ranged: bool, filtered: bool, among: Among) -> Statement<'static, ()> {
        Statement { list: &LIST, shape: Shape { key, descending: false, ranged, filtered, among } }
    }

    /// How a page is found: by a walk, by a choice between a scan and a sort, and each group of the filters' values by itself.
    #[test]
    fn what_is_asked_for_decides_how_a_page_is_found() {
        let (walks, chooses, grouped) = ("walks", "chooses", "grouped");
        let table: &[(Key, bool, bool, Among, &[&str])] = &[
            (Key::Id, false, false, Among::Near, &[]),
            (MADE, true, false, Among::Near, &[]),
            (MADE, false, true, Among::Near, &[grouped]),
            (SEEN, true, false, Among::Near, &[chooses]),
            (SEEN, true, true, Among::Near, &[chooses, grouped]),
            (Key::Id, true, true, Among::Near, &[chooses, grouped]),
            (Key::Id, false, false, Among::Deep, &[walks]),
            (Key::Id, true, false, Among::Deep, &[walks]),
            (MADE, true, false, Among::Deep, &[walks]),
            (SEEN, false, false, Among::Deep, &[walks]),
            (SEEN, true, false, Among::Deep, &[chooses]),
            (SEEN, true, true, Among::Deep, &[chooses]),
            (MADE, true, true, Among::Deep, &[walks, grouped]),
            (SEEN, false, true, Among::Deep, &[walks, grouped]),
            (Key::Id, true, true, Among::Deep, &[walks, grouped]),
        ];
        for (number, (key, ranged, filtered, among, expected)) in table.iter().enumerate() {
            let statement = statement(*key, *ranged, *filtered, *among);
            let found = [(walks, statement.walks()), (chooses, statement.chooses()), (grouped, statement.grouped())];
            let found: Vec<&str> = found.into_iter().filter_map(|(name, is_so)| is_so.then_some(name)).collect();
            assert_eq!(found, *expected, "row {number}");
        }
    }

    #[test]
    fn a_sort_costs_more_far_from_the_beginning() {
        let sort = |among| statement(SEEN, true, false, among).choice();
        assert!(sort(Among::Near).contains(&format!("total * {SORT_NEAR}::")));
        assert!(sort(Among::Deep).contains(&format!("total * {SORT_DEEP}::")));
    }

    #[test]
    fn filters_that_do_not_lead_an_index_are_compared_in_each_group() {
        let statement = |filtered| statement(MADE, false, filtered, Among::Near);
        let (status, hidden) = ("and (u.status = $7 or $7 is null)", "and (u.hidden = $8 or $8 is null)");
        assert_eq!(statement(true).equal("u"), format!(" {status} {hidden}"));
        assert_eq!(statement(false).equal("u"), "");
        let of_group: String = statement(true).of_group().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(of_group, format!("and u.status = g.status {hidden}"));
    }
}
