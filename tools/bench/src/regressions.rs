//! Compares every row of a build with the same row of an earlier build.

use std::fmt::Write as _;

use crate::{
    measure::Sample,
    results::{Results, Series},
    statistics::{Summary, figure, median, ratios},
};

/// Ratio above which a row is considered worse.
const WORSE: f64 = 1.05;

/// Returns a table of all rows that both builds share.
pub(crate) fn table(after: &Results, before: &Results) -> Result<String, std::fmt::Error> {
    let mut table = String::from("| row | before | after | times worse | worse |\n|---|---|---|---|---|\n");
    for new in &after.loads {
        let Series { work, key, companies, connections, .. } = new;
        let Some(old) = before.find(work, *key, *companies, *connections) else { continue };
        let what = format!("({key}), {companies} companies, {connections} connections");
        let rate = |series: &Series| series.each(|sample| sample.rate);
        let cpu = |series: &Series| series.each(Sample::cpu);
        row(&mut table, &format!("{work}, a second, {what}"), &rate(old), &rate(new), &ratios(&rate(old), &rate(new)))?;
        row(&mut table, &format!("{work}: CPU µs, {what}"), &cpu(old), &cpu(new), &ratios(&cpu(new), &cpu(old)))?;
    }
    Ok(table)
}

fn row(table: &mut String, what: &str, before: &[f64], after: &[f64], costs: &[f64]) -> std::fmt::Result {
    let Some(Summary { median: cost, min, max }) = Summary::of(costs) else { return Ok(()) };
    let worse = if cost > WORSE { "**yes**" } else { "no" };
    let (before, after) = (figure(median(before)), figure(median(after)));
    writeln!(table, "| {what} | {before} | {after} | {cost:.2} ({min:.2}–{max:.2}) | {worse} |")
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn slower_rows_are_marked() {
        let mut table = String::new();
        row(&mut table, "x", &[10.0], &[9.0], &[1.1]).unwrap();
        row(&mut table, "y", &[10.0], &[11.0], &[0.9]).unwrap();
        assert_eq!(
            table,
            "| x | 10.0 | 9.00 | 1.10 (1.10–1.10) | **yes** |\n| y | 10.0 | 11.0 | 0.90 (0.90–0.90) | no |\n"
        );
    }
}
