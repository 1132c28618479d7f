//! `compliance import` imports records from files through the service, like any client.

mod affiliate;
mod affiliates;
mod batches;
mod objects;
mod recorder;
mod records;
mod report;
mod row;
mod source;
mod sync;

use std::{path::PathBuf, process::ExitCode, sync::Once};

use anyhow::Context as _;
use clap::{
    Args, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser as _},
};
use compliance_api::{
    MAX_ID,
    csv_cell::Escape,
    v1::{OpenCaseRequest, UrlObservation},
};
use flags::count;
use spreadsheets::{AffiliateRow, Empty, Encoding, Headings, Limits, Options, Order, Table};
use tokio::task::spawn_blocking;

use self::{
    affiliates::OnDuplicate,
    batches::Batches,
    recorder::Recorder,
    report::Report,
    source::{InputFormat, Source, advised},
    sync::Absent,
};
use crate::{
    program::{InvalidSetting, Signals},
    service::{RecordKind, Service, ServiceArgs},
};

/// Affiliates per batch.
const BATCH: usize = 1000;
/// Maximum uncompressed size of a workbook, in bytes.
const UNPACKED_BYTES: u64 = 512 << 20;

/// Import records from a file. Invalid rows do not stop the import: a report lists them. You can repeat an import safely. The exit status
/// is 0 if all rows are valid, and 3 if some are invalid. It is 1 if the import could not run, and 2 if the file is unreadable or the
/// command line is wrong.
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
    /// Import affiliates from CSV, an Excel workbook (.xlsx), NDJSON or a JSON list. Column names are API field names or
    /// console headings, in any order.
    Affiliates {
        #[command(flatten)]
        affiliates: AffiliateArgs,
        #[command(flatten)]
        common: Box<CommonArgs>,
    },
    /// Import URLs with their infractions, from the NDJSON or CSV output of `export urls`. The import updates existing URLs.
    Urls(Box<CommonArgs>),
    /// Import cases with their incidents, from the NDJSON or CSV output of `export cases`. The import skips a case if its `request_id`
    /// already exists and its original or current content is the same.
    Cases(Box<CommonArgs>),
}

/// How to read affiliates, and what to do with existing affiliates.
#[derive(Args, Debug)]
struct AffiliateArgs {
    /// What to do with an affiliate whose name already exists.
    #[arg(long, value_enum, default_value_t = OnDuplicate::Skip)]
    on_duplicate: OnDuplicate,
    /// Identify affiliates by `client_affiliate_id`, not by name: create missing affiliates, and update changed fields, including names. Importing
    /// the same file again changes nothing. With --dry-run, the service only compares.
    #[arg(long, conflicts_with = "on_duplicate")]
    sync: bool,
    /// What to do with affiliates that are missing from the file. `report` lists them in the report, as row 0. With a
    /// status, such as `terminated`, the import also sets their status.
    #[arg(long, requires = "sync", value_name = "report|STATUS", value_parser = sync::absent)]
    absent: Option<String>,
    /// Maximum number of affiliates whose status --absent changes [default: a tenth of the affiliates with a different status, at least 10]. Above
    /// this limit, the command imports nothing, because the file may be truncated.
    #[arg(long, requires = "absent", value_name = "N", value_parser = count(0..=MAX_ID))]
    max_absent: Option<i64>,
}

/// Arguments of all imports.
#[derive(Args, Debug)]
struct CommonArgs {
    /// File to import.
    file: PathBuf,
    /// File format [default: from the file name or the first characters].
    // The log format already uses the ID `format`.
    #[arg(id = "record_format", long = "format", value_enum)]
    format: Option<InputFormat>,
    /// Read CSV text unchanged. By default, the import removes the apostrophe that an export puts before formulas.
    #[arg(long)]
    no_csv_escape: bool,
    /// Check the rows without importing them. The command writes only the report of invalid rows.
    #[arg(long)]
    dry_run: bool,
    /// Field for a column whose heading is not a field name. An empty field ignores the column.
    #[arg(long, value_name = "HEADING=field", value_parser = pair)]
    map: Vec<(String, String)>,
    /// File encoding. Excel saves CSV as `windows-1252` on Windows and as `macintosh` on a Mac [default: UTF-8 or UTF-16; save files in other
    /// encodings as UTF-8].
    #[arg(long, value_parser = PossibleValuesParser::new(Encoding::NAMES).try_map(|name| name.parse::<Encoding>()))]
    encoding: Option<Encoding>,
    /// Order of day, month and year in dates such as 1/5/2026 [default: detected from an unambiguous date in the file, such as
    /// 25/5/2026; otherwise an error].
    #[arg(long, value_parser = PossibleValuesParser::new(Order::NAMES).try_map(|name| name.parse::<Order>()))]
    dates: Option<Order>,
    /// Sheet of a workbook [default: the first visible sheet].
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
    /// File for the report of invalid rows, as CSV if its name ends in `.csv` [default: FILE.report.ndjson]. The report can replace only an earlier
    /// report. The command writes it only if a row is invalid or --absent finds absent affiliates.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print the result as one line of JSON on standard output.
    #[arg(long)]
    json: bool,
    /// Company to import the records into.
    #[arg(long, value_name = "N", value_parser = count(1..=MAX_ID))]
    company: i64,
    #[command(flatten, next_help_heading = "Service")]
    service: ServiceArgs,
}

