//! `compliance import`: imports records from files.

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};
use compliance_api::{MAX_ID, token::SCOPE_MONITOR};

use crate::{
    import::{Encoding, InputFormat, Job, OnDuplicate, Pair, check_readable},
    record_kind::RecordKind,
    service::{Service, ServiceArgs},
};

/// Import records from a file. Invalid rows are listed in a report and do not stop the rest. An import is idempotent. Exit
/// status: 0 if all rows are valid, 2 if some are invalid, 1 if the import could not run.
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Affiliates(Box<AffiliatesArgs>),
    /// URLs with their infractions: one JSON object per line, as `export urls` writes them. A URL that the company has
    /// already takes the values of the line.
    Urls(Box<CommonArgs>),
    /// Cases with their incidents: one JSON object per line, as `export cases` writes them. A case whose `request_id` the
    /// company has already is skipped.
    Cases(Box<CommonArgs>),
}

/// Affiliates from CSV or from JSON objects, one per line. Columns have the names of the interface's fields, in any order.
#[derive(Args, Debug)]
struct AffiliatesArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// Action for an affiliate whose name the company has already.
    #[arg(long, value_enum, default_value_t = OnDuplicate::Skip)]
    on_duplicate: OnDuplicate,
    /// Field of a column with another name. An empty field leaves the column out.
    #[arg(long, value_name = "HEADER=field")]
    map: Vec<Pair>,
    /// Format of the file [default: by its name or its first character].
    // The log has a format, too, and IDs are unique.
    #[arg(id = "record_format", long = "format", value_enum)]
    format: Option<InputFormat>,
}

/// Arguments that all imports share.
#[derive(Args, Debug)]
struct CommonArgs {
    /// File to import.
    file: PathBuf,
    /// Company that the records are imported for.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=MAX_ID))]
    company: i64,
    /// Check the rows without writing them.
    #[arg(long)]
    dry_run: bool,
    /// Encoding of the file [default: UTF-8; a file of another encoding is refused].
    #[arg(long, value_enum)]
    encoding: Option<Encoding>,
    /// File that lists invalid rows, as CSV if its name ends in `.csv` [default: FILE.report.ndjson].
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print the result as one line of JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten, next_help_heading = "Service")]
    service: ServiceArgs,
}

impl What {
    fn common(&self) -> &CommonArgs {
        match self {
            Self::Affiliates(args) => &args.common,
            Self::Urls(args) | Self::Cases(args) => args,
        }
    }
}

pub(super) fn run(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    runtime::block_on(Box::pin(import(&args.what)))
}

async fn import(what: &What) -> anyhow::Result<ExitCode> {
    let common = what.common();
    // A missing file is reported before a database is started.
    check_readable(&common.file)?;
    let mut signals = runtime::Signals::listen()?;
    let scope = if matches!(what, What::Affiliates(_)) { None } else { Some(SCOPE_MONITOR) };
    let service = if common.dry_run {
        None
    } else {
        Some(Box::pin(Service::open(&common.service, common.company, scope)).await?)
    };
    let job = Job {
        file: &common.file,
        encoding: common.encoding,
        report: common.report.as_ref(),
        json: common.json,
        service: service.as_ref(),
    };
    let imported = tokio::select! {
        imported = Box::pin(records(&job, what)) => imported,
        signal = signals.next() => {
            Err(anyhow::anyhow!("stopped by {signal}; import the file again, and what is there already stays as it is"))
        }
    };
    let closed = match service {
        Some(service) => Box::pin(service.close()).await,
        None => Ok(()),
    };
    imported.and_then(|code| closed.map(|()| code))
}

async fn records(job: &Job<'_>, what: &What) -> anyhow::Result<ExitCode> {
    match what {
        What::Affiliates(args) => job.affiliates(args.format, &args.map, args.on_duplicate).await,
        What::Urls(_) => job.records(RecordKind::Urls).await,
        What::Cases(_) => job.records(RecordKind::Cases).await,
    }
}
