//! `compliance export`: exports records to files.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::Args;
use compliance_api::MAX_ID;

use crate::{
    export::{OutputFormat, export},
    record_kind::RecordKind,
    service::{Service, ServiceArgs},
};

/// Export a company's records to a file or to standard output, by ascending ID. NDJSON, and affiliates also as CSV, can be
/// imported into another company, where the records read the same.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance export affiliates --company 7 --output affiliates.csv
  compliance export urls --company 7 | gzip > urls.ndjson.gz")]
pub(crate) struct ExportArgs {
    /// Kind of records.
    what: RecordKind,
    /// Company whose records are exported.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=MAX_ID))]
    company: i64,
    /// Format of the records [default: by the name of the file, else ndjson].
    // The log has a format, too, and IDs are unique.
    #[arg(id = "record_format", long = "format", value_enum)]
    format: Option<OutputFormat>,
    /// File to write [default: standard output]. It appears under its name when it is complete.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Service")]
    service: ServiceArgs,
}

impl ExportArgs {
    fn format(&self) -> OutputFormat {
        let ending = self.output.as_deref().and_then(|path| path.extension());
        let named = ending.is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        self.format.unwrap_or(if named { OutputFormat::Csv } else { OutputFormat::Ndjson })
    }
}

pub(super) fn run(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    runtime::block_on(Box::pin(async {
        let mut signals = runtime::Signals::listen()?;
        let service = signals.or(Box::pin(Service::open(&args.service, args.company, args.what.scope()))).await?;
        let exported = Box::pin(export(&service, args.what, args.format(), args.output.as_deref()));
        let exported = signals.or(exported).await.context("the export is not complete");
        // A signal ends this, too; the database is asked to stop then.
        let closed = signals.or(Box::pin(service.close())).await;
        tracing::info!(records = exported?, "exported");
        closed?;
        Ok(ExitCode::SUCCESS)
    }))
}
