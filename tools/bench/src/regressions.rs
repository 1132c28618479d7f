//! Compares every row of a build with an earlier build in the same run.

use std::fmt::Write as _;

use crate::{
    measure::Sample,
    results::{Results, Series},
    statistics::{Summary, figure, median, ratios},
    tables::Table,
};

/// From this ratio on, a row is worse.
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
        let (before, after) = (figure(median(&old.values)), figure(median(&row.values)));
        let Summary { median, min, max } = cost;
        writeln!(table, "| {} | {before} | {after} | {median:.2} ({min:.2}–{max:.2}) | {worse} |", row.what)?;
    }
    Ok(table)
}

fn rows(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |higher, what: String, values: Vec<f64>| rows.push(Row { what, higher, values });
    for series in &results.loads {
        let Series { work, key, companies, connections, .. } = series;
        let who = format!("({key}), {companies} companies, {connections} connections");
        add(true, format!("{work}, a second, {who}"), series.each(|sample| sample.rate));
        add(false, format!("{work}: CPU µs, {who}"), series.each(Sample::cpu));
    }
    for table in Table::ALL {
        let [number, under, over] = table.frame().columns;
        for pair in results
            .groups(table)
            .into_iter()
            .flat_map(|rows| rows.into_iter().take(table.shown().unwrap_or(usize::MAX)))
        {
            let row =
                |value: &str| format!("{}: {value}, `{}`, {} {number}", table.frame().title, pair.what, pair.number);
            add(false, row(under), pair.under.clone());
            add(false, row(over), pair.over.clone());
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::{results::Results, tables::Table};

    #[test]
    fn a_slower_row_is_named() {
        let results = |one: f64, other: f64| {
            let mut results = Results::default();
            results.add(Table::Memory, "gateway", 9, None, one);
            results.add(Table::Memory, "core", 9, None, other);
            results
        };
        let table = table(&results(1.1, 0.9), &results(1.0, 1.0)).unwrap();
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert!(lines[0].ends_with("| 1.10 (1.10–1.10) | **yes** |"), "{table}");
        assert!(lines[1].ends_with("| 0.90 (0.90–0.90) | no |"), "{table}");
    }
}
