//! The goals, and whether they are met.

use crate::{
    chart::figure,
    companies,
    results::{Goal, Pair, Results, Series},
    statistics::{Summary, median, ratios},
};

/// The goals whose figures were measured.
pub(crate) fn of(results: &Results) -> Vec<Goal> {
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
        goals.ratio(work, false, 1.3, pair, crate::measure::Sample::cpu);
    }
    for (work, over, under, wanted) in companies::goals() {
        let load = |(key, count)| results.companies.iter().find(|load| load.is(work, key, count));
        if let (Some(one), Some(other)) = (load(over), load(under)) {
            let name = |(key, count): (char, u32)| format!("({key}) by {count}");
            let work = format!("{work} a second by companies: {} ÷ {}", name(over), name(under));
            goals.values(work, true, wanted, "", &ratios(&one.rates(), &other.rates()));
        }
    }
    let url_page = |key| results.url_pages.iter().find(|series| series.key == key);
    let work = "pages of 100 URLs with infractions a second: (a) ÷ (h)".to_owned();
    goals.ratio(work, true, 2.0, url_page('a').zip(url_page('h')), |sample| sample.rate);
    for pages in &results.first_pages {
        let (list, records) = (pages.list.trim_start_matches("/api"), figure(pages.records as f64));
        let work = format!(
            "p50 of page 1 of {list} ({records} records) ÷ the plain page; the worst of {}",
            pages.shapes.len()
        );
        goals.values(work, false, 4.0, "", &pages.worst());
    }
    let counted: Vec<&Pair> = results.pages.iter().filter(|pair| pair.counted).collect();
    goals.worst("p50 of the late page ÷ page 1, 200 a page, filters counted or of the sort", &counted);
    goals.worst("exact total of many records ÷ of 1,000", &results.totals.iter().collect::<Vec<_>>());
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
    if let Some(demo_data) = &results.demo_data {
        let urls = figure(demo_data.urls as f64);
        let work = format!("{urls} demo URLs in a new database: time beside a service ÷ without one");
        goals.values(work, false, 1.5, "", &ratios(&demo_data.beside_service, &demo_data.alone));
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
        figure: impl Fn(&crate::measure::Sample) -> f64,
    ) {
        if let Some((over, under)) = pair {
            self.values(work, at_least, wanted, "", &ratios(&over.each(&figure), &under.each(&figure)));
        }
    }

    /// The list with the highest ratio.
    fn worst(&mut self, work: &str, pairs: &[&Pair]) {
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
    use crate::results::Pair;

    #[test]
    fn the_worst_list_counts() {
        let pair = |over: f64| Pair { over: vec![over], under: vec![1.0], ..Pair::new(String::new(), 1) };
        let mut goals = Goals(Vec::new());
        goals.worst("x", &[&pair(1.5), &pair(2.5), &pair(0.5)]);
        goals.values("y".to_owned(), true, 2.0, "", &[3.0, 1.0, 2.0]);
        assert!(!goals.0[0].is_met() && goals.0[1].is_met());
        assert_eq!(goals.0[1].words(), "≥ 2");
    }
}
