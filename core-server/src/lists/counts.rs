//! The parts of a statement that read the counts: totals, where a scan can begin, and where a walk does.

use super::{
    description::Part,
    statement::{COMPANY, FIRST_DAY, LAST_DAY, OFFSET, Statement, and, within},
};

/// Reads the counts of a statement's list.
pub(super) struct Counts<'s, Q: 'static> {
    pub(super) statement: &'s Statement<'s, Q>,
}

impl<Q> Counts<'_, Q> {
    /// One row: `total`, the records that match; `readable`, those that match the filters that the filter index leads
    /// with; `seen`, those among which a scan meets the matches.
    pub(super) fn counted(&self) -> String {
        let all = format!("{} and c.bucket = 0", self.rows("c", "all"));
        let sums = format!(
            "coalesce(sum(c.n), 0)::bigint as seen, coalesce(sum(c.n) filter (where true {}), 0)::bigint as total,
            coalesce(sum(c.n) filter (where true {}), 0)::bigint as readable",
            self.statement.filters("c"),
            self.statement.leading_filters("c"),
        );
        if !self.statement.ranged {
            return format!("select {sums} {all}");
        }
        let days = Part::Days(self.statement.list.date);
        // Whole coarse buckets between the first and the last day's, and the fine ones at both ends.
        let in_range = format!(
            "select c.* {coarse} and c.bucket between ({FIRST_DAY} >> 5) + 1 and ({LAST_DAY} >> 5) - 1
            union all select c.* {fine} and c.bucket between {FIRST_DAY} and least({LAST_DAY}, {FIRST_DAY} | 31)
            union all select c.* {fine}
                and c.bucket between greatest({LAST_DAY} >> 5 << 5, ({FIRST_DAY} | 31) + 1) and {LAST_DAY}",
            coarse = self.rows("c", &days.coarse()),
            fine = self.rows("c", &days.fine()),
        );
        if self.statement.ranged_elsewhere() {
            format!(
                "select (select coalesce(sum(c.n), 0)::bigint {all}) as seen, r.total, r.readable
                from (select {sums} from ({in_range}) c) r"
            )
        } else {
            format!("select {sums} from ({in_range}) c")
        }
    }

    /// For each part the fine bucket that a scan begins in, `near`, and the coarse one that it ends in, `far`. A walk
    /// begins where `start` says.
    pub(super) fn bounds(&self, parts: &[Part]) -> String {
        let (nearest, farthest, edge) =
            if self.statement.descending { ("desc", "asc", "+ 31") } else { ("asc", "desc", "") };
        let bounds = parts.iter().enumerate().map(|(number, part)| {
            let coarse = |direction: &str| {
                format!(
                    "select c.bucket {} {} and {} order by c.bucket {direction} limit 1",
                    self.rows("c", &part.coarse()),
                    self.coarse_in_range("c", *part),
                    self.can_match("c"),
                )
            };
            format!(
                "bounds{number} as materialized (
                    select coalesce((select bucket from start where part = {number}), (
                        select f.bucket {fine} and f.bucket between n.bucket << 5 and (n.bucket << 5) + 31 {fine_range}
                            and {can_match}
                        order by f.bucket {nearest} limit 1
                    ), (n.bucket << 5) {edge}) as near, ({far}) as far
                    from ({near}) n
                )",
                fine = self.rows("f", &part.fine()),
                fine_range = self.fine_in_range("f", *part),
                can_match = self.can_match("f"),
                far = coarse(farthest),
                near = coarse(nearest),
            )
        });
        bounds.collect::<Vec<_>>().join(", ")
    }

    /// Finds the part and the fine bucket that a late page begins in, `start`, and how many records of the bucket
    /// precede the page. Empty unless the walk is chosen.
    pub(super) fn walk(&self, parts: &[Part]) -> String {
        let direction = if self.statement.descending { "desc" } else { "asc" };
        let (mut ctes, mut starts, mut before) = (Vec::new(), Vec::new(), OFFSET.to_owned());
        for (number, part) in parts.iter().enumerate() {
            // The coarse bucket that the page begins in, then the fine one, each with what precedes it.
            ctes.push(format!(
                "coarse{number} as materialized ({coarse}),
                at{number} as materialized (
                    select bucket, before from (
                        select bucket, n, (sum(n) over (order by bucket {direction}))::bigint - n as before
                        from coarse{number}
                    ) s where before <= {before} and {before} < before + n
                ), begin{number} as materialized (
                    select bucket, before from (
                        select f.bucket, f.n,
                            a.before + (sum(f.n) over (order by f.bucket {direction}))::bigint - f.n as before
                        from at{number} a cross join lateral ({fine}) f
                    ) s where before <= {before} and {before} < before + n
                )",
                coarse = self.coarse(*part),
                fine = self.fine(*part, "a.bucket"),
            ));
            starts.push(format!("select {number} as part, bucket, {before} - before as skip from begin{number}"));
            before = format!("greatest({before} - (select coalesce(sum(n), 0)::bigint from coarse{number}), 0)");
        }
        format!("{}, start as materialized ({} order by part limit 1)", ctes.join(", "), starts.join(" union all "))
    }

    /// How many records a scan reads until it has met so many matches. Within a bucket matches are taken to be
    /// spread evenly, and so are its days between the first and the last. The first coarse bucket with a match is looked at by
    /// its fine ones.
    pub(super) fn reach(&self, parts: &[Part], needed: &str) -> String {
        let direction = if self.statement.descending { "desc" } else { "asc" };
        let coarse = self.matching(parts, "c", Part::coarse, |_| String::new());
        let fine = self.matching(parts, "f", Part::fine, |number| {
            let first =
                |edge: &str| format!("(select (bucket << 5) {edge} from touched where part = {number} and first)");
            format!("and f.bucket between {} and {}", first(""), first("+ 31"))
        });
        format!(
            "with touched as materialized (
                select *, row_number() over (order by part, bucket {direction}) = 1 as first from ({coarse}) b
                where matching > 0
            )
            select coalesce(sum(
                case when before + matching <= needed then n else n * (needed - before) / matching end
            ), 0) from (
                select n, matching, {needed} as needed,
                    sum(matching) over (order by part, start {direction}) - matching as before
                from (
                    select part, bucket as start, n, matching from ({fine}) f
                    union all select part, bucket << 5, n, matching from touched where not first
                ) b
            ) b where before < needed and before + matching > 0"
        )
    }

    /// Buckets of all parts, with how many records they hold and how many of those match.
    fn matching(
        &self,
        parts: &[Part],
        alias: &str,
        dimension: fn(Part) -> String,
        condition: impl Fn(usize) -> String,
    ) -> String {
        let share = if self.statement.ranged_elsewhere() {
            format!(
                "{alias}.n * greatest(
                    least({LAST_DAY}, {alias}.last_day)::bigint - greatest({FIRST_DAY}, {alias}.first_day) + 1, 0
                )::double precision / ({alias}.last_day - {alias}.first_day + 1)"
            )
        } else {
            format!("{alias}.n::double precision")
        };
        let buckets = parts.iter().enumerate().map(|(number, part)| {
            let dimension = dimension(*part);
            let range = if dimension == part.fine() {
                self.fine_in_range(alias, *part)
            } else {
                self.coarse_in_range(alias, *part)
            };
            format!(
                "select {number} as part, {alias}.bucket, sum({alias}.n) as n,
                    coalesce(sum({share}) filter (where true {filters}), 0) as matching
                {rows} {range} {condition} group by {alias}.bucket",
                filters = self.statement.filters(alias),
                rows = self.rows(alias, &dimension),
                condition = condition(number),
            )
        });
        buckets.collect::<Vec<_>>().join(" union all ")
    }

    /// How many records stand in fine buckets that a range can neither take whole nor leave: a walk counts them.
    pub(super) fn edges(&self, parts: &[Part]) -> String {
        let edges = parts.iter().map(|part| {
            let on_edge = |alias: &str| {
                let (first, last) = (format!("min({alias}.first_day)"), format!("max({alias}.last_day)"));
                format!(
                    "{last} >= {FIRST_DAY} and {first} <= {LAST_DAY} and ({first} < {FIRST_DAY} or {last} > {LAST_DAY})"
                )
            };
            format!(
                "select sum(f.n) as n from (
                    select c.bucket {coarse} {of_coarse} group by c.bucket having {coarse_edge}
                ) c cross join lateral (
                    select sum(f.n) as n {fine} {of_fine} and f.bucket between c.bucket << 5 and (c.bucket << 5) + 31
                    group by f.bucket having {fine_edge}
                ) f",
                coarse = self.rows("c", &part.coarse()),
                of_coarse = self.statement.filters("c"),
                coarse_edge = on_edge("c"),
                fine = self.rows("f", &part.fine()),
                of_fine = self.statement.filters("f"),
                fine_edge = on_edge("f"),
            )
        });
        format!("select coalesce(sum(n), 0)::bigint from ({}) e", edges.collect::<Vec<_>>().join(" union all "))
    }

    /// Coarse buckets, and how many records of each match.
    fn coarse(&self, part: Part) -> String {
        let fine = format!("(select sum(d.n) from ({}) d)", self.fine(part, "c.bucket"));
        let n = if self.statement.ranged_along(part) {
            let inside = format!("c.bucket << 5 >= {FIRST_DAY} and (c.bucket << 5) + 31 <= {LAST_DAY}");
            format!("case when {inside} then sum(c.n) else {fine} end")
        } else if self.statement.ranged {
            zoned("c", &fine)
        } else {
            "sum(c.n)".to_owned()
        };
        format!(
            "select c.bucket, coalesce({n}, 0)::bigint as n {rows} {range} {filters}
                and (select way = 'walk' from choice)
            group by c.bucket",
            rows = self.rows("c", &part.coarse()),
            range = self.coarse_in_range("c", part),
            filters = self.statement.filters("c"),
        )
    }

    /// Fine buckets within a coarse one, and how many records of each match.
    fn fine(&self, part: Part, coarse: &str) -> String {
        let n = if self.statement.ranged_elsewhere() {
            let list = self.statement.list;
            // The planner cannot take the condition for one on the index of the dates.
            let count = format!(
                "(select count(*) from {table} u
                where u.company_id = {COMPANY} and {between} {filters} and ({within}) is true)",
                table = list.table,
                within = within(&format!("u.{}", list.date)),
                between = part.between("f.bucket", "f.bucket + 1"),
                filters = self.statement.filters("u"),
            );
            zoned("f", &count)
        } else {
            "sum(f.n)".to_owned()
        };
        format!(
            "select f.bucket, coalesce({n}, 0)::bigint as n {rows}
                and f.bucket between ({coarse} << 5) and ({coarse} << 5) + 31 {range} {filters}
            group by f.bucket",
            rows = self.rows("f", &part.fine()),
            range = self.fine_in_range("f", part),
            filters = self.statement.filters("f"),
        )
    }

    /// The company's counts of one dimension.
    fn rows(&self, alias: &str, dimension: &str) -> String {
        format!(
            "from {} {alias} where {alias}.company_id = {COMPANY} and {alias}.dimension = '{dimension}'",
            self.statement.list.counts
        )
    }

    /// Whether a bucket can hold a match.
    fn can_match(&self, alias: &str) -> String {
        let days = and(self.statement.ranged_elsewhere(), || {
            format!("{alias}.last_day >= {FIRST_DAY} and {alias}.first_day <= {LAST_DAY}")
        });
        format!("{alias}.n > 0 {} {days}", self.statement.filters(alias))
    }

    fn coarse_in_range(&self, alias: &str, part: Part) -> String {
        and(self.statement.ranged_along(part), || {
            format!("{alias}.bucket between {FIRST_DAY} >> 5 and {LAST_DAY} >> 5")
        })
    }

    fn fine_in_range(&self, alias: &str, part: Part) -> String {
        and(self.statement.ranged_along(part), || format!("{alias}.bucket between {FIRST_DAY} and {LAST_DAY}"))
    }
}

/// A bucket that lies wholly within the range counts whole, one outside of it not at all. Another is counted.
fn zoned(alias: &str, count: &str) -> String {
    format!(
        "case when min({alias}.first_day) >= {FIRST_DAY} and max({alias}.last_day) <= {LAST_DAY} then sum({alias}.n)
            when max({alias}.last_day) < {FIRST_DAY} or min({alias}.first_day) > {LAST_DAY} then 0
            else {count} end"
    )
}
