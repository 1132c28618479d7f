//! `compliance export`: exports records to files through the service, like any client.

mod pages;

use std::{
    fs,
    io::stdout,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Args;
use compliance_api::{MAX_ID, csv_cell::Escape, error::Error};
use futures::StreamExt as _;
use nix::unistd::geteuid;
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::{
    output::{Output, OutputFormat, create, is_device},
    progress::Progress,
    service::{RecordKind, Retries, Service, ServiceArgs, refused},
};

/// Export a company's records to a file or to standard output, by ascending ID. You can import the file into another
/// company: the records then have the same values, except IDs.
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
    /// Export only records that were created or changed after this position of the record of changes.
    #[arg(long, value_name = "POSITION", value_parser = clap::value_parser!(i64).range(0..=MAX_ID))]
    changed_after: Option<i64>,
    /// Format of the records [default: by the name of the file, else ndjson].
    // The ID `format` belongs to the log.
    #[arg(id = "record_format", long = "format", value_enum)]
    format: Option<OutputFormat>,
    /// Write texts to CSV unchanged, for programs. By default, an apostrophe precedes a text that a spreadsheet would run as a formula, such
    /// as `+49 30 1`.
    #[arg(long)]
    no_csv_escape: bool,
    /// File to write [default: standard output]. The file appears under this name when it is complete.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Service")]
    service: ServiceArgs,
}

pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    crate::program::block_on(Box::pin(async {
        let mut signals = crate::program::Signals::listen()?;
        let service = signals.or(Box::pin(Service::open(&args.service, args.company, args.what.scope()))).await?;
        let exported = signals.or(Box::pin(export(&service, args))).await.context("the export is not complete");
        // A signal also ends this, and the database stops.
        let closed = signals.or(Box::pin(service.close())).await;
        tracing::info!(records = exported?, "exported");
        closed?;
        Ok(ExitCode::SUCCESS)
    }))
}

/// Exports the records and returns their number.
async fn export(service: &Service, args: &ExportArgs) -> anyhow::Result<u64> {
    let (kind, path) = (args.what, args.output.clone());
    let named = || path.as_deref().map_or(OutputFormat::Ndjson, OutputFormat::of);
    let format = args.format.unwrap_or_else(named);
    let format = (format, if args.no_csv_escape { Escape::None } else { Escape::Formulas });
    let mut output = spawn_blocking(move || open(path.as_deref(), format, pages::columns(kind))).await??;
    // An export without records still has the names of the columns.
    output.write(Vec::new()).await?;
    let progress = Progress::start(kind.name(), None);
    let (mut count, mut last, mut retries) = (0, 0, Retries::default());
    loop {
        let mut pages = pages::after(service, kind, last, args.changed_after).await?;
        let error = loop {
            match pages.next().await {
                Some(Ok((records, last_of_page))) => {
                    let number = records.len() as u64;
                    output.write(records).await?;
                    count += number;
                    progress.add(number);
                    (last, retries) = (last_of_page, Retries::default());
                }
                Some(Err(status)) => break Error::from(&status),
                None => {
                    output.finish().await?;
                    progress.end();
                    return Ok(count);
                }
            }
        };
        if kind == RecordKind::Affiliates {
            // The list of affiliates cannot continue after a page.
            return Err(refused(&error));
        }
        retries.wait(error).await?;
    }
}

/// Opens the output, which may block.
fn open(
    path: Option<&Path>,
    format: (OutputFormat, Escape),
    columns: Vec<&'static str>,
) -> anyhow::Result<Output<Value>> {
    let failure = "the records cannot be written".to_owned();
    let Some(path) = path else { return Ok(Output::start(stdout(), None, format, columns, failure)) };
    let is_device = is_device(path);
    let path = if is_device { path.to_owned() } else { behind_own_link(path)? };
    if path.is_dir() {
        bail!("cannot write {}: it is a folder", path.display());
    }
    let (file, unfinished) = create(path, is_device)?;
    Ok(Output::start(file, unfinished, format, columns, failure))
}

/// Returns the target of a link of this user or of root: the export replaces the file, not the link. Links of other users are errors,
/// because they may lead anywhere.
fn behind_own_link(path: &Path) -> anyhow::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(link) if link.is_symlink() && ![geteuid().as_raw(), 0].contains(&link.uid()) => {
            bail!("cannot write {}: it is a link of another user", path.display())
        }
        _ => Ok(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())),
    }
}
