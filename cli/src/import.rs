//! `compliance import`: imports records from files through the service, like any client.

mod affiliate;
mod affiliates;
mod batches;
mod cell;
mod dates;
mod elements;
mod encoding;
mod mapping;
mod proto_json;
mod recorder;
mod records;
mod report;
mod row;
mod source;
mod sync;
mod table;
mod workbook;

use std::{path::PathBuf, process::ExitCode};

use crate::program::Signals;
use clap::{Args, Subcommand};
use compliance_api::{
    MAX_ID,
    csv_cell::Escape,
    v1::{OpenCaseRequest, UrlObservation},
};
use tokio::task::spawn_blocking;

use self::{
    affiliate::Affiliate,
    affiliates::OnDuplicate,
    batches::Batches,
    dates::Order,
    encoding::Encoding,
    mapping::{Mapping, pair},
    recorder::Recorder,
    report::Report,
    source::{InputFormat, Source},
    sync::Absent,
};
use crate::service::{RecordKind, Service, ServiceArgs};

/// Affiliates that are sent together.
const BATCH: usize = 1000;

/// Import records from a file. Invalid rows are listed in a report and do not stop the rest. An import is idempotent. Exit
/// status: 0 if all rows are valid, 2 if some are invalid, 1 if the import could not run.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance import affiliates partners.csv --company 7 --dry-run
  compliance import affiliates roster.csv --company 7 --sync --absent terminated
  compliance import affiliates partners.xlsx --company 7 --dates dmy
  compliance import affiliates partners.csv --company 7 --map \"Partner No=client_affiliate_id\"
  compliance import urls urls.ndjson --company 7")]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Affiliates from CSV, from an Excel workbook (.xlsx), from JSON objects, one per line, or from a JSON list. Columns have the names of
    /// the interface's fields or the headings of the console, in any order.
    Affiliates {
        #[command(flatten)]
        affiliates: AffiliateArgs,
        #[command(flatten)]
        common: Box<CommonArgs>,
    },
    /// URLs with their infractions, from NDJSON or CSV as `export urls` writes them. A URL that the company has
    /// already takes the values of the line.
    Urls(Box<CommonArgs>),
    /// Cases with their incidents, from NDJSON or CSV as `export cases` writes them. A case whose `request_id` the
    /// company has already is skipped if it was opened with the same content, or is now as the file has it.
    Cases(Box<CommonArgs>),
}

/// How affiliates are read, and what is done with those that exist.
#[derive(Args, Debug)]
struct AffiliateArgs {
    /// What to do with an affiliate whose name the company already has.
    #[arg(long, value_enum, default_value_t = OnDuplicate::Skip)]
    on_duplicate: OnDuplicate,
    /// Identify affiliates by `client_affiliate_id`, so that names can change too: create those that are missing, and change the
    /// fields that differ. A file that was imported before changes nothing. With --dry-run, the service compares and writes nothing.
    #[arg(long, conflicts_with = "on_duplicate")]
    sync: bool,
    /// What to do with affiliates that the file does not have: `report`, or the status that they get. They are in the report, with
    /// the row 0.
    #[arg(long, requires = "sync", value_name = "report|STATUS", value_parser = sync::absent)]
    absent: Option<String>,
    /// How many affiliates may get the status of --absent [default: a tenth of those that have another status, at least 10]. If more
    /// would, nothing is imported: a file that was cut off lacks most affiliates.
    #[arg(long, requires = "absent", value_name = "N", value_parser = clap::value_parser!(i64).range(0..=MAX_ID))]
    max_absent: Option<i64>,
    /// Field of a column with another name. An empty field ignores the column.
    #[arg(long, value_name = "HEADER=field", value_parser = pair)]
    map: Vec<(String, String)>,
}

/// Arguments that all imports share.
#[derive(Args, Debug)]
struct CommonArgs {
    /// File to import.
    file: PathBuf,
    /// Format of the file [default: by its name or its first characters].
    // The log has a format, too, and IDs are unique.
    #[arg(id = "record_format", long = "format", value_enum)]
    format: Option<InputFormat>,
    /// Read the texts of CSV as they are. By default the apostrophe is taken away that an export puts before a text that a spreadsheet
    /// would run as a formula.
    #[arg(long)]
    no_csv_escape: bool,
    /// Check the rows without writing them. Only the report of invalid rows is written.
    #[arg(long)]
    dry_run: bool,
    /// Encoding of the file [default: UTF-8 or UTF-16; a file of another encoding is refused].
    #[arg(long, value_enum)]
    encoding: Option<Encoding>,
    /// Whether the day or the month is first in dates such as 1/5/2026 [default: as a date of the file shows, such as 25/5/2026; without
    /// one, the file is refused].
    #[arg(long, value_enum)]
    dates: Option<Order>,
    /// File for the list of invalid rows, as CSV if its name ends in `.csv` [default: FILE.report.ndjson]. It replaces only an
    /// earlier report. Without invalid rows it is not written.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print the result as one line of JSON on standard output.
    #[arg(long)]
    json: bool,
    /// Company that the records are imported for.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=MAX_ID))]
    company: i64,
    #[command(flatten, next_help_heading = "Service")]
    service: ServiceArgs,
}

