//! The report: tables and charts for people, and all numbers as JSON for programs.

use std::{fmt::Write as _, path::Path};

use anyhow::Context as _;

use crate::{
    chart::{Bar, draw, figure},
    measure::Sample,
    regressions,
    results::{CompanyLoad, FirstPages, Pair, Results, Series},
    statistics::{Summary, median},
};

/// The description of the method.
const METHOD: &str = include_str!("method.md");

/// Shapes of page 1 in the table of a list.
const SLOWEST: usize = 5;

/// Writes `performance.md` and its charts into a folder, and the numbers below `target/`. `earlier` holds the numbers of an
/// earlier run, `before` those of an earlier build in this run.
pub(crate) fn write(
    results: &Results,
    earlier: Option<&Results>,
    before: Option<&Results>,
    out: &Path,
) -> anyhow::Result<()> {
    let charts = out.join("performance");
    let numbers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/comparison");
    for folder in [&charts, &numbers] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let save = |path: &Path, text: &str| {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("wrote {}", path.display());
        anyhow::Ok(())
    };
    let time = results.machine.time.replace([' ', ':'], "-");
    save(&numbers.join(format!("compare-{time}.json")), &serde_json::to_string_pretty(results)?)?;
    if let Some(before) = before {
        save(&numbers.join(format!("compare-{time}-before.json")), &serde_json::to_string_pretty(before)?)?;
        let table = format!("# Before and after\n\n{}", regressions::table(results, before)?);
        save(&out.join("before-and-after.md"), &table)?;
        println!("{table}");
    }
    let earlier = earlier.or(before);
    for (name, chart) in draw_all(results)? {
        save(&charts.join(format!("{name}.svg")), &chart)?;
    }
    let page = page(results, earlier)?;
    save(&out.join("performance.md"), &page)?;
    print!("{}", goals(results, earlier)?);
    Ok(())
}

fn page(results: &Results, earlier: Option<&Results>) -> anyhow::Result<String> {
    let (machine, data) = (&results.machine, &results.dataset);
    let mut page = String::from("# Performance\n\n");
    writeln!(
        page,
        "Written by `cargo run --profile dist -p comparison` on {}, in {:.0} minutes: {} cores ({}), shared by the \
        generator, the contenders and PostgreSQL {}. {} affiliates, {} URLs and {} cases, half of each of the company \
        that is measured; {} rounds of {} s. Figures are medians of ratios within a round, with the spread from the \
        lowest to the highest.\n",
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
    page.push_str(&goals(results, earlier)?);
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
    if !results.companies.is_empty() {
        page.push_str(&companies(&results.companies)?);
    }
    if !results.url_pages.is_empty() {
        page.push_str(
            "\n## A page of 100 URLs with infractions\n\n`GET /urls?per_page=100`; the records are the same JSON.\n\n",
        );
        page.push_str(&rates(&results.url_pages)?);
    }
    if !results.first_pages.is_empty() {
        page.push_str(&first_pages(&results.first_pages)?);
    }
    if !results.pages.is_empty() {
        page.push_str("\n## Late pages\n\n200 records a page, page 1 and page 5,000 (or the last full one), p50. Lists of less than two full pages are \
            left out.\n\n");
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
    if let Some(demo_data) = &results.demo_data {
        writeln!(
            page,
            "\n## Demo data\n\n{} URLs by `compliance demo-data` in a new database: {} s without a service, {} s beside one.",
            figure(demo_data.urls as f64),
            spread(&demo_data.alone),
            spread(&demo_data.beside_service)
        )?;
    }
    page.push('\n');
    page.push_str(METHOD);
    Ok(page)
}

/// The table of goals, with earlier figures if there are any.
fn goals(results: &Results, earlier: Option<&Results>) -> Result<String, std::fmt::Error> {
    let mut table = String::from("| work | goal | measured | spread | met |");
    table.push_str(if earlier.is_some() {
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
        if let Some(earlier) = earlier {
            let old = earlier.goals.iter().find(|old| old.work == goal.work);
            write!(table, " {} |", old.map_or("–".to_owned(), |old| figure(old.summary.median)))?;
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
            figure(one.middle(Sample::cpu)),
            figure(one.middle(|sample| sample.database_cpu)),
        )?;
    }
    Ok(table)
}

/// Work by one company beside the same by many.
fn companies(loads: &[CompanyLoad]) -> Result<String, std::fmt::Error> {
    let mut table = String::from(
        "\n## Companies\n\nReads with 64 calls in flight, single writes with 32. Each request has the token of the next company.\n\n\
        | work | contender | companies | requests a second | p50 ms | p99 ms | CPU µs a request | of that PostgreSQL |\n\
        |---|---|---|---|---|---|---|---|\n",
    );
    for load in loads {
        let middle = |value: fn(&Sample) -> f64| figure(median(&load.samples.iter().map(value).collect::<Vec<_>>()));
        writeln!(
            table,
            "| {} | ({}) | {} | {} | {} | {} | {} | {} |",
            load.work,
            load.key,
            load.companies,
            spread(&load.rates()),
            middle(|sample| sample.p50),
            middle(|sample| sample.p99),
            middle(Sample::cpu),
            middle(|sample| sample.database_cpu),
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

/// For each list, the median and the slowest shapes of page 1.
fn first_pages(all: &[FirstPages]) -> Result<String, std::fmt::Error> {
    let mut text = String::from(
        "\n## First pages\n\nPage 1 with 100 records, with every combination of filters and sorts, ÷ the plain page of the same list \
        (no filter, default sort), p50.\n\n| list | records | plain page, ms | median ratio | slowest | ratio |\n|---|---|---|---|---|---|\n",
    );
    for pages in all {
        let (list, records) = (pages.list.trim_start_matches("/api"), figure(pages.records as f64));
        for (what, ratio) in pages.ratios().into_iter().take(SLOWEST) {
            let (plain, middle) = (figure(median(&pages.plain)), spread(&pages.middle()));
            writeln!(text, "| `{list}` | {records} | {plain} | {middle} | `{what}` | {} |", figure(ratio))?;
        }
    }
    Ok(text)
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
    let cpu = |one: &Series| Summary::of(&one.each(Sample::cpu));
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
