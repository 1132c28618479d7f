//! Records from files, through the service like any client's: bad rows are told of and do not stop the rest.

mod affiliate_rows;
mod affiliates;
mod lines;
mod mapping;
mod records;
mod report;
mod source;
mod table;
mod tally;

pub(crate) use affiliates::OnDuplicate;
pub(crate) use mapping::Pair;
pub(crate) use records::Kind;
pub(crate) use source::{Encoding, Form};

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::Context as _;
use tokio::sync::mpsc;

use affiliate_rows::Rows;
use affiliates::{Rehearsal, Sender};
use mapping::Mapping;
use report::Report;
use source::{Meter, Source};
use tally::{Tally, conclude};

use crate::{progress::Progress, service::Service};

/// Rows that are sent together.
const BATCH: usize = 1000;
/// Batches that are read ahead while one is sent.
const AHEAD: usize = 2;

/// What all imports have in common.
pub(crate) struct Job<'a> {
    pub(crate) file: &'a Path,
    pub(crate) encoding: Option<Encoding>,
    pub(crate) report: Option<&'a PathBuf>,
    pub(crate) json: bool,
    /// The service; without one the rows are only looked at.
    pub(crate) service: Option<&'a Service>,
}

impl Job<'_> {
    /// Imports affiliates.
    pub(crate) async fn affiliates(
        &self,
        form: Option<Form>,
        pairs: &[Pair],
        on_duplicate: OnDuplicate,
    ) -> anyhow::Result<ExitCode> {
        let started = Instant::now();
        let mapping = Mapping::new(pairs)?;
        let source = Source::open(self.file, self.encoding)?;
        let form = form.map_or_else(|| source.form(self.file), Ok)?;
        let mut rows = Rows::of(&source, form, mapping)?;
        let mut report = Report::create(self.report.map(PathBuf::as_path), self.file)?;
        let mut sink = match self.service {
            Some(service) => Sink::Service(Sender::new(service, on_duplicate)),
            None => Sink::Nothing(Rehearsal::new(on_duplicate)),
        };
        let mut tally = Tally::default();
        let progress = Reading::begin("affiliates", &source);
        let mut batches = read_ahead(move || rows.batch(BATCH));
        while let Some(batch) = batches.recv().await {
            match &mut sink {
                Sink::Service(sender) => sender.send(batch?, &mut tally, &mut report).await?,
                Sink::Nothing(rehearsal) => rehearsal.look(batch?, &mut tally, &mut report)?,
            }
            progress.show(tally.rows);
        }
        progress.end();
        conclude(tally, started, self.service.is_none(), self.json, report.finish()?.as_deref())
    }

    /// Imports URLs or cases.
    pub(crate) async fn records(&self, kind: Kind) -> anyhow::Result<ExitCode> {
        let started = Instant::now();
        let source = Source::open(self.file, self.encoding)?;
        let mut report = Report::create(self.report.map(PathBuf::as_path), self.file)?;
        let progress = Reading::begin(kind.name(), &source);
        let tally = records::import(kind, &source, self.service, &mut report, |rows| progress.show(rows)).await?;
        progress.end();
        conclude(tally, started, self.service.is_none(), self.json, report.finish()?.as_deref())
    }
}

/// Where affiliates go.
enum Sink<'a> {
    Service(Sender<'a>),
    Nothing(Rehearsal),
}

/// How much of the file has been read.
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

/// Reads batches on a thread of its own, a few ahead of whoever takes them, until there is none or one fails.
fn read_ahead<T: Send + 'static>(
    mut read: impl FnMut() -> anyhow::Result<Vec<T>> + Send + 'static,
) -> mpsc::Receiver<anyhow::Result<Vec<T>>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        loop {
            let batch = read();
            let last = batch.as_ref().map_or(true, Vec::is_empty);
            if batch.as_ref().is_ok_and(Vec::is_empty) || sender.blocking_send(batch).is_err() || last {
                return;
            }
        }
    });
    receiver
}

/// A file that is to be imported, told apart from one that is not there.
pub(crate) fn check_readable(path: &Path) -> anyhow::Result<()> {
    std::fs::metadata(path).map(|_| ()).with_context(|| format!("cannot open {}", path.display()))
}
