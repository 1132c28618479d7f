//! Counts and reports an import's rows, and shows the progress.

use std::{
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use serde::Serialize;
use spreadsheets::RowError;
use tokio::time::timeout;

use super::{report::Entry, row::Position, source::Source};
use crate::{
    output::{Output, print},
    progress::Progress,
    service::RecordKind,
};

/// Exit status for an import with invalid rows.
const SOME_ROWS_BAD: u8 = 3;
/// Maximum wait for the report of a stopped import.
const LAST_ROWS_TIMEOUT: Duration = Duration::from_secs(5);

/// Row counts by result.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Tally {
    pub(super) rows: u64,
    pub(super) created: u64,
    pub(super) updated: u64,
    /// Rows whose record already exists.
    pub(super) skipped: u64,
    /// Affiliates missing from the file, if --absent is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) absent: Option<u64>,
    /// Absent affiliates whose status changed, or would change without `--dry-run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) absent_changed: Option<u64>,
    /// Invalid rows, listed in the report.
    pub(super) bad: u64,
    /// Saved rows whose record may have existed before, because a response was lost. Listed in the report.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) uncertain: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Tally {
    /// Returns the number of rows without a result. Only a stopped import has such rows.
    fn without_result(&self) -> u64 {
        self.rows - (self.created + self.updated + self.skipped + self.bad + self.uncertain)
    }
}

#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    tally: Tally,
    #[serde(skip_serializing_if = "is_zero")]
    without_result: u64,
    dry_run: bool,
    seconds: f64,
    rows_per_second: u64,
    report: Option<PathBuf>,
}

pub(super) struct Recorder<'s> {
    pub(super) tally: Tally,
    /// New status for absent affiliates.
    pub(super) absent_status: Option<String>,
    report: Output,
    /// Entries not yet written to the report.
    listed: Vec<Entry>,
    progress: Progress,
    source: &'s Source,
    started: Instant,
}

impl<'s> Recorder<'s> {
    pub(super) fn new(kind: RecordKind, source: &'s Source, report: Output) -> Self {
        let progress = Progress::start(kind.name(), Some(source.size));
        Self {
            tally: Tally::default(),
            absent_status: None,
            report,
            listed: Vec::new(),
            progress,
            source,
            started: Instant::now(),
        }
    }

    pub(super) fn reject(&mut self, position: Position, errors: Vec<RowError>) {
        self.tally.bad += 1;
        self.list(position, errors);
    }

    /// Adds to the counts of absent affiliates and of changed absent affiliates.
    pub(super) fn count_absent(&mut self, absent: u64, changed: u64) {
        *self.tally.absent.get_or_insert(0) += absent;
        if self.absent_status.is_some() {
            *self.tally.absent_changed.get_or_insert(0) += changed;
        }
    }

    pub(super) fn list(&mut self, position: Position, errors: Vec<RowError>) {
        self.listed.extend(errors.into_iter().map(|error| Entry { position, error }));
    }

    /// Writes the pending entries in file order, and updates the progress.
    pub(super) async fn flush(&mut self) -> anyhow::Result<()> {
        self.listed.sort_by_key(|entry| entry.position.row);
        if !self.listed.is_empty() {
            self.report.write(&std::mem::take(&mut self.listed)).await?;
        }
        self.progress.reach(self.source.position(), self.tally.rows);
        Ok(())
    }

    /// Completes the report, prints the summary, and returns the exit status. A failed or stopped import also prints a summary of its acknowledged
    /// rows before returning its error.
    pub(super) async fn conclude(
        mut self,
        dry_run: bool,
        json: bool,
        report: PathBuf,
        sent: anyhow::Result<()>,
    ) -> anyhow::Result<ExitCode> {
        let (tally, started, absent_status) = (self.tally, self.started, self.absent_status.take());
        let reported = async {
            self.flush().await?;
            self.progress.end();
            self.report.finish().await
        };
        let is_reported = match &sent {
            Ok(()) => reported.await?,
            // The import's error is more important, and writing to a pipe can block.
            Err(_) => timeout(LAST_ROWS_TIMEOUT, reported).await.is_ok_and(|reported| reported.unwrap_or(false)),
        };
        let report = is_reported.then_some(report);
        let seconds = started.elapsed().as_secs_f64();
        let rows_per_second = (tally.rows as f64 / seconds.max(0.001)) as u64;
        let line = if json {
            let seconds = (seconds * 1000.0).round() / 1000.0;
            let without_result = tally.without_result();
            serde_json::to_string(&Summary { tally, without_result, dry_run, seconds, rows_per_second, report })?
        } else {
            let Tally { rows, created, updated, skipped, absent, absent_changed, bad, uncertain } = tally;
            let what = if dry_run {
                let updated = if updated > 0 { format!(", {updated} would be updated") } else { String::new() };
                format!("{rows} rows checked, nothing written: {created} valid{updated}")
            } else {
                format!("{rows} rows: {created} created, {updated} updated")
            };
            let counted = |count: u64, what: &str| if count == 0 { String::new() } else { format!(", {count} {what}") };
            let unknown = counted(uncertain, "saved, possibly before this import")
                + &counted(tally.without_result(), "without a result");
            let listed = match (bad + uncertain, absent.unwrap_or(0)) {
                _ if uncertain > 0 => "the uncertain and invalid rows",
                (_, 0) => "the invalid rows",
                (0, _) => "the absent affiliates",
                _ => "the invalid rows and the absent affiliates",
            };
            let mut absent = absent.map(|absent| format!(", {absent} absent")).unwrap_or_default();
            if let (Some(status), Some(changed)) = (absent_status, absent_changed) {
                let done = if dry_run { "would be set" } else { "set" };
                absent = format!("{absent} ({changed} {done} to {status})");
            }
            let report =
                report.map(|report| format!("; the report {} lists {listed}", report.display())).unwrap_or_default();
            format!(
                "{what}, {skipped} skipped, {bad} invalid{unknown}{absent}, in {seconds:.1} s ({rows_per_second} rows/s){report}"
            )
        };
        print(&line)?;
        sent?;
        Ok(if tally.bad == 0 { ExitCode::SUCCESS } else { ExitCode::from(SOME_ROWS_BAD) })
    }
}
