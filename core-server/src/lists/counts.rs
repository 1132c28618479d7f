//! The parts of a statement that read the counts: totals, where a scan can begin, and where a walk does.

use super::{
    description::Part,
    statement::{COMPANY, FIRST_DAY, LAST_DAY, OFFSET, PageStatement, and, unindexed},
};

impl<Q> PageStatement<'_, Q> {
    /// One row: `total`, the records that match.
    pub(super) fn total(&self) -> String {
        let sum = "select coalesce(sum(c.n), 0)::bigint as total";
        if !self.shape.ranged {
            return format!("{sum} {} and c.bucket = 0 {}", self.counts("c", "all"), self.equal_counts("c"));
        }
        let days = Part::Days(self.list.date);
        let (coarse, fine) = (self.counts("c", &days.coarse()), self.counts("c", days.fine()));
        // Whole coarse buckets. At each end, one that is cut either is left out and the days within the range are added, or
        // it is taken whole and the days without are subtracted: whichever are fewer.
        let (first_whole, last_whole) = (format!("({FIRST_DAY} & 31) < 16"), format!("({LAST_DAY} & 31) >= 16"));
        format!(
            "select coalesce(sum(c.sign * c.n), 0)::bigint as total from (
                select 1 as sign, c.* {coarse}
                    and c.bucket between ({FIRST_DAY} >> 5) + case when {first_whole} then 0 else 1 end
                        and ({LAST_DAY} >> 5) - case when {last_whole} then 0 else 1 end
                union all select -1, c.* {fine}
                    and {first_whole} and c.bucket between {FIRST_DAY} >> 5 << 5 and {FIRST_DAY} - 1
                union all select 1, c.* {fine}
                    and not {first_whole} and c.bucket between {FIRST_DAY} and {FIRST_DAY} | 31
                union all select -1, c.* {fine}
                    and {last_whole} and c.bucket between {LAST_DAY} + 1 and {LAST_DAY} | 31
                union all select 1, c.* {fine}
                    and not {last_whole} and c.bucket between {LAST_DAY} >> 5 << 5 and {LAST_DAY}
            ) c where {FIRST_DAY} <= {LAST_DAY} {}",
            self.equal_counts("c"),
        )
    }

    /// The combinations of the leading filters' values that records have, and the number of records of each.
    pub(super) fn groups(&self) -> String {
        let columns = self.leading().join(", ");
        format!(
            "select {columns}, sum(n) as n {} and c.bucket = 0 and c.n > 0 {} group by {columns}",
            self.counts("c", "all"),
            self.equal_counts("c"),
        )
    }

    /// The fine bucket that a scan of a part begins in, `near`, and the coarse one that it ends in, `far`.
    pub(super) fn bounds(&self, part: Part) -> String {
        let (nearest, farthest, edge) =
            if self.shape.descending { ("desc", "asc", "+ 31") } else { ("asc", "desc", "") };
        // A bucket whose days do not meet the range has no match.
        let can_match = |alias: &str| {
            let days = format!("{alias}.last_day >= {FIRST_DAY} and {alias}.first_day <= {LAST_DAY}");
            format!("and {alias}.{} > 0 and {days} {}", part.number(), self.equal_counts(alias))
        };
        let coarse = |direction: &str| {
            let (rows, can_match) = (self.counts("c", &part.coarse()), can_match("c"));
            format!("select c.bucket {rows} {can_match} order by c.bucket {direction} limit 1")
        };
        format!(
            "select coalesce((
                select f.bucket {fine} and f.bucket between n.bucket << 5 and (n.bucket << 5) + 31 {can_match}
                order by f.bucket {nearest} limit 1
            ), (n.bucket << 5) {edge}) as near, ({far}) as far from ({near}) n",
            fine = self.counts("f", part.fine()),
            can_match = can_match("f"),
            far = coarse(farthest),
            near = coarse(nearest),
        )
    }

    /// Finds the part and the fine bucket that a late page begins in, `start`, and how many matches of the bucket
    /// precede the page.
    pub(super) fn walk(&self, parts: &[Part]) -> Vec<String> {
        let direction = self.direction();
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
        ctes.push(format!("start as materialized ({} order by part limit 1)", starts.join(" union all ")));
        ctes
    }

    /// Coarse buckets, and how many records of each match.
    fn coarse(&self, part: Part) -> String {
        let fine = format!("(select sum(d.n) from ({}) d)", self.fine(part, "c.bucket"));
        let n = if self.ranged_along(part) {
            let inside = format!("c.bucket << 5 >= {FIRST_DAY} and (c.bucket << 5) + 31 <= {LAST_DAY}");
            format!("case when {inside} then sum(c.n) else {fine} end")
        } else if self.shape.ranged {
            zoned("c", part, &fine)
        } else {
            format!("sum(c.{})", part.number())
        };
        let range = and(self.ranged_along(part), || format!("c.bucket between {FIRST_DAY} >> 5 and {LAST_DAY} >> 5"));
        format!(
            "select c.bucket, coalesce({n}, 0)::bigint as n {rows} {range} {filters} group by c.bucket",
            rows = self.counts("c", &part.coarse()),
            filters = self.equal_counts("c"),
        )
    }

    /// Fine buckets within a coarse one, and how many records of each match.
    fn fine(&self, part: Part, coarse: &str) -> String {
        let n = if self.ranged_elsewhere() {
            let count = format!(
                "(select count(*) from {table} u where u.company_id = {COMPANY} {between} {matches})",
                table = self.list.table,
                between = part.between(Some("f.bucket"), Some("f.bucket + 1")),
                matches = unindexed(&(self.equal() + &self.in_range())),
            );
            zoned("f", part, &count)
        } else {
            format!("sum(f.{})", part.number())
        };
        let range = and(self.ranged_along(part), || format!("f.bucket between {FIRST_DAY} and {LAST_DAY}"));
        format!(
            "select f.bucket, coalesce({n}, 0)::bigint as n {rows}
                and f.bucket between ({coarse} << 5) and ({coarse} << 5) + 31 {range} {filters}
            group by f.bucket",
            rows = self.counts("f", part.fine()),
            filters = self.equal_counts("f"),
        )
    }

    pub(super) fn counts(&self, alias: &str, dimension: &str) -> String {
        format!(
            "from {} {alias} where {alias}.company_id = {COMPANY} and {alias}.dimension = '{dimension}'",
            self.list.counts
        )
    }
}

/// A bucket that lies wholly within the range counts whole, one outside of it not at all. Another is counted.
fn zoned(alias: &str, part: Part, count: &str) -> String {
    let number = part.number();
    format!(
        "case when min({alias}.first_day) >= {FIRST_DAY} and max({alias}.last_day) <= {LAST_DAY} then sum({alias}.{number})
            when max({alias}.last_day) < {FIRST_DAY} or min({alias}.first_day) > {LAST_DAY} then 0
            else {count} end"
    )
}
