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

use anyhow::Context as _;
use clap::Args;
use compliance_api::v1::{OpenCaseRequest, UrlObservation};

use affiliates::OnDuplicate;
use batches::Batches;
use lines::Lines;
use mapping::{Mapping, pair};
use recorder::Recorder;
use report::Report;
use source::{Encoding, InputFormat, Source};
use table::Table;

use crate::{record_kind::RecordKind, service::Service};

/// Affiliates that are sent together.
const BATCH: usize = 1000;

/// The file of an import, and how its result is reported.
#[derive(Args, Debug)]
pub(crate) struct FileArgs {
    /// File to import.
    file: PathBuf,
    /// Check the rows without writing them.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Encoding of the file [default: UTF-8; a file of another encoding is refused].
    #[arg(long, value_enum)]
    encoding: Option<Encoding>,
    /// File that lists invalid rows, as CSV if its name ends in `.csv` [default: FILE.report.ndjson].
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print the result as one line of JSON on standard output.
    #[arg(long)]
    json: bool,
}

/// How affiliates are read, and what is done with those that exist.
#[derive(Args, Debug)]
pub(crate) struct AffiliateArgs {
    /// Action for an affiliate whose name the company has already.
    #[arg(long, value_enum, default_value_t = OnDuplicate::Skip)]
    on_duplicate: OnDuplicate,
    /// Field of a column with another name. An empty field leaves the column out.
    #[arg(long, value_name = "HEADER=field", value_parser = pair)]
    map: Vec<(String, String)>,
    /// Format of the file [default: by its name or its first character].
    // The log has a format, too, and IDs are unique.
    #[arg(id = "record_format", long = "format", value_enum)]
    format: Option<InputFormat>,
}

impl FileArgs {
    /// Fails if the file does not exist, or if the report would be written over it.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        std::fs::metadata(&self.file).with_context(|| format!("cannot open {}", self.file.display()))?;
        Report::check(self.report.as_deref(), &self.file)
    }

    /// Imports affiliates. Without a service, they are only checked.
    pub(crate) async fn affiliates(&self, args: &AffiliateArgs, service: Option<&Service>) -> anyhow::Result<ExitCode> {
        let mapping = Mapping::new(&args.map)?;
        let source = Source::open(&self.file, self.encoding)?;
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
        let mut recorder = self.recorder(RecordKind::Affiliates, &source)?;
        match service {
            Some(service) => affiliates::send(batches, args.on_duplicate, service, &mut recorder).await?,
            None => affiliates::check_only(batches, args.on_duplicate, &mut recorder).await?,
        }
        recorder.conclude(self.dry_run, self.json)
    }

    /// Imports URLs. Without a service, they are only checked.
    pub(crate) async fn urls(&self, service: Option<&Service>) -> anyhow::Result<ExitCode> {
        let source = Source::open(&self.file, self.encoding)?;
        let mut recorder = self.recorder(RecordKind::Urls, &source)?;
        match service {
            Some(service) => records::observe_urls(&source, service, &mut recorder).await?,
            None => records::check_only::<UrlObservation>(&source, &mut recorder).await?,
        }
        recorder.conclude(self.dry_run, self.json)
    }

    /// Imports cases. Without a service, they are only checked.
    pub(crate) async fn cases(&self, service: Option<&Service>) -> anyhow::Result<ExitCode> {
        let source = Source::open(&self.file, self.encoding)?;
        let mut recorder = self.recorder(RecordKind::Cases, &source)?;
        match service {
            Some(service) => records::open_cases(&source, service, &mut recorder).await?,
            None => records::check_only::<OpenCaseRequest>(&source, &mut recorder).await?,
        }
        recorder.conclude(self.dry_run, self.json)
    }

    fn recorder(&self, kind: RecordKind, source: &Source) -> anyhow::Result<Recorder> {
        Ok(Recorder::new(kind, source, Report::create(self.report.as_deref(), &self.file, &source.metadata()?)?))
    }
}
