//! The statement that counts what matches, finds a page and reads its records, on one snapshot.
//!
//! Its strategy depends on what is asked for: a scan along the sort order, a walk over the counts, all matches sorted, or a
//! choice between a scan and a sort, of which PostgreSQL executes one. `docs/architecture.md` gives the reasons. The planner
//! never learns a bound or a limit: each is a subquery, so that it plans with the same defaults whatever it knows of the table.

use super::description::{Filter, List, Part, midnight};
use crate::limits::{SORT_DEEP, SORT_NEAR};

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

/// What decides on the statement that reads a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) parts: &'static [Part],
    pub(super) descending: bool,
    pub(super) ranged: bool,
    pub(super) filtered: bool,
    pub(super) among: Among,
}

/// Where a page is looked for: among the records of one affiliate, or among all, near the beginning or far from it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    Affiliate,
    Near,
    Deep,
}

impl Shape {
    pub(super) fn name(&self) -> String {
        let among = match self.among {
            Among::Affiliate => "of an affiliate",
            Among::Near => "near",
            Among::Deep => "deep",
        };
        let mut name = format!("{among} by {}", self.column().unwrap_or("id"));
        for (is_so, words) in
            [(self.descending, " descending"), (self.ranged, " in a range"), (self.filtered, " filtered")]
        {
            name += if is_so { words } else { "" };
        }
        name
    }

    /// The column that is sorted by, unless it is the ID.
    fn column(&self) -> Option<&'static str> {
        if let [Part::Days(column), ..] = self.parts { Some(column) } else { None }
    }
}

pub(super) struct PageStatement<'l, Q: 'static> {
    pub(super) list: &'l List<Q>,
    pub(super) shape: Shape,
}