enum Rows<'a> {
    Affiliates(Batches<Affiliate>, OnDuplicate),
    Roster(Batches<Affiliate>, &'a AffiliateArgs),
    Urls(Batches<UrlObservation>),
    Cases(Batches<OpenCaseRequest>),
}

pub(crate) fn run(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    crate::program::block_on(Box::pin(import(&args.what)))
}

async fn import(what: &What) -> anyhow::Result<ExitCode> {
    let (kind, args) = match what {
        What::Affiliates { common, .. } => (RecordKind::Affiliates, common),
        What::Urls(common) => (RecordKind::Urls, common),
        What::Cases(common) => (RecordKind::Cases, common),
    };
    let mut signals = Signals::listen()?;
    // What is wrong with the files is reported before a database is started. A large file takes a while.
    let (file, encoding, format, report) = (args.file.clone(), args.encoding, args.format, args.report.clone());
    let opened = spawn_blocking(move || {
        let (source, report) = (Source::open(&file, encoding)?, Report::check(report, &file)?);
        let format = source.format(&file, format)?;
        // A file that was cut off would otherwise be noticed when most of it is imported.
        match format {
            InputFormat::Csv => table::check_end(&source)?,
            InputFormat::Json => batches::check_end(&source)?,
            InputFormat::Ndjson | InputFormat::Xlsx => {}
        }
        Ok((source, format, report))
    });
    let (source, format, report) = signals.or(async { opened.await? }).await?;
    let rows = match what {
        What::Affiliates { affiliates, .. } if affiliates.sync => {
            Rows::Roster(affiliates.read(&source, format, args)?, affiliates)
        }
        What::Affiliates { affiliates, .. } => {
            Rows::Affiliates(affiliates.read(&source, format, args)?, affiliates.on_duplicate)
        }
        What::Urls(_) => Rows::Urls(records::batches(&source, format, args.escape(), args.dates)?),
        What::Cases(_) => Rows::Cases(records::batches(&source, format, args.escape(), args.dates)?),
    };
    // Only the service knows how a roster differs.
    let service = if args.dry_run && !matches!(rows, Rows::Roster(..)) {
        None
    } else {
        Some(signals.or(Box::pin(Service::open(&args.service, args.company, kind.scope()))).await?)
    };
    // Sends rows until a signal, or checks them without a service, and reports the result.
    let imported = Box::pin(async {
        let path = report.path.clone();
        let created = spawn_blocking(move || report.create());
        let output = signals.or(async { created.await? }).await?;
        let mut recorder = Recorder::new(kind, &source, output);
        let sent = async {
            match (rows, &service) {
                (Rows::Affiliates(rows, on_duplicate), Some(service)) => {
                    affiliates::send(rows, on_duplicate, service, &mut recorder).await
                }
                (Rows::Affiliates(rows, on_duplicate), None) => {
                    affiliates::check_only(rows, on_duplicate, &mut recorder).await
                }
                (Rows::Roster(mut rows, affiliates), Some(service)) => {
                    let absent = Absent::new(affiliates.absent.as_deref(), affiliates.max_absent);
                    if absent.status.is_some() && !args.dry_run {
                        sync::check_absent(rows, &absent, service).await?;
                        rows = affiliates.read(&source, format, args)?;
                    }
                    sync::send(rows, absent, args.dry_run, service, &mut recorder).await
                }
                // It is always opened.
                (Rows::Roster(..), None) => Ok(()),
                (Rows::Urls(rows), Some(service)) => records::observe_urls(rows, service, &mut recorder).await,
                (Rows::Urls(rows), None) => records::check_only(rows, &mut recorder).await,
                (Rows::Cases(rows), Some(service)) => records::open_cases(rows, service, &mut recorder).await,
                (Rows::Cases(rows), None) => records::check_only(rows, &mut recorder).await,
            }
        };
        let sent = signals.or(Box::pin(sent)).await;
        recorder.conclude(args.dry_run, args.json, path, sent).await
    });
    let imported = imported.await;
    let Some(service) = service else { return imported };
    // A signal ends this, too; the database is asked to stop then.
    let closed = signals.or(Box::pin(service.close())).await;
    imported.and_then(|code| closed.map(|()| code))
}

impl AffiliateArgs {
    fn read(&self, source: &Source, format: InputFormat, args: &CommonArgs) -> anyhow::Result<Batches<Affiliate>> {
        let mut mapping = Mapping::new(&self.map)?;
        if self.sync {
            // Only a new affiliate needs a name.
            mapping.required = &[sync::IDENTIFIER];
        }
        if format.is_table() {
            return Ok(Batches::read(BATCH, table::rows(source, &mapping, args.escape(), args.dates)?));
        }
        let is_list = format == InputFormat::Json;
        Batches::of_objects(BATCH, source, is_list, move |object| affiliate::parse(object, &mapping))
    }
}

impl CommonArgs {
    fn escape(&self) -> Escape {
        if self.no_csv_escape { Escape::None } else { Escape::Formulas }
    }
}
