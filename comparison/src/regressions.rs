//! Every measured row of a build beside the same row of an earlier build, from the same run.

use std::fmt::Write as _;

use crate::{
    chart::figure,
    measure::Sample,
    results::Results,
    statistics::{Summary, median, ratios},
};

/// A row is worse from this ratio on.
const WORSE: f64 = 1.05;

/// One figure of every round.
struct Row {
    what: String,
    /// Whether a higher figure is better.
    higher: bool,
    values: Vec<f64>,
}

/// The table of all rows that both builds have.
pub(crate) fn table(after: &Results, before: &Results) -> Result<String, std::fmt::Error> {
    let mut table = String::from("| row | before | after | times worse | worse |\n|---|---|---|---|---|\n");
    let earlier = rows(before);
    for row in rows(after) {
        let Some(old) = earlier.iter().find(|old| old.what == row.what) else { continue };
        let cost = if row.higher { ratios(&old.values, &row.values) } else { ratios(&row.values, &old.values) };
        let Some(cost) = Summary::of(&cost) else { continue };
        let worse = if cost.median > WORSE { "**yes**" } else { "no" };
        writeln!(
            table,
            "| {} | {} | {} | {:.2} ({:.2}–{:.2}) | {worse} |",
            row.what,
            figure(median(&old.values)),
            figure(median(&row.values)),
            cost.median,
            cost.min,
            cost.max
        )?;
    }
    Ok(table)
}

fn rows(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |higher, what: String, values: Vec<f64>| rows.push(Row { what, higher, values });
    for (what, all) in [("point reads", &results.point_reads), ("pages of 100 URLs", &results.url_pages)] {
        for series in all {
            let who = format!("({}), {} connections", series.key, series.connections);
            add(true, format!("{what} per second, {who}"), series.each(|sample| sample.rate));
            add(false, format!("{what}: CPU µs, {who}"), series.each(Sample::cpu));
        }
    }
    for pages in &results.first_pages {
        let who = format!("`{}`, {} records", pages.list.trim_start_matches("/api"), figure(pages.records as f64));
        let times = |ratios: Vec<f64>| ratios.iter().zip(&pages.plain).map(|(ratio, plain)| ratio * plain).collect();
        add(false, format!("plain page, ms, {who}"), pages.plain.clone());
        add(false, format!("slowest page 1, ms, {who}"), times(pages.worst()));
        add(false, format!("median page 1, ms, {who}"), times(pages.middle()));
    }
    for pair in &results.pages {
        add(false, format!("page 1, ms, `{}`", pair.what), pair.under.clone());
        add(false, format!("page {}, ms, `{}`", figure(pair.number as f64), pair.what), pair.over.clone());
    }
    for pair in &results.totals {
        add(false, format!("total, ms, `{}`", pair.what), pair.over.clone());
    }
    if let Some(listing) = &results.listing {
        for (what, values) in [
            ("ms, one process", &listing.one_time),
            ("ms, two processes", &listing.two_time),
            ("first byte, ms, one process", &listing.one_first),
            ("first byte, ms, two processes", &listing.two_first),
        ] {
            add(false, format!("whole list: {what}"), values.clone());
        }
    }
    if let Some(batch) = &results.batch {
        add(true, format!("batch create of {}: affiliates per second", batch.size), batch.requests.clone());
    }
    if let Some(demo_data) = &results.demo_data {
        add(false, "demo data: seconds without a service".to_owned(), demo_data.alone.clone());
        add(false, "demo data: seconds beside a service".to_owned(), demo_data.beside_service.clone());
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::{
        dataset::Dataset,
        results::{Batch, Machine, Pair, Results},
    };

    #[test]
    fn a_slower_row_is_named() {
        let results = |milliseconds: f64, rate: f64| {
            let dataset = Dataset { affiliates: 0, urls: 0, cases: 0, listed: 0, middle: 0, crowd: 0, seed: 1 };
            let mut results = Results::new(Machine::this("15"), dataset, 1, 1.0);
            results.totals = vec![Pair { over: vec![milliseconds], ..Pair::new("/urls".to_owned(), 9) }];
            results.batch = Some(Batch { size: 10, requests: vec![rate], copies: vec![1.0] });
            results
        };
        let table = table(&results(1.1, 100.0), &results(1.0, 90.0)).unwrap();
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert!(lines[0].ends_with("| 1.10 (1.10–1.10) | **yes** |"), "{table}");
        assert!(lines[1].ends_with("| 0.90 (0.90–0.90) | no |"), "{table}");
    }
}