enum Rows<'a> {
    Affiliates(Batches<AffiliateRow>, &'a AffiliateArgs),
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
    // Report file errors before starting a database. Reading a large file can take a long time, so use a blocking thread.
    let (file, encoding, format, report) = (args.file.clone(), args.encoding, args.format, args.report.clone());
    let opened = spawn_blocking(move || {
        let source = Source::open(&file, encoding).map_err(InvalidSetting::unreadable(&file))?;
        let report = Report::check(report, &file)?;
        let format = source.format(&file, format).and_then(|format| {
            // Detect a truncated file before importing most of it.
            if format == InputFormat::Json { batches::check_end(&source).map(|()| format) } else { Ok(format) }
        });
        Ok((source, format.map_err(InvalidSetting::unreadable(&file))?, report))
    });
    let (source, format, report) = signals.or(async { opened.await? }).await?;
    let rows = match what {
        What::Affiliates { affiliates, .. } => {
            affiliates.read(&source, format, args).map(|rows| Rows::Affiliates(rows, affiliates))
        }
        What::Urls(_) => records::batches(&source, format, args.options()).map(Rows::Urls),
        What::Cases(_) => records::batches(&source, format, args.options()).map(Rows::Cases),
    };
    let rows = rows.map_err(InvalidSetting::unreadable(&args.file))?;
    // A sync needs the service even for a dry run.
    let service = if args.dry_run && !matches!(rows, Rows::Affiliates(_, AffiliateArgs { sync: true, .. })) {
        None
    } else {
        Some(signals.or(Box::pin(Service::open(&args.service, args.company, kind.scope(), true))).await?)
    };
    // Send rows until a signal arrives, or check them without a service. Then report the result.
    let imported = Box::pin(async {
        let output = signals.or(report.create()).await?;
        let mut recorder = Recorder::new(kind, &source, output);
        let sent = async {
            let service = service.as_ref();
            match rows {
                Rows::Affiliates(rows, affiliates) if !affiliates.sync => {
                    affiliates::send(rows, affiliates.on_duplicate, service, &mut recorder).await
                }
                Rows::Urls(rows) => records::send(rows, service, &mut recorder).await,
                Rows::Cases(rows) => records::send(rows, service, &mut recorder).await,
                Rows::Affiliates(mut rows, affiliates) => {
                    let service = service.context("a sync requires the service")?;
                    let absent = Absent::new(affiliates.absent.as_deref(), affiliates.max_absent);
                    if absent.status.is_some() && !args.dry_run {
                        sync::check_absent(rows, &absent, service).await?;
                        rows = affiliates.read(&source, format, args)?;
                    }
                    sync::send(rows, absent, args.dry_run, service, &mut recorder).await
                }
            }
        };
        let sent = signals.or(Box::pin(sent)).await;
        recorder.conclude(args.dry_run, args.json, report.path, sent).await
    });
    let imported = imported.await;
    let Some(service) = service else { return imported };
    // A signal also interrupts `close`, and stops the database.
    let closed = signals.or(Box::pin(service.close())).await;
    imported.and_then(|code| closed.map(|()| code))
}

impl AffiliateArgs {
    fn read(&self, source: &Source, format: InputFormat, args: &CommonArgs) -> anyhow::Result<Batches<AffiliateRow>> {
        // A sync needs names only for new affiliates.
        let required = if self.sync { &[sync::IDENTIFIER] } else { AffiliateRow::REQUIRED };
        if format.is_table() {
            let table = Table::<AffiliateRow>::open(source.file()?, Options { required, ..args.options() });
            return Ok(Batches::of_table(BATCH, table.map_err(advised)?, |row| row));
        }
        let headings = Headings::new::<AffiliateRow>(&args.map).map_err(advised)?;
        let (is_list, warning) = (format == InputFormat::Json, Once::new());
        Batches::of_objects(BATCH, source, is_list, move |object| {
            affiliate::parse(object, &headings, required, &warning)
        })
    }
}

impl CommonArgs {
    /// Returns the options for reading tables.
    fn options(&self) -> Options {
        Options {
            dates: self.dates,
            encoding: self.encoding,
            sheet: self.sheet.clone(),
            columns: self.map.clone(),
            escape: if self.no_csv_escape { Escape::None } else { Escape::Formulas },
            empty: Empty::Absent,
            limits: Limits { rows: u64::MAX, unpacked_bytes: UNPACKED_BYTES, ..Options::default().limits },
            ..Options::default()
        }
    }
}

/// Parses a `--map HEADING=field` value into the heading and the field.
fn pair(text: &str) -> Result<(String, String), &'static str> {
    match text.rsplit_once('=') {
        Some((heading, field)) if !heading.is_empty() => Ok((heading.trim().to_owned(), field.trim().to_owned())),
        _ => Err("expected HEADING=field, or HEADING= to ignore a column"),
    }
}
