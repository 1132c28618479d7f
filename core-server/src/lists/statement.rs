//! The statement that counts what matches, finds a page and reads its records, on one snapshot.
//!
//! Three ways lead to a page. The statement holds them all; the counts decide which one runs, and PostgreSQL does not
//! execute the others:
//!
//! - `scan`: along the sort order, from the first bucket that can hold a match. For pages near the beginning.
//! - `matches`: all matching records from the filter index, sorted. For few matches. Also for a scan that has read more
//!   than this would have cost, because its matches are far apart.
//! - `walk`: along the sort order, from the bucket that the page begins in, found by adding up counts. For late pages.
//!
//! The planner never learns a bound or a limit: each is a subquery, so that it plans with the same defaults whatever
//! it knows of the table. Filters are checked outside of the scans, so that they do not change its choice of an index.

use super::{
    counts::Counts,
    description::{Key, List, Part, midnight},
};

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

/// Records that a scan or a sort may read before it pays to ask what a walk would read.
const NEAR: u32 = 20_000;
/// What a walk costs before it reads its first record, in index entries that a scan reads in the same time.
const WALK: u32 = 3_000;

/// A statement for pages of a list.
pub(super) struct Statement<'l, Q: 'static> {
    pub(super) list: &'l List<Q>,
    pub(super) key: Key,
    pub(super) descending: bool,
    /// Whether a range of days is asked for.
    pub(super) ranged: bool,
}

