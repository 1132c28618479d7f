//! `compliance import`: records from files.

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};
use compliance_api::{MAX_ID, token::SCOPE_MONITOR};

use crate::{
    import::{Encoding, Form, Job, Kind, OnDuplicate, Pair, check_readable},
    service::{Service, ServiceArgs},
};

/// Bring records in from a file. Bad rows are told of in a report and do not stop the rest; what is imported again
/// changes nothing twice. Exit status: 0 when every row was good, 2 when some were bad, 1 when the import could not run.
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Affiliates(Box<AffiliatesArgs>),
    /// URLs with their infractions: one JSON object a line, as `export urls` writes them. A URL that the company has
    /// takes the values that the line gives.
    Urls(Box<CommonArgs>),
    /// Cases with their incidents: one JSON object a line, as `export cases` writes them. A case whose `request_id` the
    /// company has is skipped.
    Cases(Box<CommonArgs>),
}

/// Affiliates from CSV or from JSON objects, one a line. Columns may stand in any order and are named as the fields of
/// the interface are.
#[derive(Args, Debug)]
struct AffiliatesArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// What is done with an affiliate whose name the company has already.
    #[arg(long, value_enum, default_value_t = OnDuplicate::Skip)]
    on_duplicate: OnDuplicate,
    /// Which field a column is, when its name does not say; an empty field leaves the column out.
    #[arg(long, value_name = "HEADER=field")]
    map: Vec<Pair>,
    /// How the file is written; by default its name or its first character tells.
    // The log has a format, too, and IDs are unique.
    #[arg(id = "record_format", long = "format", value_enum)]
    format: Option<Form>,
}

/// What all imports have in common.
#[derive(Args, Debug)]
struct CommonArgs {
    /// File to import.
    file: PathBuf,
    /// Company that the records are imported for.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=MAX_ID))]
    company: i64,
    /// Check the rows, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// What the file is written in; by default UTF-8, and another file is refused.
    #[arg(long, value_enum)]
    encoding: Option<Encoding>,
    /// Where bad rows are told of, as CSV if it is called so [default: FILE.report.ndjson].
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print how it went as one line of JSON on standard output.
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
    // What is wrong with the file is told before a database is started.
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
        What::Urls(_) => job.records(Kind::Urls).await,
        What::Cases(_) => job.records(Kind::Cases).await,
    }
}
