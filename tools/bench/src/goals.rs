//! The goals, and whether they are met.

use crate::{
    companies,
    dataset::CROWD,
    experiments,
    measure::Sample,
    results::{Goal, Results, Series},
    statistics::{Summary, ratios},
    tables::Table,
    url_page,
};

/// The work of point reads in results.
pub(crate) const POINT_READS: &str = "point reads";

/// The measured goals.
pub(crate) fn of(results: &Results) -> Vec<Goal> {
    let mut goals = Goals(Vec::new());
    let point_reads = |over, under, connections| {
        let series = |key| results.find(POINT_READS, key, 1, connections);
        series(over).zip(series(under))
    };
    for (over, under, wanted) in [('b', 'e', 1.3), ('a', 'e', 2.0), ('a', 'd', 0.7), ('a', 'h', 10.0)] {
        for connections in [32, 64] {
            let work = format!("point reads a second, {connections} connections: ({over}) ÷ ({under})");
            goals.ratio(work, true, wanted, point_reads(over, under, connections), |sample| sample.rate);
        }
    }
    for (over, wanted) in [('a', 0.5), ('b', 0.3)] {
        let work = format!("point reads a second, one connection at a time: ({over}) ÷ (d)");
        goals.ratio(work, true, wanted, point_reads(over, 'd', 1), |sample| sample.rate);
    }
    for connections in [32, 64] {
        let work = format!("CPU a point read, {connections} connections: REST (a) ÷ gRPC (c)");
        goals.ratio(work, false, 1.3, point_reads('a', 'c', connections), Sample::cpu);
    }
    for ((work, connections), over, under, wanted) in companies::goals() {
        let series = |(key, count)| results.find(work, key, count, connections);
        let name = |(key, count): (char, u32)| format!("({key}) by {count}");
        let what = format!("{work}, a second: {} ÷ {}", name(over), name(under));
        goals.ratio(what, true, wanted, series(over).zip(series(under)), |sample| sample.rate);
    }
    for (work, [peak, beyond], wanted) in experiments::goals() {
        let series = |connections| results.find(work, 'a', CROWD, connections);
        let what = format!("{work}: {beyond} ÷ {peak} connections");
        goals.ratio(what, true, wanted, series(beyond).zip(series(peak)), |sample| sample.rate);
    }
    let url_page = |key| results.find(url_page::PAGES, key, 1, url_page::CONNECTIONS);
    let work = format!("{} a second: (a) ÷ (h)", url_page::PAGES);
    goals.ratio(work, true, 2.0, url_page('a').zip(url_page('h')), |sample| sample.rate);
    for table in Table::ALL {
        let Some((work, wanted, unit)) = table.frame().goal else { continue };
        for rows in results.groups(table) {
            let work = format!("{work}; the worst of {}: `{}`", rows.len(), rows[0].what);
            goals.values(work, false, wanted, unit, &rows[0].ratios());
        }
    }
    let work = "idle latency, 1 connection: (a) ÷ (e)".to_owned();
    goals.ratio(work, false, 1.3, point_reads('a', 'e', 1), |sample| sample.p50);
    goals.0
}

struct Goals(Vec<Goal>);

impl Goals {
    fn ratio(
        &mut self,
        work: String,
        at_least: bool,
        wanted: f64,
        pair: Option<(&Series, &Series)>,
        figure: impl Fn(&Sample) -> f64,
    ) {
        if let Some((over, under)) = pair {
            self.values(work, at_least, wanted, "", &ratios(&over.each(&figure), &under.each(&figure)));
        }
    }

    fn values(&mut self, work: String, at_least: bool, wanted: f64, unit: &'static str, values: &[f64]) {
        if let Some(summary) = Summary::of(values) {
            self.0.push(Goal { work, at_least, wanted, unit, summary });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{results::Results, tables::Table};

    #[test]
    fn the_worst_row_of_each_list_counts() {
        let mut results = Results::default();
        for (what, over) in [("/urls", 1.5), ("/cases", 2.5), ("/urls?disabled=no", 0.5)] {
            results.add(Table::Totals, what, 7, Some(1.0), over);
            results.add(Table::FirstPages, what, 7, Some(1.0), over);
        }
        results.add(Table::Memory, "core", 7, None, 16.0);
        let goals: Vec<_> = super::of(&results).iter().map(|goal| (goal.summary.median, goal.is_met())).collect();
        assert_eq!(goals, [(1.5, true), (2.5, true), (2.5, false), (16.0, true)]);
        assert_eq!(super::of(&results)[3].words(), "≤ 16 MiB");
    }
}
