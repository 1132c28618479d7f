//! Counters and summary of an import.

use std::{io::Write as _, path::Path, process::ExitCode, time::Instant};

use anyhow::Context as _;
use serde::Serialize;

/// The exit status of an import with invalid rows.
const SOME_ROWS_BAD: u8 = 2;

/// Numbers of rows by result.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Tally {
    /// Rows of the file.
    pub(super) rows: u64,
    /// Records that were created.
    pub(super) created: u64,
    /// Records that existed and were updated.
    pub(super) updated: u64,
    /// Rows whose record existed already.
    pub(super) skipped: u64,
    /// Invalid rows, which the report lists.
    pub(super) bad: u64,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    tally: Tally,
    dry_run: bool,
    seconds: f64,
    rows_per_second: u64,
    report: Option<&'a Path>,
}

/// Prints the summary on standard output, and returns the exit status.
pub(super) fn conclude(
    tally: Tally,
    started: Instant,
    dry_run: bool,
    json: bool,
    report: Option<&Path>,
) -> anyhow::Result<ExitCode> {
    let seconds = started.elapsed().as_secs_f64();
    let rows_per_second = (tally.rows as f64 / seconds.max(0.001)) as u64;
    let line = if json {
        let seconds = (seconds * 1000.0).round() / 1000.0;
        serde_json::to_string(&Summary { tally, dry_run, seconds, rows_per_second, report })?
    } else {
        let Tally { rows, created, updated, skipped, bad } = tally;
        let what = if dry_run {
            format!("{rows} rows checked, nothing written: {created} good")
        } else {
            format!("{rows} rows: {created} created, {updated} updated")
        };
        let report = report
            .map(|report| format!("; the report {} lists the invalid rows", report.display()))
            .unwrap_or_default();
        format!("{what}, {skipped} skipped, {bad} bad, in {seconds:.1} s ({rows_per_second} rows/s){report}")
    };
    writeln!(std::io::stdout(), "{line}").context("the result cannot be printed")?;
    Ok(if tally.bad == 0 { ExitCode::SUCCESS } else { ExitCode::from(SOME_ROWS_BAD) })
}
