//! Defines the goals, and checks whether they are met.

use crate::{
    dataset::CROWD,
    results::{Goal, Results, Series},
    statistics::{Summary, ratios},
    work::{BY_COMPANIES, NEW_AFFILIATES, NEW_URLS, POINT_READS, URL_PAGES},
};

/// A contender, and the number of companies.
type Load = (char, u32);

/// Minimum ratios between the rates of two loads: work, connections, both loads, and the ratio.
const RATES: [(&str, u32, Load, Load, f64); 20] = [
    (POINT_READS, 32, ('b', 1), ('e', 1), 1.3),
    (POINT_READS, 64, ('b', 1), ('e', 1), 1.3),
    (POINT_READS, 32, ('a', 1), ('e', 1), 2.0),
    (POINT_READS, 64, ('a', 1), ('e', 1), 2.0),
    (POINT_READS, 32, ('a', 1), ('d', 1), 0.7),
    (POINT_READS, 64, ('a', 1), ('d', 1), 0.7),
    (POINT_READS, 32, ('a', 1), ('h', 1), 10.0),
    (POINT_READS, 64, ('a', 1), ('h', 1), 10.0),
    (POINT_READS, 1, ('a', 1), ('d', 1), 0.5),
    (POINT_READS, 1, ('b', 1), ('d', 1), 0.3),
    (BY_COMPANIES, 64, ('a', 1), ('k', 1), 0.6),
    (BY_COMPANIES, 64, ('a', CROWD), ('k', CROWD), 0.55),
    (BY_COMPANIES, 64, ('b', 1), ('a', 1), 0.8),
    (BY_COMPANIES, 64, ('b', CROWD), ('a', CROWD), 0.8),
    (BY_COMPANIES, 64, ('a', CROWD), ('a', 1), 0.85),
    (BY_COMPANIES, 64, ('b', CROWD), ('b', 1), 0.85),
    (BY_COMPANIES, 64, ('b', CROWD), ('e', 1), 1.3),
    (BY_COMPANIES, 64, ('c', CROWD), ('a', CROWD), 1.0),
    (URL_PAGES, 16, ('a', 1), ('h', 1), 2.0),
    // A single connection's latency is the inverse of its rate.
    (POINT_READS, 1, ('a', 1), ('e', 1), 0.77),
];

/// Returns the measured goals.
pub(crate) fn of(results: &Results) -> Vec<Goal> {
    let mut goals = Vec::new();
    let mut add = |work: &str, connections, over: Load, under: Load, wanted| {
        let series = |(key, companies): Load| results.find(work, key, companies, connections);
        let Some((one, other)) = series(over).zip(series(under)) else { return };
        let values = |series: &Series| series.each(|sample| sample.rate);
        let Some(summary) = Summary::of(&ratios(&values(one), &values(other))) else { return };
        let name = |(key, companies): Load| format!("({key}) by {companies}");
        let work = format!("{work} a second, {connections} connections: {} ÷ {}", name(over), name(under));
        goals.push(Goal { work, wanted, summary });
    };
    for (work, connections, over, under, wanted) in RATES {
        add(work, connections, over, under, wanted);
    }
    for work in [NEW_URLS, NEW_AFFILIATES] {
        for key in ['a', 'b', 'c'] {
            for companies in [1, CROWD] {
                add(work, 32, (key, companies), ('j', 1), 0.5);
            }
        }
    }
    goals
}
