//! The report: tables and charts for people, and all numbers for programs.

use std::{fmt::Write as _, path::Path};

use anyhow::Context as _;

use super::{
    chart::{Bar, draw, figure},
    results::{Pair, Results, Series},
};
use crate::statistics::{Summary, median};

/// Says how everything was measured.
const METHOD: &str = include_str!("method.md");

/// Writes `performance.md` and its charts into a folder, and the numbers beside the build.
pub(super) fn write(results: &Results, before: Option<&Results>, out: &Path) -> anyhow::Result<()> {
    let charts = out.join("performance");
    let numbers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/load-test");
    for folder in [&charts, &numbers] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let save = |path: &Path, text: &str| {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("wrote {}", path.display());
        anyhow::Ok(())
    };
    let numbers = numbers.join(format!("compare-{}.json", results.machine.moment.replace([' ', ':'], "-")));
    save(&numbers, &serde_json::to_string_pretty(results)?)?;
    for (name, chart) in draw_all(results)? {
        save(&charts.join(format!("{name}.svg")), &chart)?;
    }
    let page = page(results, before)?;
    save(&out.join("performance.md"), &page)?;
    print!("{}", goals(results, before)?);
    Ok(())
}

fn page(results: &Results, before: Option<&Results>) -> anyhow::Result<String> {
    let (machine, data) = (&results.machine, &results.dataset);
    let mut page = String::from("# Performance\n\n");
    writeln!(
        page,
        "Written by `cargo run --release -p load-test -- compare` on {}, in {:.0} minutes: {} cores ({}), shared by the \
        generator, the contenders and PostgreSQL {}. {} affiliates, {} URLs and {} cases, half of each of the company \
        that is asked for; {} rounds of {} s. What counts are the medians of ratios within a round; what is shown \
        beside them is the spread, from the least to the most.\n",
        machine.moment.split(' ').next().unwrap_or_default(),
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
    page.push_str(&goals(results, before)?);
    for (who, why) in &results.skipped {
        writeln!(page, "\nNot measured: {who} — {}.", why.lines().next().unwrap_or_default())?;
    }
    if !results.point_reads.is_empty() {
        page.push_str("\n## Point reads\n\n`GET /affiliates/{id}`, IDs drawn at random from all of the company.\n\n");
        page.push_str(&rates(&results.point_reads)?);
        for (name, _) in draw_all(results)? {
            writeln!(page, "\n![{}](performance/{name}.svg)", name.replace('-', " "))?;
        }
    }
    if !results.url_pages.is_empty() {
        page.push_str(
            "\n## A page of 100 URLs with infractions\n\n`GET /urls?per_page=100`; the records are the same JSON.\n\n",
        );
        page.push_str(&rates(&results.url_pages)?);
    }
    if !results.pages.is_empty() {
        page.push_str("\n## Late pages\n\n200 records a page, page 1 and page 5,000 (or the last full one), p50. Filters that leave less than two full pages \
            are left out.\n\n");
        page.push_str(&pairs(&results.pages, "late page", "page 1", "late page")?);
    }
    if !results.totals.is_empty() {
        page.push_str(
            "\n## Exact totals\n\nThe company with half of all records, and one with 1,000 of each kind, p50.\n\n",
        );
        page.push_str(&pairs(&results.totals, "total", "of 1,000", "of many")?);
    }
    whole_list(&mut page, results)?;
    if let Some(batch) = &results.batch {
        let size = figure(batch.size as f64);
        writeln!(
            page,
            "\n## Batches\n\n{size} affiliates in one `POST /affiliates`: {} a second. `\\copy` of the same into the same \
            table, for another company: {} a second.",
            spread(&batch.requests),
            spread(&batch.copies)
        )?;
    }
    page.push('\n');
    page.push_str(METHOD);
    Ok(page)
}

/// The table of goals, with the figures of an earlier run if there is one.
fn goals(results: &Results, before: Option<&Results>) -> Result<String, std::fmt::Error> {
    let mut table = String::from("| work | goal | measured | spread | met |");
    table.push_str(if before.is_some() {
        " before |\n|---|---|---|---|---|---|\n"
    } else {
        "\n|---|---|---|---|---|\n"
    });
    for goal in &results.goals {
        let Summary { median, min, max } = goal.summary;
        let met = if goal.is_met() { "yes" } else { "**no**" };
        write!(
            table,
            "| {} | {} | {}{} | {}–{} | {met} |",
            goal.work,
            goal.words(),
            figure(median),
            goal.unit,
            figure(min),
            figure(max)
        )?;
        if let Some(before) = before {
            let earlier = before.goals.iter().find(|earlier| earlier.work == goal.work);
            write!(table, " {} |", earlier.map_or("–".to_owned(), |earlier| figure(earlier.summary.median)))?;
        }
        table.push('\n');
    }
    Ok(table)
}

fn rates(series: &[Series]) -> Result<String, std::fmt::Error> {
    let mut table = String::from(
        "| contender | connections | requests a second | p50 ms | p99 ms | CPU µs a request | of that PostgreSQL |\n\
        |---|---|---|---|---|---|---|\n",
    );
    for one in series {
        writeln!(
            table,
            "| ({}) {} | {} | {} | {} | {} | {} | {} |",
            one.key,
            one.name,
            one.connections,
            spread(&one.each(|sample| sample.rate)),
            figure(one.middle(|sample| sample.p50)),
            figure(one.middle(|sample| sample.p99)),
            figure(one.middle(super::measure::Sample::cpu)),
            figure(one.middle(|sample| sample.database_cpu)),
        )?;
    }
    Ok(table)
}

fn pairs(pairs: &[Pair], number: &str, under: &str, over: &str) -> Result<String, std::fmt::Error> {
    let mut table = format!("| list | {number} | {under}, ms | {over}, ms | ratio |\n|---|---|---|---|---|\n");
    for pair in pairs {
        writeln!(
            table,
            "| `{}` | {} | {} | {} | {} |",
            pair.what,
            pair.number,
            figure(median(&pair.under)),
            figure(median(&pair.over)),
            spread(&pair.ratios())
        )?;
    }
    Ok(table)
}

fn whole_list(page: &mut String, results: &Results) -> std::fmt::Result {
    let Some(listing) = &results.listing else { return Ok(()) };
    writeln!(
        page,
        "\n## The whole list of {} affiliates\n\n| | seconds | first byte, ms | growth of peak memory, MiB |\n|---|---|---|---|",
        figure(listing.affiliates as f64)
    )?;
    let seconds = |times: &[f64]| spread(&times.iter().map(|time| time / 1e3).collect::<Vec<_>>());
    writeln!(
        page,
        "| our REST, one process | {} | {} | {} |",
        seconds(&listing.one_time),
        spread(&listing.one_first),
        spread(&listing.one_growth)
    )?;
    writeln!(
        page,
        "| our REST, two processes | {} | {} | gateway {}, core {} |",
        seconds(&listing.two_time),
        spread(&listing.two_first),
        spread(&listing.gateway_growth),
        spread(&listing.core_growth)
    )?;
    writeln!(page, "| `\\copy (select row_to_json(…)) to '/dev/null'` | {} | | |", seconds(&listing.copy_time))
}

/// The charts by name.
fn draw_all(results: &Results) -> Result<Vec<(&'static str, String)>, std::fmt::Error> {
    let bars = |value: &dyn Fn(&Series) -> Option<Summary>| -> Vec<Bar> {
        let level = results.point_reads.iter().map(|one| one.connections).find(|level| *level == 32);
        let level = level.or_else(|| results.point_reads.first().map(|one| one.connections));
        let series = results.point_reads.iter().filter(|one| Some(one.connections) == level);
        series
            .filter_map(|one| {
                let label = format!("({}) {}", one.key, one.name);
                Some(Bar { label, value: value(one)?, is_ours: matches!(one.key, 'a'..='c') })
            })
            .collect()
    };
    if results.point_reads.is_empty() {
        return Ok(Vec::new());
    }
    let cpu = |one: &Series| Summary::of(&one.each(super::measure::Sample::cpu));
    Ok(vec![
        ("point-read-rate", draw("Point reads a second, 32 connections", "", &bars(&Series::rate))?),
        ("point-read-cpu", draw("CPU a point read, 32 connections, database included", " µs", &bars(&cpu))?),
    ])
}

/// A median with its spread.
fn spread(values: &[f64]) -> String {
    match Summary::of(values) {
        Some(Summary { median, min, max }) => format!("{} ({}–{})", figure(median), figure(min), figure(max)),
        None => "–".to_owned(),
    }
}
