//! Exports records to files through the service, like any client. Exported records can be imported into another company
//! and read the same there.

mod output;
mod pages;

pub(crate) use output::OutputFormat;

use std::path::Path;

use compliance_api::error::Error;
use futures::StreamExt as _;
use output::Output;

use crate::{
    blocking::{Writing, blocking},
    progress::Progress,
    record_kind::RecordKind,
    service::{Refused, Retries, Service},
};

/// Exports records to a file, or to standard output, and returns their number.
pub(crate) async fn export(
    service: &Service,
    kind: RecordKind,
    format: OutputFormat,
    path: Option<&Path>,
) -> anyhow::Result<u64> {
    let target = path.map(Path::to_owned);
    let (mut output, unfinished) = blocking(move || Output::create(target.as_deref(), format)).await?;
    let mut columns = Some(pages::columns(kind));
    let mut writing = Writing::start(move |records: Option<Vec<_>>| {
        columns.take().map_or(Ok(()), |names| output.columns(names))?;
        match records {
            Some(records) => records.iter().try_for_each(|record| output.write(record)),
            None => output.flush(),
        }
    });
    let progress = Progress::start(kind.name(), None);
    let (mut count, mut last, mut retries) = (0, 0, Retries::default());
    loop {
        let mut pages = pages::after(service, kind, format, last).await?;
        let status = loop {
            match pages.next().await {
                Some(Ok(page)) => {
                    let records = page.records.len() as u64;
                    writing.write(page.records).await?;
                    count += records;
                    progress.add(records);
                    (last, retries) = (page.last, Retries::default());
                }
                Some(Err(status)) => break status,
                None => {
                    writing.finish().await?;
                    if let Some((unfinished, path)) = unfinished {
                        unfinished.complete(&path)?;
                    }
                    progress.end();
                    return Ok(count);
                }
            }
        };
        if kind == RecordKind::Affiliates {
            // Their list can only be read as a whole.
            return Err(Refused::from(status).into());
        }
        retries.wait(Error::from(&status)).await?;
    }
}
