//! Imports records from files through the service, like any client. Invalid rows are reported and do not stop the rest.

mod affiliate_rows;
mod affiliates;
mod lines;
mod mapping;
mod read_ahead;
mod records;
mod report;
mod row;
mod source;
mod table;
mod tally;

pub(crate) use affiliates::OnDuplicate;
pub(crate) use mapping::Pair;
pub(crate) use source::{Encoding, InputFormat};

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::Context as _;

use affiliate_rows::Rows;
use affiliates::{DryRun, Sender};
use mapping::Mapping;
use read_ahead::read_ahead;
use report::Report;
use source::{Meter, Source};
use tally::{Tally, conclude};

use crate::{progress::Progress, record_kind::RecordKind, service::Service};

/// Rows that are sent together.
const BATCH: usize = 1000;

/// Settings that all imports share.
pub(crate) struct Job<'a> {
    pub(crate) file: &'a Path,
    pub(crate) encoding: Option<Encoding>,
    pub(crate) report: Option<&'a PathBuf>,
    pub(crate) json: bool,
    /// The service. Without it, the rows are only checked.
    pub(crate) service: Option<&'a Service>,
}

impl Job<'_> {
    /// Imports affiliates.
    pub(crate) async fn affiliates(
        &self,
        format: Option<InputFormat>,
        pairs: &[Pair],
        on_duplicate: OnDuplicate,
    ) -> anyhow::Result<ExitCode> {
        let started = Instant::now();
        let mapping = Mapping::new(pairs)?;
        let source = Source::open(self.file, self.encoding)?;
        let format = format.map_or_else(|| source.format(self.file), Ok)?;
        let mut rows = Rows::of(&source, format, mapping)?;
        let mut report = Report::create(self.report.map(PathBuf::as_path), self.file)?;
        let mut sink = match self.service {
            Some(service) => Sink::Service(Sender::new(service, on_duplicate)),
            None => Sink::DryRun(DryRun::new(on_duplicate)),
        };
        let mut tally = Tally::default();
        let progress = Reading::begin("affiliates", &source);
        let mut batches = read_ahead(move || rows.batch(BATCH));
        while let Some(batch) = batches.recv().await {
            match &mut sink {
                Sink::Service(sender) => sender.send(batch?, &mut tally, &mut report).await?,
                Sink::DryRun(dry_run) => dry_run.check(batch?, &mut tally, &mut report)?,
            }
            progress.show(tally.rows);
        }
        progress.end();
        conclude(tally, started, self.service.is_none(), self.json, report.finish()?.as_deref())
    }

    /// Imports URLs or cases.
    pub(crate) async fn records(&self, kind: RecordKind) -> anyhow::Result<ExitCode> {
        let started = Instant::now();
        let source = Source::open(self.file, self.encoding)?;
        let mut report = Report::create(self.report.map(PathBuf::as_path), self.file)?;
        let progress = Reading::begin(kind.name(), &source);
        let tally = records::import(kind, &source, self.service, &mut report, |rows| progress.show(rows)).await?;
        progress.end();
        conclude(tally, started, self.service.is_none(), self.json, report.finish()?.as_deref())
    }
}

/// The consumer of affiliates.
enum Sink<'a> {
    Service(Sender<'a>),
    DryRun(DryRun),
}

/// Shows how much of the file has been read.
struct Reading {
    progress: Progress,
    meter: Meter,
}

impl Reading {
    fn begin(name: &'static str, source: &Source) -> Self {
        let progress = Progress::new();
        progress.start_bytes(name, source.size);
        Self { progress, meter: source.meter.clone() }
    }

    fn show(&self, rows: u64) {
        self.progress.reach(self.meter.total(), rows);
    }

    fn end(&self) {
        self.progress.end();
    }
}

/// Fails if the file does not exist.
pub(crate) fn check_readable(path: &Path) -> anyhow::Result<()> {
    std::fs::metadata(path).map(|_| ()).with_context(|| format!("cannot open {}", path.display()))
}