impl<Q> PageStatement<'_, Q> {
    pub(super) fn sql(&self) -> String {
        if self.shape.among == Among::Affiliate { self.of_affiliate() } else { self.of_all() }
    }

    fn of_all(&self) -> String {
        let parts = self.shape.parts;
        let mut ctes = vec![format!("counted as materialized ({})", self.total())];
        if self.grouped() || self.chooses() {
            ctes.push(format!("groups as materialized ({})", self.groups()));
        }
        if self.walks() {
            ctes.extend(self.walk(parts));
        }
        if self.chooses() {
            ctes.push(format!("choice as materialized ({})", self.choice()));
            let bounds = parts.iter().enumerate().map(|(number, part)| {
                format!("bounds{number} as materialized ({} where (select scans from choice))", self.bounds(*part))
            });
            ctes.extend(bounds);
        }
        if self.walks_groups() {
            ctes.push(format!("strategy as materialized ({})", self.strategy()));
        }
        let strategies = if self.walks_groups() { &[true, false][..] } else { &[self.grouped()] };
        let parts = parts.iter().enumerate();
        let scans =
            parts.flat_map(|(number, part)| strategies.iter().map(move |grouped| self.scan(number, *part, *grouped)));
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
        let table = self.list.table;
        // Two readings cost less than one that is kept, unless a range leaves out most. In the order of the index, new
        // records come first where they sort first, so that few enter the sort that others would drive out.
        let keep = if self.shape.ranged { "materialized" } else { "not materialized" };
        format!(
            "with matches as {keep} (
                select u.id, {key} as k from {table} u
                where u.company_id = {COMPANY} and u.affiliate_id = {AFFILIATE} {equal} {in_range}
                order by u.affiliate_id {direction}, u.id {direction}
            ), counted as materialized (select count(*) as total from matches
            ), page as (select id, k from matches order by {order} offset {OFFSET} limit {LIMIT}) {records}",
            key = self.key_column(),
            equal = self.equal(),
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
    fn strategy(&self) -> String {
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
        let mut passed_over = if grouped { String::new() } else { self.equal() };
        if self.ranged_elsewhere() {
            passed_over += &self.in_range();
        }
        let matches = format!(
            "select u.id, {key} as k from {table} u
            where u.company_id = {COMPANY} {group} {between} {passed_over} {ordered} order by {order} {limit}",
            ordered = and(self.walks_groups() && !grouped, || "(select ordered from strategy)".to_owned()),
            key = self.key_column(),
            table = self.list.table,
            between = part.between(low.as_deref(), high.as_deref()),
            passed_over = unindexed(&passed_over),
            order = part.order(self.shape.descending),
        );
        if grouped {
            let order = self.order_of("u.");
            let sorted = if self.walks_groups() { "where not (select ordered from strategy)" } else { "" };
            format!("(select u.* from groups g cross join lateral ({matches}) u {sorted} order by {order} {limit})")
        } else {
            format!("({matches})")
        }
    }

    /// The fine buckets that the scan of a part is bounded by.
    fn ends(&self, number: usize, part: Part) -> (Option<String>, Option<String>) {
        // The farthest bucket is of a coarser level.
        let (near, far, shift) = if self.walks() {
            // A part behind the one that the page begins in is read from its beginning.
            let edge = if self.shape.descending { "1::bigint << 52" } else { "0" };
            let near = format!("case when part = {number} then bucket when part < {number} then {edge} end");
            let farthest = if self.shape.descending { "min" } else { "max" };
            let far = format!("(select {farthest}(bucket) from all{number} where n > 0)");
            let near = Some(format!("(select {near} from start)"));
            (near, self.ranged_elsewhere().then_some(far), part.levels()[0].1)
        } else if self.chooses() {
            let bound = |name: &str| Some(format!("(select {name} from bounds{number})"));
            (bound("near"), bound("far"), 5)
        } else {
            (None, None, 0)
        };
        let (mut low, mut high) = if self.shape.descending {
            (far.map(|far| format!("{far} << {shift}")), near.map(|near| format!("{near} + 1")))
        } else {
            (near, far.map(|far| format!("({far} + 1) << {shift}")))
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
        let of_groups = self.leading().into_iter().map(|column| format!("and u.{column} = g.{column}"));
        let others = self.each_filter(
            |number, Filter { column, leads, .. }| {
                if *leads { String::new() } else { equal_or_null("u", column, number) }
            },
        );
        of_groups.chain([others]).collect::<Vec<_>>().join(" ")
    }

    /// The records of the page, each with the total. Without records it is one row of the total alone.
    fn records(&self) -> String {
        let order = self.order_of("p.");
        format!(
            "select t.total, p.id as found, r.* from counted t
            left join (page p cross join lateral ({}) r) on true order by {order}",
            (self.list.record)(COMPANY, "p.id"),
        )
    }

    /// Compares the columns of the counts with the filters. A filter that is not requested is null. Where the column is never
    /// null the condition is a range, so that the counts' index decides it.
    pub(super) fn equal_counts(&self, alias: &str) -> String {
        self.each_filter(|number, Filter { column, value, leads }| {
            if !leads {
                return equal_or_null(alias, column, number);
            }
            let (_, lowest, highest) = value.sql_type();
            format!(" and {alias}.{column} between coalesce(${number}, {lowest}) and coalesce(${number}, {highest})")
        })
    }

    pub(super) fn equal(&self) -> String {
        self.each_filter(|number, Filter { column, leads, .. }| {
            // One comparison instead of two, where the column is never null. The planner takes it for half of the records; a
            // column that is compared with itself would be taken for a few.
            if *leads {
                format!(" and coalesce(u.{column} = ${number}, true)")
            } else {
                equal_or_null("u", column, number)
            }
        })
    }

    /// A condition for each filter, with the number of its parameter, if any is requested.
    fn each_filter(&self, condition: impl Fn(usize, &Filter<Q>) -> String) -> String {
        let filters = if self.shape.filtered { self.list.filters } else { &[] };
        (FIRST_FILTER..).zip(filters).map(|(number, filter)| condition(number, filter)).collect()
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

    pub(super) fn ranged_elsewhere(&self) -> bool {
        self.shape.ranged && self.shape.column() != Some(self.list.date)
    }

    pub(super) fn ranged_along(&self, part: Part) -> bool {
        self.shape.ranged && part == Part::Days(self.list.date)
    }

    /// Whether the statement finds the page by a walk. With a range on another column it must count the records of each
    /// bucket that the range cuts: few where the sort key is the ID, nearly all with another timestamp.
    fn walks(&self) -> bool {
        self.shape.among == Among::Deep && (!self.ranged_elsewhere() || self.shape.column().is_none())
    }

    fn chooses(&self) -> bool {
        self.ranged_elsewhere() && !self.walks()
    }

    /// Whether each combination of the filters' values is scanned by itself. Far from the beginning, unless the counts say
    /// where the page begins, sorting what all of them read would cost more than passing over what does not match.
    fn grouped(&self) -> bool {
        self.shape.filtered && !(self.chooses() && self.shape.among == Among::Deep)
    }

    fn walks_groups(&self) -> bool {
        self.walks() && self.grouped()
    }

    /// The decisions that make the structure of the statement. What else the shape has changes names and conditions, and how
    /// often the statement has what reads one part of the sort key.
    #[cfg(test)]
    pub(super) fn structure(&self) -> Vec<&'static str> {
        let is_along = self.shape.parts.iter().any(|part| self.ranged_along(*part));
        let decisions = if self.shape.among == Among::Affiliate {
            vec![("of an affiliate", true), ("ranged", self.shape.ranged)]
        } else {
            vec![
                ("deep", self.shape.among == Among::Deep),
                ("ranged along the key", is_along),
                ("ranged elsewhere", self.ranged_elsewhere()),
                ("walks", self.walks()),
                ("by ID", self.walks() && self.shape.column().is_none()),
                ("chooses", self.chooses()),
                ("grouped", self.grouped()),
            ]
        };
        decisions.into_iter().filter_map(|(name, is_so)| is_so.then_some(name)).collect()
    }

    fn skip(&self) -> &'static str {
        if self.walks() { "(select skip from start)" } else { OFFSET }
    }

    /// The sort key, null for the ID: that is selected anyway.
    fn key_column(&self) -> String {
        self.shape.column().map_or_else(|| "null::timestamptz".to_owned(), |column| format!("u.{column}"))
    }

    pub(super) fn direction(&self) -> &'static str {
        if self.shape.descending { "desc" } else { "asc" }
    }

    fn order_of(&self, alias: &str) -> String {
        let direction = self.direction();
        format!("{alias}k {direction} nulls last, {alias}id {direction}")
    }
}

