//! URLs and cases: JSON objects of their messages, or CSV of an export.

use anyhow::{Context as _, bail};
use compliance_api::{
    description::{Field, Kind, Message},
    rules::{Check, check},
    v1::{BatchOpenCasesRequest, FieldViolation, ObserveUrlsRequest, OpenCaseRequest, ResultCode, UrlObservation},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    batches::Batches,
    mapping,
    objects::Objects,
    proto_json,
    recorder::{Recorder, Tally},
    row::{Position, RowError},
    source::{InputFormat, Source},
    table::{self, Column, DateForm, Table},
};
use crate::service::{Service, patiently};

/// Records that are sent together.
const BATCH: usize = 500;

/// The service's result for a record: its code, whether the record was created, the violations and the message.
type Outcome = (ResultCode, bool, Vec<FieldViolation>, String);

/// Collects the results of a response as outcomes.
macro_rules! outcomes {
    ($response:expr) => {
        $response
            .results
            .into_iter()
            .map(|result| (result.code(), result.created, result.violations, result.msg))
            .collect()
    };
}

/// A record of a file of URLs or cases.
pub(super) trait FileRecord: Serialize + DeserializeOwned + Check + Send + 'static {
    /// Sends records, and returns them with their outcomes. Sending them again changes nothing.
    async fn send(records: Vec<Self>, service: &Service) -> anyhow::Result<(Vec<Self>, Vec<Outcome>)>;

    /// Returns the count of records that existed already.
    fn existing(tally: &mut Tally) -> &mut u64;
}

impl FileRecord for UrlObservation {
    async fn send(observations: Vec<Self>, service: &Service) -> anyhow::Result<(Vec<Self>, Vec<Outcome>)> {
        let request = ObserveUrlsRequest { observations };
        let response = patiently(async || service.monitoring().observe_urls(request.clone()).await).await?;
        Ok((request.observations, outcomes!(response)))
    }

    fn existing(tally: &mut Tally) -> &mut u64 {
        &mut tally.updated
    }
}

impl FileRecord for OpenCaseRequest {
    async fn send(cases: Vec<Self>, service: &Service) -> anyhow::Result<(Vec<Self>, Vec<Outcome>)> {
        let request = BatchOpenCasesRequest { cases };
        let response = patiently(async || service.monitoring().batch_open_cases(request.clone()).await).await?;
        Ok((request.cases, outcomes!(response)))
    }

    fn existing(tally: &mut Tally) -> &mut u64 {
        &mut tally.skipped
    }
}

/// Sends records in batches. Without a service, the records are only checked.
pub(super) async fn send<M: FileRecord>(
    mut batches: Batches<M>,
    service: Option<&Service>,
    recorder: &mut Recorder<'_>,
) -> anyhow::Result<()> {
    while let Some(rows) = batches.next(recorder).await? {
        let Some(service) = service else {
            recorder.tally.created += rows.len() as u64;
            continue;
        };
        let (positions, records): (Vec<Position>, Vec<M>) = rows.into_iter().unzip();
        let (records, outcomes) = M::send(records, service).await?;
        if outcomes.len() != records.len() {
            bail!("the service returned {} results for {} records", outcomes.len(), records.len());
        }
        for ((position, record), outcome) in positions.into_iter().zip(records).zip(outcomes) {
            let tally = &mut recorder.tally;
            match outcome {
                (ResultCode::Saved, true, ..) => tally.created += 1,
                (ResultCode::Saved, false, ..) => *M::existing(tally) += 1,
                (_, _, violations, msg) if violations.is_empty() => recorder.reject(position, RowError::of_row(msg)),
                (_, _, violations, _) => {
                    let record = serde_json::to_value(record).unwrap_or_default();
                    let errors = violations.iter().map(|each| field_error(&record, &each.field, &each.description));
                    recorder.reject(position, errors.collect());
                }
            }
        }
    }
    Ok(())
}

/// Reads the records of a file in batches.
pub(super) fn batches<M: FileRecord>(
    source: &Source,
    format: InputFormat,
    options: table::Options,
) -> anyhow::Result<Batches<M>> {
    if !format.is_table() {
        let is_list = format == InputFormat::Json;
        let first = Objects::open(source, is_list).and_then(|mut objects| objects.next());
        check_form::<M>(&first.context("the file cannot be read")?.unwrap_or_default())?;
        return Batches::of_objects(BATCH, source, is_list, parse);
    }
    let header = Table::open(source)?.header;
    let columns: Vec<Option<RecordColumn>> =
        header.iter().map(|name| RecordColumn::of::<M>(name)).collect::<anyhow::Result<_>>()?;
    for (index, column) in columns.iter().enumerate().filter(|(_, column)| column.is_some()) {
        if let Some(first) = columns[..index].iter().position(|other| other == column) {
            bail!(
                "the columns {} ({:?}) and {} ({:?}) are the same field: remove one of them from the file",
                first + 1,
                header[first],
                index + 1,
                header[index]
            );
        }
    }
    let mut named = header.iter().zip(&columns);
    let is_export = columns.len() == RecordColumn::number::<M>()
        && named.all(|(name, column)| column.is_some_and(|column| column.field.name == name));
    let rows = table::rows(source, columns, is_export, options, |texts| parse(object(texts)?.to_string().as_bytes()))?;
    Ok(Batches::read(BATCH, rows))
}

