//! The goals, and how far they are met.

use serde::{Deserialize, Serialize};

use super::results::{Pair, Results, Series};
use crate::statistics::{Summary, median, ratios};

/// One goal.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Goal {
    pub(super) work: String,
    /// At least so much, or at most.
    pub(super) at_least: bool,
    pub(super) wanted: f64,
    pub(super) unit: String,
    pub(super) summary: Summary,
}

impl Goal {
    pub(super) fn is_met(&self) -> bool {
        if self.at_least { self.summary.median >= self.wanted } else { self.summary.median <= self.wanted }
    }

    /// The goal in words.
    pub(super) fn words(&self) -> String {
        let sign = if self.at_least { '≥' } else { '≤' };
        format!("{sign} {}{}", self.wanted, self.unit)
    }
}

/// What was measured of the goals.
pub(super) fn of(results: &Results) -> Vec<Goal> {
    let mut goals = Goals(Vec::new());
    for (over, under, wanted) in [
        ('b', 'e', 1.3),
        ('a', 'e', 2.0),
        ('a', 'f', 1.5),
        ('a', 'd', 0.7),
        ('a', 'g', 2.5),
        ('a', 'h', 10.0),
        ('a', 'i', 6.0),
    ] {
        for connections in [32, 64] {
            let work = format!("point reads a second, {connections} connections: ({over}) ÷ ({under})");
            let pair = results.point_read(over, connections).zip(results.point_read(under, connections));
            goals.ratio(work, true, wanted, pair, |sample| sample.rate);
        }
    }
    for connections in [32, 64] {
        let work = format!("CPU a point read, {connections} connections: REST (a) ÷ gRPC (c)");
        let pair = results.point_read('a', connections).zip(results.point_read('c', connections));
        goals.ratio(work, false, 1.3, pair, super::measure::Sample::cpu);
    }
    let url_page = |key| results.url_pages.iter().find(|series| series.key == key);
    let work = "pages of 100 URLs with infractions a second: (a) ÷ (h)".to_owned();
    goals.ratio(work, true, 2.0, url_page('a').zip(url_page('h')), |sample| sample.rate);
    goals.worst("p50 of the late page ÷ page 1, 200 a page", &results.pages);
    goals.worst("exact total of many records ÷ of 1,000", &results.totals);
    if let Some(listing) = &results.listing {
        for (process, growth) in
            [("one process", &listing.one_growth), ("gateway", &listing.gateway_growth), ("core", &listing.core_growth)]
        {
            let work = format!("{} affiliates listed whole: growth of peak memory, {process}", listing.affiliates);
            goals.values(work, false, 16.0, " MiB", growth);
        }
        for (process, time, first) in [
            ("one process", &listing.one_time, &listing.one_first),
            ("two processes", &listing.two_time, &listing.two_first),
        ] {
            let work = format!("{} affiliates listed whole: time ÷ psql's copy, {process}", listing.affiliates);
            goals.values(work, false, 1.5, "", &ratios(time, &listing.copy_time));
            goals.values(format!("the same: first byte, {process}"), false, 100.0, " ms", first);
        }
    }
    if let Some(batch) = &results.batch {
        let work = format!("batch create of {}: rows a second ÷ `\\copy`", batch.size);
        goals.values(work, true, 0.5, "", &ratios(&batch.requests, &batch.copies));
    }
    let pair = results.point_read('a', 1).zip(results.point_read('e', 1));
    goals.ratio("idle latency, 1 connection: (a) ÷ (e)".to_owned(), false, 1.3, pair, |sample| sample.p50);
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
        figure: impl Fn(&super::measure::Sample) -> f64,
    ) {
        if let Some((over, under)) = pair {
            self.values(work, at_least, wanted, "", &ratios(&over.each(&figure), &under.each(&figure)));
        }
    }

    /// The list whose ratio is the highest.
    fn worst(&mut self, work: &str, pairs: &[Pair]) {
        let worst = pairs.iter().max_by(|one, other| median(&one.ratios()).total_cmp(&median(&other.ratios())));
        if let Some(worst) = worst {
            let work = format!("{work}; the worst of {} lists", pairs.len());
            self.values(work, false, 2.0, "", &worst.ratios());
        }
    }

    fn values(&mut self, work: String, at_least: bool, wanted: f64, unit: &str, values: &[f64]) {
        if let Some(summary) = Summary::of(values) {
            self.0.push(Goal { work, at_least, wanted, unit: unit.to_owned(), summary });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Goals;
    use crate::compare::results::Pair;

    #[test]
    fn the_worst_list_counts() {
        let pair = |over: f64| Pair { over: vec![over], under: vec![1.0], ..Pair::new(String::new(), 1) };
        let mut goals = Goals(Vec::new());
        goals.worst("x", &[pair(1.5), pair(2.5), pair(0.5)]);
        goals.values("y".to_owned(), true, 2.0, "", &[3.0, 1.0, 2.0]);
        assert!(!goals.0[0].is_met() && goals.0[1].is_met());
        assert_eq!(goals.0[1].words(), "≥ 2");
    }
}