impl<Q> Statement<'_, Q> {
    /// The statement without a filter on the affiliate.
    pub(super) fn of_all(&self) -> String {
        let parts = self.key.parts();
        let counts = Counts { statement: self };
        let scans: Vec<String> = parts.iter().enumerate().map(|(number, part)| self.scan(number, *part)).collect();
        let scans = match scans.as_slice() {
            [scan] => scan.clone(),
            _ => format!("({}) limit (select budget from choice)", scans.join(" union all ")),
        };
        format!(
            "with counted as materialized ({counted}),
            cost as materialized ({cost}),
            choice as materialized (
                select total, page, case
                    when page = 0 then 'nothing'
                    when total < seen and matches <= scan * {trust} and matches <= coalesce(walk, matches) then 'matches'
                    when scan <= coalesce(walk, scan) then 'scan'
                    else 'walk' end as way,
                    case when scan <= coalesce(walk, scan) then greatest(matches, scan)::bigint else seen end
                        as budget
                from cost
            ),
            {walk},
            {bounds},
            scanned as materialized (
                select u.id, u.k, u.part from ({scans}) u where true {filters} {within}
                offset coalesce((select skip from start), {OFFSET}) limit {LIMIT}
            ),
            outcome as materialized (
                select way <> 'matches' and (way <> 'scan' or (select count(*) from scanned) >= page) as suffices
                from choice
            ),
            matching as materialized ({matching}),
            page as (
                select id, k, part from scanned where (select suffices from outcome)
                union all select id, k, part from matching
            ) {records}",
            counted = counts.counted(),
            trust = if self.ranged_elsewhere() { 0.5 } else { 1.0 },
            cost = self.cost(&counts, &parts),
            walk = counts.walk(&parts),
            bounds = counts.bounds(&parts),
            filters = self.filters("u"),
            within = and(self.ranged_elsewhere(), || within("u.range_key")),
            matching = self.matching(),
            records = self.records(),
        )
    }

    /// The statement for the records of one affiliate: its index has every column that is filtered or sorted by.
    pub(super) fn of_affiliate(&self) -> String {
        let List { table, counts, affiliate, date, .. } = self.list;
        let within = and(self.ranged, || within(&format!("u.{date}")));
        format!(
            "with matched as materialized (
                select u.id, u.k from (
                    select u.id, {key} as k {columns} from {table} u
                    where u.company_id = {COMPANY} and u.{affiliate} = {AFFILIATE} order by u.{affiliate}, u.id limit (
                        select sum(c.n) from {counts} c
                        where c.company_id = {COMPANY} and c.dimension = 'all' and c.bucket = 0
                    )
                ) u where true {filters} {within}
            ), choice as (select count(*) as total from matched
            ), page as (
                select id, k, (k is null)::integer as part from matched
                order by {order} offset {OFFSET} limit {LIMIT}
            ) {records}",
            key = self.key_column(),
            columns = self.columns(|_| true) + &format!(", u.{date}"),
            filters = self.filters("u"),
            order = self.order_of(""),
            records = self.records(),
        )
    }

    /// What each way would read, in index entries. How far a scan reaches is known well where the counts are split by
    /// everything that is asked for, and guessed where a range is about another column than the sort key.
    fn cost(&self, counts: &Counts<'_, Q>, parts: &[Part]) -> String {
        let edges = if self.ranged_elsewhere() {
            format!("case when least(scan, matches) > {NEAR} then ({}) end", counts.edges(parts))
        } else {
            "0".to_owned()
        };
        format!(
            "with read as materialized (
                select seen, total, least({LIMIT}, greatest(total - {OFFSET}, 0)) as page,
                    case when total = seen then {OFFSET} + {LIMIT} else ({reach}) end::double precision as scan,
                    case when total = seen or {OFFSET} = 0 then {OFFSET} else ({skipped}) end as skipped,
                    -- A page far from the beginning needs everything sorted.
                    readable * case when {OFFSET} + {LIMIT} > readable / 8 then 6 else 1 end as matches
                from counted
            ) select *, {WALK} + scan - skipped + {edges} as walk from read",
            reach = counts.reach(parts, &format!("{OFFSET} + {LIMIT}")),
            skipped = counts.reach(parts, OFFSET),
        )
    }

    /// Index entries of one part, in the order asked for, from where the page begins or can begin.
    fn scan(&self, number: usize, part: Part) -> String {
        let (near, far) = (format!("(select near from bounds{number})"), format!("(select far from bounds{number})"));
        let (mut low, mut high) = if self.descending {
            (format!("{far} << 5"), format!("{near} + 1"))
        } else {
            (near, format!("({far} + 1) << 5"))
        };
        if self.ranged_along(part) {
            low = format!("greatest({low}, {FIRST_DAY})");
            high = format!("least({high}, {LAST_DAY} + 1)");
        }
        let date = self.list.date;
        let range_key = if self.ranged_elsewhere() { format!(", u.{date} as range_key") } else { String::new() };
        format!(
            "(select u.id, {key} as k, {number} as part {columns} from {table} u
            where u.company_id = {COMPANY} and {between}
                and (select way in ('scan', 'walk') from choice) and {number} >= coalesce((select part from start), 0)
            order by {order} limit (select budget from choice))",
            key = self.key_column(),
            columns = self.columns(|_| true) + &range_key,
            table = self.list.table,
            between = part.between(&low, &high),
            order = part.order(self.descending),
        )
    }

    /// The page among all matching records, read for each combination of the filters' values that the counts know.
    fn matching(&self) -> String {
        let List { table, counts, date, .. } = self.list;
        let leading: Vec<&str> =
            self.list.filters.iter().filter(|filter| filter.leads).map(|filter| filter.column).collect();
        let equal: Vec<String> = leading.iter().map(|column| format!("u.{column} = g.{column}")).collect();
        let within = and(self.ranged, || within(&format!("u.{date}")));
        format!(
            "select u.id, u.k, (u.k is null)::integer as part from (
                select distinct {leading} from {counts} c
                where c.company_id = {COMPANY} and c.dimension = 'all' and c.bucket = 0 and c.n > 0 {of_counts}
            ) g cross join lateral (
                select u.id, {key} as k {columns} from {table} u
                where u.company_id = {COMPANY} and {equal} {within}
                order by u.{date}, u.id limit (select seen from counted)
            ) u
            where not (select suffices from outcome) and (select page > 0 from choice) {of_records}
            order by {order} offset {OFFSET} limit {LIMIT}",
            leading = leading.join(", "),
            of_counts = self.filters("c"),
            key = self.key_column(),
            columns = self.columns(|leads| !leads),
            equal = equal.join(" and "),
            of_records = self.compare("u", |leads| !leads),
            order = self.order_of(""),
        )
    }

    /// The records of the page, each with the total. Without records it is one row of the total alone.
    fn records(&self) -> String {
        format!(
            "select t.total, p.id as found, r.* from choice t left join (page p cross join lateral ({}) r) on true order by {}",
            (self.list.record)(COMPANY),
            self.order_of("p."),
        )
    }

    /// Compares the filters' columns with their parameters. A parameter that is null filters nothing.
    pub(super) fn filters(&self, alias: &str) -> String {
        self.compare(alias, |_| true)
    }

    /// The same for those alone that the filter index leads with.
    pub(super) fn leading_filters(&self, alias: &str) -> String {
        self.compare(alias, |leads| leads)
    }

    fn compare(&self, alias: &str, take: fn(bool) -> bool) -> String {
        let numbered = self.list.filters.iter().zip(FIRST_FILTER..).filter(|(filter, _)| take(filter.leads));
        numbered
            .map(|(filter, number)| format!("and ({alias}.{} = ${number} or ${number} is null)", filter.column))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Whether the range is about another column than the one that is sorted by.
    pub(super) fn ranged_elsewhere(&self) -> bool {
        self.ranged && self.key.column() != Some(self.list.date)
    }

    /// Whether the range is about the part's own column.
    pub(super) fn ranged_along(&self, part: Part) -> bool {
        self.ranged && part == Part::Days(self.list.date)
    }

    /// The sort key, null for the ID: that is selected anyway.
    fn key_column(&self) -> String {
        self.key.column().map_or_else(|| "null::timestamptz".to_owned(), |column| format!("u.{column}"))
    }

    /// Columns of filters, as further columns of a selection.
    fn columns(&self, take: fn(bool) -> bool) -> String {
        let filters = self.list.filters.iter().filter(|filter| take(filter.leads));
        filters.flat_map(|filter| [", u.", filter.column]).collect()
    }

    fn order_of(&self, alias: &str) -> String {
        let direction = if self.descending { "desc" } else { "asc" };
        format!("{alias}part, {alias}k {direction}, {alias}id {direction}")
    }
}

/// Compares a timestamp with the range. As subqueries the bounds are computed once a statement.
pub(super) fn within(timestamp: &str) -> String {
    let (from, to) = (midnight(FIRST_DAY), midnight(&format!("{LAST_DAY} + 1")));
    format!("{timestamp} >= (select {from}) and {timestamp} < (select {to})")
}

/// A further condition, where it is needed.
pub(super) fn and(needed: bool, condition: impl FnOnce() -> String) -> String {
    if needed { format!("and {}", condition()) } else { String::new() }
}
