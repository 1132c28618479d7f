//! The parts of a statement that read the counts: totals, the bounds of a scan, and the seek to a late page.

use storage::template::fill;

use super::{
    description::Part,
    shape::{PageStatement, unindexed},
};

impl<Q> PageStatement<'_, Q> {
    /// One row with `total`, the number of matches.
    pub(super) fn total(&self) -> String {
        let file =
            if self.shape.ranged { include_str!("sql/total_in_range.sql") } else { include_str!("sql/total.sql") };
        let date = Part::Days(self.list.date);
        fill(
            file,
            &[
                ("counts", self.list.counts),
                ("date", date.fine()),
                ("date_coarse", &date.coarse()),
                ("equal", &self.equal_counts("c")),
            ],
        )
    }

    pub(super) fn groups(&self) -> String {
        let columns: Vec<&str> = self.list.filters.iter().map(|filter| filter.column).collect();
        let (columns, equal) = (columns.join(", "), self.equal_counts("c"));
        let parts = [("columns", &*columns), ("counts", self.list.counts), ("equal", &*equal)];
        fill(include_str!("sql/groups.sql"), &parts)
    }

    pub(super) fn bounds(&self, part: Part) -> String {
        let (nearest, farthest, edge) =
            if self.shape.descending { ("desc", "asc", "+ 31") } else { ("asc", "desc", "") };
        fill(
            include_str!("sql/bounds.sql"),
            &[
                ("counts", self.list.counts),
                ("fine", part.fine()),
                ("coarse", &part.coarse()),
                ("number", &part.number()),
                ("fine_equal", &self.equal_counts("f")),
                ("coarse_equal", &self.equal_counts("c")),
                ("nearest", nearest),
                ("farthest", farthest),
                ("edge", edge),
            ],
        )
    }

    /// Finds where a late page begins: `start` has the part, the fine bucket, and the matches of the bucket before the page.
    pub(super) fn seek(&self) -> Vec<(String, String)> {
        let (mut ctes, mut starts, mut before) = (Vec::new(), Vec::new(), "$3".to_owned());
        for (number, part) in self.shape.parts.iter().enumerate() {
            ctes.push((format!("all{number}"), self.level(*part, 0, None)));
            let (mut preceding, mut buckets) = ("0", format!("all{number} b"));
            // The bucket of each level in which the page begins.
            for depth in 0..part.levels().len() {
                if depth > 0 {
                    let within = self.level(*part, depth, Some("a.bucket"));
                    preceding = "a.before";
                    buckets = format!("at{number}_{} a cross join lateral ({within}) b", depth - 1);
                }
                let parts = [
                    ("preceding", preceding),
                    ("direction", self.direction()),
                    ("buckets", &buckets),
                    ("before", &before),
                ];
                ctes.push((format!("at{number}_{depth}"), fill(include_str!("sql/begin.sql"), &parts)));
            }
            let finest = part.levels().len() - 1;
            starts.push(format!("select {number} as part, bucket, {before} - before as skip from at{number}_{finest}"));
            before = format!("greatest({before} - (select coalesce(sum(n), 0)::bigint from all{number}), 0)");
        }
        ctes.push(("start".to_owned(), format!("{} order by part limit 1", starts.join(" union all "))));
        ctes
    }

    fn level(&self, part: Part, depth: usize, within: Option<&str>) -> String {
        let levels = part.levels();
        let (dimension, shift) = &levels[depth];
        let alias = ["c", "d", "f"][depth];
        let bucket = format!("{alias}.bucket");
        // The matches of a bucket that is partly in the range.
        let part_of = || {
            if depth + 1 < levels.len() {
                return format!("(select sum(b.n) from ({}) b)", self.level(part, depth + 1, Some(&bucket)));
            }
            format!(
                "(select count(*) from {table} u where u.company_id = $1 {between} {matches})",
                table = self.list.table,
                between = part.between(Some(&bucket), Some(&format!("{bucket} + 1"))),
                matches = unindexed(&(self.equal() + &self.in_range())),
            )
        };
        let whole = format!("sum({alias}.{})", part.number());
        let n = if self.shape.ranged_along(part) && *shift > 0 {
            let (first, last) = (format!("{bucket} << {shift}"), format!("({bucket} + 1 << {shift}) - 1"));
            format!("case when {first} >= $4 and {last} <= $5 then {whole} else {} end", part_of())
        } else if self.shape.ranged_elsewhere() {
            format!(
                "case when min({alias}.first_day) >= $4 and max({alias}.last_day) <= $5 then {whole}
                    when max({alias}.last_day) < $4 or min({alias}.first_day) > $5 then 0
                    else {} end",
                part_of()
            )
        } else {
            whole
        };
        let within = within.map(|above| format!("and {bucket} between ({above} << 5) and ({above} << 5) + 31"));
        let in_range = format!("and {bucket} between $4 >> {shift} and $5 >> {shift}");
        fill(
            include_str!("sql/level.sql"),
            &[
                ("alias", alias),
                ("n", &n),
                ("counts", self.list.counts),
                ("dimension", dimension),
                ("within", &within.unwrap_or_default()),
                ("in_range", if self.shape.ranged_along(part) { &in_range } else { "" }),
                ("equal", &self.equal_counts(alias)),
            ],
        )
    }
}