/// Compares a column that may be null with the parameter of a filter.
fn equal_or_null(alias: &str, column: &str, number: usize) -> String {
    format!(" and ({alias}.{column} = ${number} or ${number} is null)")
}

/// The same conditions in a form that the planner cannot use for a choice of an index.
pub(super) fn unindexed(conditions: &str) -> String {
    and(!conditions.is_empty(), || format!("(true {conditions}) is true"))
}

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
        date: "made",
        sorts: &[],
        buckets: "",
        lock: 0,
        record: |_, _| String::new(),
    };
    const IDS: &[Part] = &[Part::Ids];
    const MADE: &[Part] = &[Part::Days("made")];
    const SEEN: &[Part] = &[Part::Days("seen"), Part::Nulls("seen")];

    /// What is asked for, and how the page is found.
    type Row<'a> = (&'static [Part], bool, bool, Among, &'a [&'a str]);

    fn statement(parts: &'static [Part], ranged: bool, filtered: bool, among: Among) -> PageStatement<'static, ()> {
        PageStatement { list: &LIST, shape: Shape { parts, descending: false, ranged, filtered, among } }
    }

    /// How a page is found: by a walk, by a choice between a scan and a sort, and one scan for each group of the filters' values.
    #[test]
    fn what_is_asked_for_decides_how_a_page_is_found() {
        let (walks, chooses, grouped) = ("walks", "chooses", "grouped");
        let table: &[Row] = &[
            (IDS, false, false, Among::Near, &[]),
            (MADE, true, false, Among::Near, &[]),
            (MADE, false, true, Among::Near, &[grouped]),
            (SEEN, true, false, Among::Near, &[chooses]),
            (SEEN, true, true, Among::Near, &[chooses, grouped]),
            (IDS, true, true, Among::Near, &[chooses, grouped]),
            (IDS, false, false, Among::Deep, &[walks]),
            (IDS, true, false, Among::Deep, &[walks]),
            (MADE, true, false, Among::Deep, &[walks]),
            (SEEN, false, false, Among::Deep, &[walks]),
            (SEEN, true, false, Among::Deep, &[chooses]),
            (SEEN, true, true, Among::Deep, &[chooses]),
            (MADE, true, true, Among::Deep, &[walks, grouped]),
            (SEEN, false, true, Among::Deep, &[walks, grouped]),
            (IDS, true, true, Among::Deep, &[walks, grouped]),
        ];
        for (number, (parts, ranged, filtered, among, expected)) in table.iter().enumerate() {
            let statement = statement(parts, *ranged, *filtered, *among);
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
        let hidden = "and (u.hidden = $8 or $8 is null)";
        assert_eq!(statement(true).equal(), format!(" and coalesce(u.status = $7, true) {hidden}"));
        assert_eq!(statement(false).equal(), "");
        let of_group: String = statement(true).of_group().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(of_group, format!("and u.status = g.status {hidden}"));
        let counts = " and c.status between coalesce($7, -2147483648) and coalesce($7, 2147483647) \
                      and (c.hidden = $8 or $8 is null)";
        assert_eq!(statement(true).equal_counts("c"), counts);
    }
}
