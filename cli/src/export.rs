//! `compliance export` exports records to files through the service, like any client.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::Args;
use compliance_api::{
    MAX_ID, country,
    csv_cell::Escape,
    error::Error,
    record::{Record as _, StoredAs},
    v1::{Affiliate, AffiliateInput, ExportCasesRequest, ExportUrlsRequest, ListAffiliatesRequest},
};
use flags::count;
use futures::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use nix::unistd::geteuid;
use serde::Serialize;
use serde_json::{Map, Value};
use tonic::Status;

use crate::{
    output::{Form, Output, OutputFormat, is_device},
    progress::Progress,
    service::{RecordKind, Retries, Service, ServiceArgs, patiently, refused},
};

/// Export a company's records to a file or to standard output, by ascending ID. You can import the file into another company. All
/// values except IDs stay the same.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance export affiliates --company 7 --output affiliates.csv
  compliance export urls --company 7 | gzip > urls.ndjson.gz")]
pub(crate) struct ExportArgs {
    /// Kind of records to export.
    what: RecordKind,
    /// Company to export records from.
    #[arg(long, value_name = "N", value_parser = count(1..=MAX_ID))]
    company: i64,
    /// Export only records created or changed after this position in the record of changes.
    #[arg(long, value_name = "POSITION", value_parser = count(0..=MAX_ID))]
    changed_after: Option<i64>,
    /// Record format [default: from the file name, otherwise ndjson].
    // The log format already uses the ID `format`.
    #[arg(id = "record_format", long = "format", value_enum)]
    format: Option<OutputFormat>,
    /// Write CSV text unchanged, for programs. By default, the export puts an apostrophe before text that a spreadsheet would run as a
    /// formula, such as `+49 30 1`.
    #[arg(long)]
    no_csv_escape: bool,
    /// File to write [default: standard output]. The file appears under this name when it is complete.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Service")]
    service: ServiceArgs,
}

pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<()> {
    crate::program::block_on(Box::pin(async {
        let mut signals = crate::program::Signals::listen()?;
        let service =
            signals.or(Box::pin(Service::open(&args.service, args.company, args.what.scope(), false))).await?;
        let exported = signals.or(Box::pin(export(&service, args))).await.context("the export is incomplete");
        // A signal also interrupts `close`, and stops the database.
        let closed = signals.or(Box::pin(service.close())).await;
        tracing::info!(records = exported?, "exported");
        closed
    }))
}

/// Exports the records and returns their number.
async fn export(service: &Service, args: &ExportArgs) -> anyhow::Result<u64> {
    let (kind, path) = (args.what, args.output.clone());
    let named = || path.as_deref().map_or(OutputFormat::Ndjson, OutputFormat::of);
    let escape = if args.no_csv_escape { Escape::None } else { Escape::Formulas };
    let form = Form { format: args.format.unwrap_or_else(named), escape, columns: kind.columns() };
    let mut output = open(path.as_deref(), form).await?;
    // An empty export still contains column names.
    output.write(&[(); 0]).await?;
    let progress = Progress::start(kind.name(), None);
    let (mut count, mut last, mut retries) = (0, 0, Retries::default());
    loop {
        let mut pages = pages_after(service, kind, last, args.changed_after).await?;
        let error = loop {
            match pages.next().await {
                Some(Ok((records, last_of_page))) => {
                    let number = records.len() as u64;
                    output.write(&records).await?;
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
            // The affiliate list has no cursor to resume from.
            return Err(refused(&error));
        }
        retries.wait(error).await?;
    }
}

/// Opens a stream of record pages, each with its last ID. The records have IDs greater than `id` and changed after the position, if given. The
/// affiliate stream ignores `id`.
async fn pages_after(
    service: &Service,
    kind: RecordKind,
    id: i64,
    changed_after: Option<i64>,
) -> anyhow::Result<BoxStream<'static, Result<(Vec<Value>, i64), Status>>> {
    Ok(match kind {
        RecordKind::Affiliates => {
            let list = patiently(async || {
                service
                    .affiliates()
                    .list_affiliates(ListAffiliatesRequest { changed_after, ..Default::default() })
                    .await
            })
            .await?;
            list.map_ok(|message| {
                let last_id = message.affiliates.last().map_or(0, |affiliate| affiliate.id);
                (message.affiliates.iter().map(|affiliate| written(affiliate).into()).collect(), last_id)
            })
            .boxed()
        }
        RecordKind::Urls => {
            let request = ExportUrlsRequest { after_url_id: Some(id), changed_after };
            let list = patiently(async || service.monitoring().export_urls(request).await).await?;
            list.map_ok(|message| (values(&message.observations), message.last_url_id)).boxed()
        }
        RecordKind::Cases => {
            let request = ExportCasesRequest { after_case_id: Some(id), changed_after };
            let list = patiently(async || service.monitoring().export_cases(request).await).await?;
            list.map_ok(|message| (values(&message.cases), message.last_case_id)).boxed()
        }
    })
}

fn values(messages: &[impl Serialize]) -> Vec<Value> {
    // Messages always serialize to objects.
    messages.iter().map(|message| serde_json::to_value(message).unwrap_or_default()).collect()
}

/// Returns the writable fields of an affiliate, under their request names.
fn written(affiliate: &Affiliate) -> Map<String, Value> {
    let mut object = Map::new();
    for field in AffiliateInput::FIELDS {
        let Some(read) = Affiliate::FIELDS.iter().find(|read| read.column.name == field.column.name) else { continue };
        let value = match (read.column.form, field.column.form) {
            (StoredAs::CountryNumber, StoredAs::CountryCode) => {
                let numeric = affiliate.country.and_then(|code| i16::try_from(code).ok());
                numeric.and_then(country::alpha2).map(Value::from)
            }
            _ => read.written(affiliate).map(Value::from),
        };
        object.extend(value.map(|value| (field.name.to_owned(), value)));
    }
    object
}

/// Opens the output file, or standard output if no path is given.
async fn open(path: Option<&Path>, form: Form) -> anyhow::Result<Output> {
    let failure = "cannot write the records".to_owned();
    let Some(path) = path else { return Ok(Output::to_stdout(form, failure)?) };
    let is_device = is_device(path);
    let path = if is_device { path.to_owned() } else { behind_own_link(path)? };
    if path.is_dir() {
        bail!("cannot write {}: it is a folder", path.display());
    }
    Output::create(path, is_device, form, failure).await
}

/// Returns the target of a link owned by this user or root. The export replaces the target, not the link. Fails for another user's link, because it
/// can point anywhere.
fn behind_own_link(path: &Path) -> anyhow::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(link) if link.is_symlink() && ![geteuid().as_raw(), 0].contains(&link.uid()) => {
            bail!("cannot write {}: the link belongs to another user", path.display())
        }
        _ => Ok(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())),
    }
}
