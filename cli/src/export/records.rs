//! URLs and cases, in the form that they are imported in.

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

use super::output::{Format, Output};
use crate::{
    progress::Progress,
    service::{Service, is_passing, patiently, refused},
};

/// How often a list is gone on with that broke off without a record in between.
const TRIES: u32 = 8;

/// What the records are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Urls,
    Cases,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Urls => "URLs",
            Self::Cases => "cases",
        }
    }
}

/// A message of either list: its records, and the ID of the last.
struct Page {
    records: Vec<Map<String, Value>>,
    last: i64,
}

/// Either list.
enum List {
    Urls(Streaming<ExportUrlsResponse>),
    Cases(Streaming<ExportCasesResponse>),
}

impl List {
    /// Begins a list behind an ID.
    async fn begin(service: &Service, kind: Kind, after: i64) -> Result<Self, Error> {
        match kind {
            Kind::Urls => {
                let list = patiently(|| {
                    let (mut client, request) = (service.monitoring(), ExportUrlsRequest { after_url_id: Some(after) });
                    async move { client.export_urls(request).await }
                });
                list.await.map(Self::Urls)
            }
            Kind::Cases => {
                let list = patiently(|| {
                    let (mut client, request) =
                        (service.monitoring(), ExportCasesRequest { after_case_id: Some(after) });
                    async move { client.export_cases(request).await }
                });
                list.await.map(Self::Cases)
            }
        }
    }

    async fn next(&mut self, format: Format) -> Result<Option<Page>, Status> {
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
    kind: Kind,
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
        if failures >= TRIES || !is_passing(&broken) {
            return Err(refused(&broken));
        }
        tokio::time::sleep(std::time::Duration::from_secs(1 << failures.min(3))).await;
    }
}

/// The columns of either kind: its fields, those of a case beside what it is opened with.
fn columns(kind: Kind) -> Vec<&'static str> {
    match kind {
        Kind::Urls => UrlObservation::NAMES.iter().copied().filter(|name| *name != "clear").collect(),
        Kind::Cases => {
            let (mut columns, fields) = (vec!["request_id"], CaseInput::NAMES.iter().copied());
            columns.extend(fields.chain(["incidents", "dates_as_given"]));
            columns
        }
    }
}

fn object(message: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(message) {
        Ok(Value::Object(object)) => object,
        // Messages are objects.
        _ => Map::new(),
    }
}

/// A case; in a table its fields stand beside what it is opened with.
fn case_object(case: &OpenCaseRequest, format: Format) -> Map<String, Value> {
    let mut object = object(case);
    if format == Format::Csv
        && let Some(Value::Object(fields)) = object.remove("case")
    {
        object.extend(fields);
    }
    object
}
