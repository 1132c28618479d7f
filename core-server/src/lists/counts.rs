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
            ctes.push(format!("all{number} as materialized ({})", self.level(*part, 0, None)));
            let (mut preceding, mut buckets) = ("0", format!("all{number} b"));
            // The bucket of each level that the page begins in, with what precedes it.
            for depth in 0..part.levels().len() {
                if depth > 0 {
                    let within = self.level(*part, depth, Some("a.bucket"));
                    preceding = "a.before";
                    buckets = format!("at{number}_{} a cross join lateral ({within}) b", depth - 1);
                }
                ctes.push(format!(
                    "at{number}_{depth} as materialized (
                        select bucket, before from (
                            select b.bucket, b.n,
                                {preceding} + (sum(b.n) over (order by b.bucket {direction}))::bigint - b.n as before
                            from {buckets}
                        ) s where before <= {before} and {before} < before + n
                    )"
                ));
            }
            let finest = part.levels().len() - 1;
            starts.push(format!("select {number} as part, bucket, {before} - before as skip from at{number}_{finest}"));
            before = format!("greatest({before} - (select coalesce(sum(n), 0)::bigint from all{number}), 0)");
        }
        ctes.push(format!("start as materialized ({} order by part limit 1)", starts.join(" union all ")));
        ctes
    }

    /// The buckets of a level, all or those within one of the level above, and how many records of each match.
    fn level(&self, part: Part, depth: usize, within: Option<&str>) -> String {
        let levels = part.levels();
        let (dimension, shift) = &levels[depth];
        let alias = ["c", "d", "f"][depth];
        let bucket = format!("{alias}.bucket");
        let (first, last) = (format!("{bucket} << {shift}"), format!("({bucket} + 1 << {shift}) - 1"));
        // What matches of a bucket that a range cuts.
        let part_of = || {
            if depth + 1 < levels.len() {
                return format!("(select sum(b.n) from ({}) b)", self.level(part, depth + 1, Some(&bucket)));
            }
            format!(
                "(select count(*) from {table} u where u.company_id = {COMPANY} {between} {matches})",
                table = self.list.table,
                between = part.between(Some(&bucket), Some(&format!("{bucket} + 1"))),
                matches = unindexed(&(self.equal() + &self.in_range())),
            )
        };
        let whole = format!("sum({alias}.{})", part.number());
        let n = if self.ranged_along(part) && *shift > 0 {
            format!("case when {first} >= {FIRST_DAY} and {last} <= {LAST_DAY} then {whole} else {} end", part_of())
        } else if self.ranged_elsewhere() {
            format!(
                "case when min({alias}.first_day) >= {FIRST_DAY} and max({alias}.last_day) <= {LAST_DAY} then {whole}
                    when max({alias}.last_day) < {FIRST_DAY} or min({alias}.first_day) > {LAST_DAY} then 0
                    else {} end",
                part_of()
            )
        } else {
            whole
        };
        let within = within.map(|above| format!("and {bucket} between ({above} << 5) and ({above} << 5) + 31"));
        let range = and(self.ranged_along(part), || {
            format!("{bucket} between {FIRST_DAY} >> {shift} and {LAST_DAY} >> {shift}")
        });
        format!(
            "select {bucket}, coalesce({n}, 0)::bigint as n {rows} {within} {range} {filters} group by {bucket}",
            rows = self.counts(alias, dimension),
            within = within.unwrap_or_default(),
            filters = self.equal_counts(alias),
        )
    }

    pub(super) fn counts(&self, alias: &str, dimension: &str) -> String {
        format!(
            "from {} {alias} where {alias}.company_id = {COMPANY} and {alias}.dimension = '{dimension}'",
            self.list.counts
        )
    }
}
