//! Exports URLs and cases in the form in which they are imported.

use compliance_api::{
    error::Error,
    rules::Check as _,
    v1::{
        CaseInput, ExportCasesRequest, ExportCasesResponse, ExportUrlsRequest, ExportUrlsResponse, OpenCaseRequest,
        UrlObservation,
    },
};
use serde::Serialize;
use serde_json::{Map, Value};
use tonic::{Status, Streaming};

use super::output::{Output, OutputFormat};
use crate::{
    progress::Progress,
    record_kind::RecordKind,
    service::{Service, is_passing, patiently, refused},
};

/// Attempts to continue a list without any record in between.
const ATTEMPTS: u32 = 8;

/// The records of a message, and the ID of the last.
struct Page {
    records: Vec<Map<String, Value>>,
    last: i64,
}

/// A stream of URLs or cases.
enum List {
    Urls(Streaming<ExportUrlsResponse>),
    Cases(Streaming<ExportCasesResponse>),
}

impl List {
    /// Opens the stream after an ID.
    async fn begin(service: &Service, kind: RecordKind, after: i64) -> Result<Self, Error> {
        match kind {
            RecordKind::Urls => {
                let list = patiently(|| {
                    let (mut client, request) = (service.monitoring(), ExportUrlsRequest { after_url_id: Some(after) });
                    async move { client.export_urls(request).await }
                });
                list.await.map(Self::Urls)
            }
            RecordKind::Cases => {
                let list = patiently(|| {
                    let (mut client, request) =
                        (service.monitoring(), ExportCasesRequest { after_case_id: Some(after) });
                    async move { client.export_cases(request).await }
                });
                list.await.map(Self::Cases)
            }
        }
    }

    async fn next(&mut self, format: OutputFormat) -> Result<Option<Page>, Status> {
        Ok(match self {
            Self::Urls(list) => list.message().await?.map(|message| Page {
                records: message.observations.iter().map(object).collect(),
                last: message.last_url_id,
            }),
            Self::Cases(list) => list.message().await?.map(|message| Page {
                records: message.cases.iter().map(|case| case_object(case, format)).collect(),
                last: message.last_case_id,
            }),
        })
    }
}

pub(super) async fn export(
    service: &Service,
    kind: RecordKind,
    mut output: Output,
    progress: &Progress,
) -> anyhow::Result<u64> {
    output.columns(columns(kind))?;
    let format = output.format();
    let (mut count, mut after, mut failures) = (0, 0, 0);
    loop {
        let mut list = List::begin(service, kind, after).await.map_err(|error| refused(&error))?;
        let broken = loop {
            match list.next(format).await {
                Ok(Some(page)) => {
                    page.records.iter().try_for_each(|record| output.write(record))?;
                    count += page.records.len() as u64;
                    progress.add(page.records.len() as u64);
                    (after, failures) = (page.last, 0);
                }
                Ok(None) => {
                    output.finish()?;
                    return Ok(count);
                }
                Err(status) => break Error::from(&status),
            }
        };
        failures += 1;
        if failures >= ATTEMPTS || !is_passing(&broken) {
            return Err(refused(&broken));
        }
        tokio::time::sleep(std::time::Duration::from_secs(1 << failures.min(3))).await;
    }
}

/// The columns of a kind: its fields, and those of a case beside its request ID and incidents.
fn columns(kind: RecordKind) -> Vec<&'static str> {
    match kind {
        RecordKind::Urls => UrlObservation::NAMES.iter().copied().filter(|name| *name != "clear").collect(),
        RecordKind::Cases => {
            let (mut columns, fields) = (vec!["request_id"], CaseInput::NAMES.iter().copied());
            columns.extend(fields.chain(["incidents", "dates_as_given"]));
            columns
        }
    }
}

fn object(message: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(message) {
        Ok(Value::Object(object)) => object,
        // Messages are always objects.
        _ => Map::new(),
    }
}

/// A case. In CSV, its fields stand beside its request ID and incidents.
fn case_object(case: &OpenCaseRequest, format: OutputFormat) -> Map<String, Value> {
    let mut object = object(case);
    if format == OutputFormat::Csv
        && let Some(Value::Object(fields)) = object.remove("case")
    {
        object.extend(fields);
    }
    object
}
