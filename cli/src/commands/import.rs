//! `compliance import`: imports records from files.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use compliance_api::MAX_ID;

use crate::{
    import::{AffiliateArgs, FileArgs},
    record_kind::RecordKind,
    service::{Service, ServiceArgs},
};

/// Import records from a file. Invalid rows are listed in a report and do not stop the rest. An import is idempotent. Exit
/// status: 0 if all rows are valid, 2 if some are invalid, 1 if the import could not run.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance import affiliates partners.csv --company 7 --dry-run
  compliance import affiliates partners.csv --company 7 --map \"Partner No=client_affiliate_id\"
  compliance import urls urls.ndjson --company 7")]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Affiliates from CSV or from JSON objects, one per line. Columns have the names of the interface's fields, in any
    /// order.
    Affiliates {
        #[command(flatten)]
        affiliates: AffiliateArgs,
        #[command(flatten)]
        common: Box<CommonArgs>,
    },
    /// URLs with their infractions: one JSON object per line, as `export urls` writes them. A URL that the company has
    /// already takes the values of the line.
    Urls(Box<CommonArgs>),
    /// Cases with their incidents: one JSON object per line, as `export cases` writes them. A case whose `request_id` the
    /// company has already is skipped.
    Cases(Box<CommonArgs>),
}

/// Arguments that all imports share.
#[derive(Args, Debug)]
struct CommonArgs {
    #[command(flatten)]
    file: FileArgs,
    /// Company that the records are imported for.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=MAX_ID))]
    company: i64,
    #[command(flatten, next_help_heading = "Service")]
    service: ServiceArgs,
}

pub(super) fn run(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    runtime::block_on(Box::pin(import(&args.what)))
}

async fn import(what: &What) -> anyhow::Result<ExitCode> {
    let (kind, CommonArgs { file, company, service }) = match what {
        What::Affiliates { common, .. } => (RecordKind::Affiliates, &**common),
        What::Urls(common) => (RecordKind::Urls, &**common),
        What::Cases(common) => (RecordKind::Cases, &**common),
    };
    let mut signals = runtime::Signals::listen()?;
    // What is wrong with the files is reported before a database is started.
    let source = signals.or(file.open()).await?;
    let service = if file.dry_run {
        None
    } else {
        Some(signals.or(Box::pin(Service::open(service, *company, kind.scope()))).await?)
    };
    let opened = service.as_ref();
    let imported = match what {
        What::Affiliates { affiliates, .. } => {
            Box::pin(file.affiliates(affiliates, source, opened, &mut signals)).await
        }
        What::Urls(_) => Box::pin(file.urls(source, opened, &mut signals)).await,
        What::Cases(_) => Box::pin(file.cases(source, opened, &mut signals)).await,
    };
    let Some(service) = service else { return imported };
    // A signal ends this, too; the database is asked to stop then.
    let closed = signals.or(Box::pin(service.close())).await;
    imported.and_then(|code| closed.map(|()| code))
}
