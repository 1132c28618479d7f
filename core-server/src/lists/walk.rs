//! The statement that finds and reads one page.

use std::fmt::Write as _;

/// What records are sorted by along an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// By ID: 1,024 IDs a fine bucket.
    Id,
    /// By a column of moments, then ID: a day, UTC, a fine bucket.
    Time(&'static str),
}

/// One way to walk through a list: a sort key, the dimensions of the counts that cut it, and an index.
#[derive(Clone, Copy)]
pub(crate) struct Axis {
    /// What is sorted by.
    pub(crate) key: Key,
    /// Dimension of the fine buckets.
    pub(crate) fine: i16,
    /// Dimension of the coarse buckets, of 32 fine ones each.
    pub(crate) coarse: i16,
    /// What holds for the records of this axis alone, as a condition on the alias `u`; may be empty.
    pub(crate) only: &'static str,
}

/// A filter on days: the column, and the parameters of the first and the last day.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    /// The column, which `first_day` and `last_day` of the counts bound.
    pub(crate) column: &'static str,
    /// First day, as days since 1970-01-01.
    pub(crate) first: &'static str,
    /// Last day.
    pub(crate) last: &'static str,
}

/// A list: its tables, its filters, what is selected. Parameters are `$1` the company, `$2` records a page, `$3`
/// records before the page; the filters' own follow.
pub(crate) struct List {
    /// Table of the records.
    pub(crate) table: &'static str,
    /// Table of their counts.
    pub(crate) counts: &'static str,
    /// Columns that filters compare, each with its parameter. A null parameter is no filter.
    pub(crate) filters: &'static [(&'static str, &'static str)],
    /// Dimension that counts everything in one bucket.
    pub(crate) all: i16,
    /// The axis of the column that ranges are about.
    pub(crate) days: Axis,
    /// Column and parameter of the affiliate.
    pub(crate) affiliate: (&'static str, &'static str),
    /// The range filter.
    pub(crate) range: Range,
    /// A lateral query for the record of `$1` and `p.id`.
    pub(crate) record: String,
}