/// A column of a file of URLs or cases: a field of the record, or of its case.
#[derive(Clone, Copy, PartialEq)]
struct RecordColumn {
    field: &'static Field,
    is_of_case: bool,
}

const CASE: &str = "case";
/// The names of fields to clear. Records do not have this field.
const CLEAR: &str = "clear";

/// Where files of URLs and cases come from. Lists of the interface have the IDs of one company.
const FORM: &str =
    "`compliance export` writes the fields that can be imported; lists of the interface cannot be imported";

/// Fails if a record has an ID, as lists of the interface have. Otherwise each record would be an error.
fn check_form<M: Check>(record: &[u8]) -> anyhow::Result<()> {
    let record: Map<String, Value> = serde_json::from_slice(record).unwrap_or_default();
    match ["id", "case_id"].iter().find(|name| record.contains_key(**name) && M::MESSAGE.field(name).is_none()) {
        Some(name) => bail!("unknown field {name:?}: {FORM}"),
        None => Ok(()),
    }
}

impl RecordColumn {
    /// Returns the column of a heading; `None` for an empty heading.
    fn of<M: Check>(name: &str) -> anyhow::Result<Option<Self>> {
        if mapping::is_unnamed(name) {
            return Ok(None);
        }
        let case = Self::case::<M>();
        let own = proto_json::field(M::MESSAGE, name).filter(|field| field.name != CASE);
        let of_case = || proto_json::field(case?, name);
        match own.map(|field| (field, false)).or_else(|| of_case().map(|field| (field, true))) {
            Some((field, is_of_case)) => Ok(Some(Self { field, is_of_case })),
            None => bail!("unknown column {name:?}: {FORM}"),
        }
    }

    /// Returns the message of the case within a record.
    fn case<M: Check>() -> Option<&'static Message> {
        match M::MESSAGE.field(CASE)?.kind {
            Kind::Message(case) => Some(case),
            _ => None,
        }
    }

    /// Returns the number of columns of an export.
    fn number<M: Check>() -> usize {
        let own = M::MESSAGE.names().filter(|name| ![CASE, CLEAR].contains(name)).count();
        own + Self::case::<M>().map_or(0, |case| case.fields.len())
    }

    /// Returns the value of a cell. Exports write fields that are not texts as JSON.
    fn value(self, text: String) -> Result<Value, RowError> {
        let Field { name, kind, form, is_list, .. } = *self.field;
        let is_text = !is_list && (!form.is_empty() || matches!(kind, Kind::Text | Kind::Choice(_)));
        if is_text {
            return Ok(text.into());
        }
        serde_json::from_str(&text)
            .map_err(|error| RowError::new(name, &text, format!("The cell is not JSON: {error}.")))
    }
}

impl Column for RecordColumn {
    fn name(self) -> &'static str {
        self.field.name
    }

    fn date_form(self) -> Option<DateForm> {
        (self.field.form == "datetime").then_some(DateForm::Instant)
    }

    fn is_required(self) -> bool {
        self.field.required
    }
}

/// Returns the record of a row.
fn object(texts: Vec<(RecordColumn, String)>) -> Result<Value, Vec<RowError>> {
    let (mut record, mut case) = (Map::new(), Map::new());
    for (column, text) in texts {
        let object = if column.is_of_case { &mut case } else { &mut record };
        object.insert(column.field.name.to_owned(), column.value(text).map_err(|error| vec![error])?);
    }
    if !case.is_empty() {
        record.insert(CASE.to_owned(), case.into());
    }
    Ok(record.into())
}

fn parse<M: DeserializeOwned + Check>(line: &[u8]) -> Result<M, Vec<RowError>> {
    // Only an error of the text itself names its position.
    let read = serde_json::from_slice(line).or_else(|error| {
        let value: Value = serde_json::from_slice(line)?;
        proto_json::parse(value, M::MESSAGE).map_err(|_: serde_json::Error| error)
    });
    let record: M = read.map_err(|error| RowError::of_row(format!("{error}.")))?;
    let violations = check(&record);
    if violations.is_empty() {
        return Ok(record);
    }
    let object: Value = serde_json::from_slice(line).unwrap_or_default();
    Err(violations.iter().map(|each| field_error(&object, &each.path, &each.message)).collect())
}

/// Returns the error of a field at a path, with its value.
fn field_error(record: &Value, path: &str, reason: &str) -> RowError {
    let value = record.pointer(&format!("/{}", path.replace('.', "/")));
    let text = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    RowError::new(path, &text.unwrap_or_default(), reason)
}
