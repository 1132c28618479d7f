//! Imports records from files through the service, like any client. Invalid rows are reported and do not stop the rest.

mod affiliate;
mod affiliates;
mod batches;
mod lines;
mod mapping;
mod recorder;
mod records;
mod report;
mod row;
mod source;
mod table;

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use compliance_api::v1::{OpenCaseRequest, UrlObservation};

use affiliates::OnDuplicate;
use batches::Batches;
use lines::Lines;
use mapping::{Mapping, pair};
use recorder::Recorder;
use report::Report;
pub(crate) use source::Source;
use source::{Encoding, InputFormat};
use table::Table;

use runtime::Signals;

use crate::{blocking::blocking, record_kind::RecordKind, service::Service};

/// Affiliates that are sent together.
const BATCH: usize = 1000;

/// The file of an import, and how its result is reported.
#[derive(Args, Debug)]
pub(crate) struct FileArgs {
    /// File to import.
    file: PathBuf,
    /// Check the rows without writing them. Only the report of invalid rows is written.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Encoding of the file [default: UTF-8; a file of another encoding is refused].
    #[arg(long, value_enum)]
    encoding: Option<Encoding>,
    /// File for the list of invalid rows, as CSV if its name ends in `.csv` [default: FILE.report.ndjson]. It replaces only an
    /// earlier report. Without invalid rows it is not written.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print the result as one line of JSON on standard output.
    #[arg(long)]
    json: bool,
}

/// How affiliates are read, and what is done with those that exist.
#[derive(Args, Debug)]
pub(crate) struct AffiliateArgs {
    /// What to do with an affiliate whose name the company already has.
    #[arg(long, value_enum, default_value_t = OnDuplicate::Skip)]
    on_duplicate: OnDuplicate,
    /// Field of a column with another name. An empty field ignores the column.
    #[arg(long, value_name = "HEADER=field", value_parser = pair)]
    map: Vec<(String, String)>,
    /// Format of the file [default: by its name or its first character].
    // The log has a format, too, and IDs are unique.
    #[arg(id = "record_format", long = "format", value_enum)]
    format: Option<InputFormat>,
}

impl FileArgs {
    /// Opens the file and checks its encoding, which takes a while for a large file, and checks the name of the report.
    pub(crate) async fn open(&self) -> anyhow::Result<Source> {
        let (file, encoding, report) = (self.file.clone(), self.encoding, self.report.clone());
        blocking(move || {
            let source = Source::open(&file, encoding)?;
            Report::check(report.as_deref(), &file)?;
            Ok(source)
        })
        .await
    }

    /// Imports affiliates. Without a service, they are only checked.
    pub(crate) async fn affiliates(
        &self,
        args: &AffiliateArgs,
        source: Source,
        service: Option<&Service>,
        signals: &mut Signals,
    ) -> anyhow::Result<ExitCode> {
        let mapping = Mapping::new(&args.map)?;
        let batches = match args.format.map_or_else(|| source.format(&self.file), Ok)? {
            InputFormat::Csv => {
                let mut table = Table::of(&source, &mapping)?;
                Batches::read(BATCH, move || table.next())
            }
            InputFormat::Ndjson => {
                let mut lines = Lines::of(&source)?;
                let parse = move |(position, line): (_, &[u8])| affiliate::parse(position, line, &mapping);
                Batches::read(BATCH, move || Ok(lines.next()?.map(&parse)))
            }
        };
        let mut recorder = self.recorder(RecordKind::Affiliates, &source, signals).await?;
        let sent = signals.or(async {
            match service {
                Some(service) => affiliates::send(batches, args.on_duplicate, service, &mut recorder).await,
                None => affiliates::check_only(batches, args.on_duplicate, &mut recorder).await,
            }
        });
        let sent = sent.await;
        recorder.conclude(self.dry_run, self.json, sent).await
    }

    /// Imports URLs. Without a service, they are only checked.
    pub(crate) async fn urls(
        &self,
        source: Source,
        service: Option<&Service>,
        signals: &mut Signals,
    ) -> anyhow::Result<ExitCode> {
        let mut recorder = self.recorder(RecordKind::Urls, &source, signals).await?;
        let sent = signals.or(async {
            match service {
                Some(service) => records::observe_urls(&source, service, &mut recorder).await,
                None => records::check_only::<UrlObservation>(&source, &mut recorder).await,
            }
        });
        let sent = sent.await;
        recorder.conclude(self.dry_run, self.json, sent).await
    }

    /// Imports cases. Without a service, they are only checked.
    pub(crate) async fn cases(
        &self,
        source: Source,
        service: Option<&Service>,
        signals: &mut Signals,
    ) -> anyhow::Result<ExitCode> {
        let mut recorder = self.recorder(RecordKind::Cases, &source, signals).await?;
        let sent = signals.or(async {
            match service {
                Some(service) => records::open_cases(&source, service, &mut recorder).await,
                None => records::check_only::<OpenCaseRequest>(&source, &mut recorder).await,
            }
        });
        let sent = sent.await;
        recorder.conclude(self.dry_run, self.json, sent).await
    }

    async fn recorder(&self, kind: RecordKind, source: &Source, signals: &mut Signals) -> anyhow::Result<Recorder> {
        let (given, file) = (self.report.clone(), self.file.clone());
        let report = signals.or(blocking(move || Report::create(given.as_deref(), &file))).await?;
        Ok(Recorder::new(kind, source, report))
    }
}