impl List {
    /// The statement for pages along `axes`, one after the other: the second holds what the first has no key for.
    pub(crate) fn walk(&self, axes: &[Axis], descending: bool, ranged: bool) -> String {
        let direction = if descending { "desc" } else { "asc" };
        let mut ctes = String::new();
        let mut branches = Vec::new();
        let mut before = String::from("$3");
        for (part, axis) in axes.iter().enumerate() {
            self.write_axis(&mut ctes, part, axis, direction, ranged, &before);
            branches.push(self.branch(part, axis, descending, ranged, &before));
            before = format!("greatest({before} - (select coalesce(sum(n), 0)::bigint from coarse{part}), 0)");
        }
        let total = if ranged {
            format!("select coalesce(sum(n), 0)::bigint as total from ({}) t", self.coarse(&self.days, true))
        } else {
            let (counts, filters) = (self.counts, self.filters_of("c"));
            format!(
                "select coalesce(sum(c.n), 0)::bigint as total from {counts} c
                where c.company_id = $1 and c.dimension = {} and c.bucket = 0 {filters}",
                self.all
            )
        };
        let branches: Vec<String> = branches.iter().map(|branch| format!("({branch})")).collect();
        let branches = branches.join(" union all ");
        format!(
            "with {ctes} page as (
                select id, k, part from ({branches}) b order by part, k {direction}, id {direction} limit $2
            ), total as ({total}) {}",
            self.records(direction)
        )
    }

    /// The statement for pages of one affiliate's records: those few are read from their own index and sorted.
    pub(crate) fn of_affiliate(&self, key: Key, descending: bool, ranged: bool) -> String {
        let direction = if descending { "desc" } else { "asc" };
        let (column, parameter) = self.affiliate;
        format!(
            "with matched as materialized (
                select u.id, {key} as k from {table} u
                where u.company_id = $1 and u.{column} = {parameter} {filters}
            ), page as (
                select id, k, case when k is null then 1 else 0 end as part from matched
                order by part, k {direction}, id {direction} offset $3 limit $2
            ), total as (select count(*) as total from matched) {records}",
            key = key_of(key),
            table = self.table,
            filters = self.filters_of_records(ranged, false),
            records = self.records(direction),
        )
    }

    /// The statement for records by key, for many reads at once: the company and the ID stand in the first two columns.
    pub(crate) fn by_keys(&self) -> String {
        format!(
            "select p.company_id, p.id, r.* from unnest($1::bigint[], $2::bigint[]) as p (company_id, id)
            cross join lateral ({}) r",
            self.record.replace("$1", "p.company_id")
        )
    }

    /// The statement for many records of one company by ID.
    pub(crate) fn by_ids(&self) -> String {
        format!(
            "select $1, p.id, r.* from unnest($2::bigint[]) as p (id) cross join lateral ({}) r order by p.id",
            self.record
        )
    }

    fn records(&self, direction: &str) -> String {
        format!(
            "select total.total, r.* from total
            left join (page p cross join lateral ({}) r) on true
            order by p.part, p.k {direction}, p.id {direction}",
            self.record
        )
    }

    fn write_axis(&self, ctes: &mut String, part: usize, axis: &Axis, direction: &str, ranged: bool, before: &str) {
        let coarse = self.coarse(axis, ranged);
        let fine = self.fine(axis, ranged, "at.bucket");
        // The coarse bucket that the page begins in, and the fine one within it, with how many records precede each.
        let _ = write!(
            ctes,
            "coarse{part} as materialized ({coarse}),
            at{part} as materialized (
                select bucket, before from (
                    select bucket, n, (sum(n) over (order by bucket {direction}))::bigint - n as before from coarse{part}
                ) s where before <= {before} and {before} < before + n
            ), start{part} as materialized (
                select bucket, before from (
                    select f.bucket, f.n,
                        at.before + (sum(f.n) over (order by f.bucket {direction}))::bigint - f.n as before
                    from at{part} at cross join lateral ({fine}) f
                ) s where before <= {before} and {before} < before + n
            ), "
        );
    }

    /// Records of the page that stand on this axis.
    fn branch(&self, part: usize, axis: &Axis, descending: bool, ranged: bool, before: &str) -> String {
        let bucket = format!("(select bucket from start{part})");
        // The walk begins where the page does and ends, at the latest, behind the last bucket that holds a match.
        let farthest = |aggregate: &str| format!("(select {aggregate}(bucket) from coarse{part} where n > 0)");
        let (bound, order) = match (axis.key, descending) {
            (Key::Id, true) => (
                format!("u.id < (({bucket} + 1) << 10) and u.id >= ({} << 15)", farthest("min")),
                "u.id desc".to_owned(),
            ),
            (Key::Id, false) => (
                format!("u.id >= ({bucket} << 10) and u.id < (({} + 1) << 15)", farthest("max")),
                "u.id asc".to_owned(),
            ),
            (Key::Time(column), true) => (
                format!(
                    "u.{column} < {} and u.{column} >= {}",
                    moment(&format!("({bucket} + 1)")),
                    moment(&format!("({} << 5)", farthest("min")))
                ),
                format!("u.{column} desc, u.id desc"),
            ),
            (Key::Time(column), false) => (
                format!(
                    "u.{column} >= {} and u.{column} < {}",
                    moment(&bucket),
                    moment(&format!("(({} + 1) << 5)", farthest("max")))
                ),
                format!("u.{column} asc, u.id asc"),
            ),
        };
        format!(
            "select u.id, {key} as k, {part} as part from {table} u
            where u.company_id = $1 and {bound} {only} {filters}
            order by {order} offset (select {before} - before from start{part}) limit $2",
            key = key_of(axis.key),
            table = self.table,
            only = axis.only,
            filters = self.filters_of_records(ranged, self.is_of_range(axis)),
        )
    }

    /// Coarse buckets and how many records of each match.
    fn coarse(&self, axis: &Axis, ranged: bool) -> String {
        let Range { first, last, .. } = self.range;
        let (n, bounds) = match (ranged, self.is_of_range(axis)) {
            (false, _) => ("sum(c.n)".to_owned(), String::new()),
            (true, true) => {
                let inside = format!("c.bucket << 5 >= {first} and (c.bucket << 5) + 31 <= {last}");
                let fine = self.fine(axis, true, "c.bucket");
                (
                    format!("case when {inside} then sum(c.n) else (select sum(d.n) from ({fine}) d) end"),
                    format!("and c.bucket between {first}::bigint >> 5 and {last}::bigint >> 5"),
                )
            }
            (true, false) => {
                let fine = self.fine(axis, true, "c.bucket");
                (self.zoned("c", &format!("(select sum(d.n) from ({fine}) d)")), String::new())
            }
        };
        format!(
            "select c.bucket, coalesce({n}, 0)::bigint as n from {counts} c
            where c.company_id = $1 and c.dimension = {dimension} {bounds} {filters} group by c.bucket",
            counts = self.counts,
            dimension = axis.coarse,
            filters = self.filters_of("c"),
        )
    }

    /// Fine buckets within a coarse one, and how many records of each match.
    fn fine(&self, axis: &Axis, ranged: bool, coarse: &str) -> String {
        let Range { first, last, .. } = self.range;
        let (n, bounds) = match (ranged, self.is_of_range(axis)) {
            (false, _) => ("sum(f.n)".to_owned(), String::new()),
            (true, true) => ("sum(f.n)".to_owned(), format!("and f.bucket between {first} and {last}")),
            (true, false) => {
                let within = match axis.key {
                    Key::Id => "u.id >= (f.bucket << 10) and u.id < ((f.bucket + 1) << 10)".to_owned(),
                    Key::Time(column) => {
                        format!("u.{column} >= {} and u.{column} < {}", moment("f.bucket"), moment("(f.bucket + 1)"))
                    }
                };
                let count = format!(
                    "(select count(*) from {table} u where u.company_id = $1 and {within} {only} {filters})",
                    table = self.table,
                    only = axis.only,
                    filters = self.filters_of_records(true, false),
                );
                (self.zoned("f", &count), String::new())
            }
        };
        format!(
            "select f.bucket, coalesce({n}, 0)::bigint as n from {counts} f
            where f.company_id = $1 and f.dimension = {dimension}
                and f.bucket between ({coarse} << 5) and ({coarse} << 5) + 31 {bounds} {filters}
            group by f.bucket",
            counts = self.counts,
            dimension = axis.fine,
            filters = self.filters_of("f"),
        )
    }

    /// A bucket that lies wholly within the range counts whole, one without not at all; another is counted.
    fn zoned(&self, alias: &str, count: &str) -> String {
        let Range { first, last, .. } = self.range;
        format!(
            "case when min({alias}.first_day) >= {first} and max({alias}.last_day) <= {last} then sum({alias}.n)
                when max({alias}.last_day) < {first} or min({alias}.first_day) > {last} then 0
                else {count} end"
        )
    }

    fn is_of_range(&self, axis: &Axis) -> bool {
        axis.key == Key::Time(self.range.column)
    }

    fn filters_of(&self, alias: &str) -> String {
        let mut sql = String::new();
        for (column, parameter) in self.filters {
            let _ = write!(sql, " and ({alias}.{column} = {parameter} or {parameter} is null)");
        }
        sql
    }

    /// The filters on records. A range is written so that an index can begin and end with it where the walk is along
    /// its column, and so that none can be tempted to leave the walk for it elsewhere.
    fn filters_of_records(&self, ranged: bool, along: bool) -> String {
        let mut sql = self.filters_of("u");
        if ranged {
            let Range { column, first, last } = self.range;
            // As subqueries the bounds are computed once a statement, not once a record.
            let (from, to) = (moment(first), moment(&format!("({last} + 1)")));
            let within = format!("u.{column} >= (select {from}) and u.{column} < (select {to})");
            let _ = if along { write!(sql, " and {within}") } else { write!(sql, " and ({within}) is true") };
        }
        sql
    }
}

/// The sort key as a column, null for the ID: that is there anyway.
fn key_of(key: Key) -> String {
    match key {
        Key::Id => "null::timestamptz".to_owned(),
        Key::Time(column) => format!("u.{column}"),
    }
}

/// The beginning of a day, UTC.
fn moment(day: &str) -> String {
    format!("to_timestamp({day}::double precision * 86400)")
}
