//! Exports records to files through the service, like any client. Exported records can be imported into another company
//! and read the same there.

mod affiliates;
mod output;
mod records;

pub(crate) use output::OutputFormat;

use std::path::Path;

use output::Output;

use crate::{progress::Progress, record_kind::RecordKind, service::Service};

/// Exports affiliates, and returns their number.
pub(crate) async fn affiliates(service: &Service, format: OutputFormat, path: Option<&Path>) -> anyhow::Result<u64> {
    let output = Output::create(path, format)?;
    let progress = Progress::new();
    progress.start_open("affiliates");
    let count = affiliates::export(service, output, &progress).await?;
    progress.end();
    Ok(count)
}

/// Exports URLs or cases, and returns their number.
pub(crate) async fn records(
    service: &Service,
    kind: RecordKind,
    format: OutputFormat,
    path: Option<&Path>,
) -> anyhow::Result<u64> {
    let output = Output::create(path, format)?;
    let progress = Progress::new();
    progress.start_open(kind.name());
    let count = records::export(service, kind, output, &progress).await?;
    progress.end();
    Ok(count)
}
