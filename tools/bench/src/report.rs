//! Writes the report: tables for readers, and all numbers as JSON for programs.

use std::{fmt::Write as _, path::Path};

use anyhow::Context as _;

use crate::{
    measure::Sample,
    regressions,
    results::Results,
    statistics::{Summary, figure, median},
};

/// Description of the method.
const METHOD: &str = include_str!("method.md");

/// Writes `performance.md` to a folder, and the numbers to `target/bench`. `before` contains an earlier build's results.
pub(crate) fn write(results: &Results, before: Option<&Results>, out: &Path) -> anyhow::Result<()> {
    let numbers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench");
    for folder in [out, &numbers] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let save = |path: &Path, text: &str| {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("wrote {}", path.display());
        anyhow::Ok(())
    };
    let time = results.machine.time.replace([' ', ':'], "-");
    save(&numbers.join(format!("{time}.json")), &serde_json::to_string_pretty(results)?)?;
    if let Some(before) = before {
        save(&numbers.join(format!("{time}-before.json")), &serde_json::to_string_pretty(before)?)?;
        let table = format!("# Before and after\n\n{}", regressions::table(results, before)?);
        save(&out.join("before-and-after.md"), &table)?;
        println!("{table}");
    }
    save(&out.join("performance.md"), &page(results)?)?;
    print!("{}", goals(results)?);
    Ok(())
}

fn page(results: &Results) -> anyhow::Result<String> {
    let (machine, data) = (&results.machine, &results.dataset);
    let mut page = String::from("# Performance\n\n");
    writeln!(
        page,
        "`cargo run --profile dist` in `tools/bench/` wrote this page on {}, in {:.0} minutes. The machine has {} \
        processors ({}). The load generator, the contenders and PostgreSQL {} share them. The database has {} affiliates, \
        {} URLs and {} cases. Half of each belong to the company that is measured. The run has {} rounds of {} s. Each \
        ratio is computed within a round. Figures are medians of the rounds, with the spread from the lowest to the \
        highest.\n",
        machine.time.split(' ').next().unwrap_or_default(),
        results.minutes,
        machine.cores,
        machine.processor,
        machine.postgres,
        figure(data.affiliates as f64),
        figure(data.urls as f64),
        figure(data.cases as f64),
        results.rounds,
        results.seconds,
    )?;
    page.push_str("## Goals\n\n");
    page.push_str(&goals(results)?);
    for (who, why) in &results.skipped {
        writeln!(page, "\nNot measured: {who} — {}.", why.lines().next().unwrap_or_default())?;
    }
    page.push_str(&loads(results)?);
    page.push('\n');
    page.push_str(METHOD);
    Ok(page)
}

/// Returns the table of goals.
fn goals(results: &Results) -> Result<String, std::fmt::Error> {
    let mut table = String::from("| work | goal | measured | spread | met |\n|---|---|---|---|---|\n");
    for goal in &results.goals {
        let (Summary { median, min, max }, met) = (goal.summary, if goal.is_met() { "yes" } else { "**no**" });
        let (median, min, max) = (figure(median), figure(min), figure(max));
        writeln!(table, "| {} | ≥ {} | {median} | {min}–{max} | {met} |", goal.work, goal.wanted)?;
    }
    Ok(table)
}

/// Returns a table for each kind of work.
fn loads(results: &Results) -> Result<String, std::fmt::Error> {
    let (mut text, mut last) = (String::new(), "");
    for one in &results.loads {
        if one.work != last {
            let mut start = one.work.clone();
            start[..1].make_ascii_uppercase();
            write!(
                text,
                "\n## {start}\n\n| contender | companies | connections | requests a second | p50 ms | p99 ms | CPU µs a request \
                | of that PostgreSQL |\n|---|---|---|---|---|---|---|---|\n"
            )?;
            last = &one.work;
        }
        let middle = |value: fn(&Sample) -> f64| figure(median(&one.each(value)));
        writeln!(
            text,
            "| ({}) {} | {} | {} | {} | {} | {} | {} | {} |",
            one.key,
            one.name,
            one.companies,
            one.connections,
            spread(&one.each(|sample| sample.rate)),
            middle(|sample| sample.p50),
            middle(|sample| sample.p99),
            middle(Sample::cpu),
            middle(|sample| sample.database_cpu),
        )?;
    }
    Ok(text)
}

/// Returns a median with its spread.
fn spread(values: &[f64]) -> String {
    match Summary::of(values) {
        Some(Summary { median, min, max }) => format!("{} ({}–{})", figure(median), figure(min), figure(max)),
        None => String::new(),
    }
}
