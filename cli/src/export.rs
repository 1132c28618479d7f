//! Records to files, through the service like any client's: what is exported can be imported into another company and
//! reads the same there.

mod affiliates;
mod output;
mod records;

pub(crate) use output::Format;
pub(crate) use records::Kind;

use std::path::Path;

use output::Output;

use crate::{progress::Progress, service::Service};

/// Exports affiliates; how many.
pub(crate) async fn affiliates(service: &Service, format: Format, path: Option<&Path>) -> anyhow::Result<u64> {
    let output = Output::create(path, format)?;
    let progress = Progress::new();
    progress.start_open("affiliates");
    let count = affiliates::export(service, output, &progress).await?;
    progress.end();
    Ok(count)
}

/// Exports URLs or cases; how many.
pub(crate) async fn records(service: &Service, kind: Kind, format: Format, path: Option<&Path>) -> anyhow::Result<u64> {
    let output = Output::create(path, format)?;
    let progress = Progress::new();
    progress.start_open(kind.name());
    let count = records::export(service, kind, output, &progress).await?;
    progress.end();
    Ok(count)
}
