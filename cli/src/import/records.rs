//! URLs and cases: JSON objects in the form of their messages, or CSV as they are exported.

use std::io::{self, BufRead as _};

use anyhow::{Context as _, bail};
use compliance_api::{
    csv_cell::Escape,
    description::{Field, Kind, Message},
    rules::{Check, check},
    v1::{BatchOpenCasesRequest, FieldViolation, ObserveUrlsRequest, OpenCaseRequest, ResultCode, UrlObservation},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    batches::Batches,
    cell::Reading,
    dates::Order,
    elements::Elements,
    mapping, proto_json,
    recorder::{Recorder, Tally},
    row::{Position, RowError},
    source::{InputFormat, Source},
    table::{self, Table},
};
use crate::service::{Service, patiently};

/// Records that are sent together.
const BATCH: usize = 500;

/// The service's result for a record: its code, whether the record was created, the violations and the message.
type Outcome = (ResultCode, bool, Vec<FieldViolation>, String);

/// Records the results of rows. `existing` counts the records that existed already.
fn record<M: Serialize>(
    positions: &[Position],
    messages: &[M],
    outcomes: impl ExactSizeIterator<Item = Outcome>,
    recorder: &mut Recorder<'_>,
    existing: fn(&mut Tally) -> &mut u64,
) -> anyhow::Result<()> {
    if outcomes.len() != positions.len() {
        bail!("the service returned {} results for {} records", outcomes.len(), positions.len());
    }
    for ((position, message), (code, created, violations, msg)) in positions.iter().zip(messages).zip(outcomes) {
        let tally = &mut recorder.tally;
        if code == ResultCode::Saved {
            *(if created { &mut tally.created } else { existing(tally) }) += 1;
        } else if violations.is_empty() {
            recorder.reject(*position, RowError::of_row(msg));
        } else {
            let object = serde_json::to_value(message).unwrap_or_default();
            let errors = violations.iter().map(|each| field_error(&object, &each.field, &each.description));
            recorder.reject(*position, errors.collect());
        }
    }
    Ok(())
}

pub(super) fn batches<M: DeserializeOwned + Check + Send + 'static>(
    source: &Source,
    format: InputFormat,
    escape: Escape,
    order: Option<Order>,
) -> anyhow::Result<Batches<M>> {
    if !format.is_table() {
        let is_list = format == InputFormat::Json;
        check_form::<M>(&first_record(source, is_list).context("the file cannot be read")?)?;
        return Batches::of_objects(BATCH, source, is_list, parse);
    }
    let header = Table::open(source)?.header;
    let columns: Vec<Option<Column>> =
        header.iter().map(|name| Column::of::<M>(name)).collect::<anyhow::Result<_>>()?;
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
    let is_date: Vec<bool> = columns.iter().map(|column| column.is_some_and(Column::is_timestamp)).collect();
    let mut named = header.iter().zip(&columns);
    let reading = Reading {
        escape,
        dates: table::dates(source, &is_date, order)?,
        is_exact: source.workbook.is_none()
            && named.all(|(name, column)| column.is_some_and(|column| column.field.name == name))
            && columns.len() == Column::number::<M>(),
    };
    let is_required = |column: &Option<Column>| column.is_some_and(|column| column.field.required);
    let cells = columns.iter().rposition(is_required).map_or(0, |last| last + 1);
    // Another reader has moved the file's position.
    let rows =
        Table::open(source)?.rows(cells, move |cells| parse(object(&columns, cells, &reading)?.to_string().as_bytes()));
    Ok(Batches::read(BATCH, rows))
}

/// A column of a file of URLs or cases: a field of the record, or of the case in it.
#[derive(Clone, Copy, PartialEq)]
struct Column {
    field: &'static Field,
    is_of_case: bool,
}

const CASE: &str = "case";
/// Names of fields to clear, which no record has.
const CLEAR: &str = "clear";

/// The source of files with URLs and cases. Lists of the interface have IDs of one company only.
const FORM: &str =
    "`compliance export` writes the fields that can be imported; lists of the interface cannot be imported";

/// The text of the first record; empty if there is none.
fn first_record(source: &Source, is_list: bool) -> io::Result<Vec<u8>> {
    let mut text = source.text()?;
    if is_list {
        return Ok(Elements::new(text).next()?.unwrap_or_default());
    }
    let mut line = Vec::new();
    while line.trim_ascii().is_empty() {
        line.clear();
        if text.read_until(b'\n', &mut line)? == 0 {
            break;
        }
    }
    Ok(line)
}

/// Fails if a record has the ID of a list of the interface, so that not each record is refused separately.
fn check_form<M: Check>(record: &[u8]) -> anyhow::Result<()> {
    let record: Map<String, Value> = serde_json::from_slice(record).unwrap_or_default();
    match ["id", "case_id"].iter().find(|name| record.contains_key(**name) && M::MESSAGE.field(name).is_none()) {
        Some(name) => bail!("unknown field {name:?}: {FORM}"),
        None => Ok(()),
    }
}

impl Column {
    /// The column of a heading; `None` if it has none.
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

    /// The message of the case within a record.
    fn case<M: Check>() -> Option<&'static Message> {
        match M::MESSAGE.field(CASE)?.kind {
            Kind::Message(case) => Some(case),
            _ => None,
        }
    }

    /// How many columns an export has.
    fn number<M: Check>() -> usize {
        let own = M::MESSAGE.names().filter(|name| ![CASE, CLEAR].contains(name)).count();
        own + Self::case::<M>().map_or(0, |case| case.fields.len())
    }

    fn is_timestamp(self) -> bool {
        self.field.form == "datetime"
    }

    /// The value of a cell; `None` if it is empty. What the export writes as JSON is read as JSON.
    fn value(self, cell: &str, reading: &Reading) -> Result<Option<Value>, Vec<RowError>> {
        let Field { name, kind, form, is_list, .. } = *self.field;
        let refused = |reason| vec![RowError::new(name, cell, reason)];
        let is_text = !is_list && (!form.is_empty() || matches!(kind, Kind::Text | Kind::Choice(_)));
        let text = reading.text(cell, false).map_err(refused)?;
        Ok(match text.as_str() {
            "" => None,
            text if self.is_timestamp() => Some(reading.dates.instant(text).map_err(refused)?.into()),
            text if is_text => Some(text.into()),
            // An apostrophe before JSON would be part of it.
            _ => Some(serde_json::from_str(cell).map_err(|error| refused(format!("The cell is not JSON: {error}.")))?),
        })
    }
}

/// The record of a row. An empty cell is a field that is not given.
fn object(columns: &[Option<Column>], cells: &csv::StringRecord, reading: &Reading) -> Result<Value, Vec<RowError>> {
    let (mut record, mut case) = (Map::new(), Map::new());
    for (column, cell) in columns.iter().zip(cells) {
        let Some(column) = column else { continue };
        let Some(value) = column.value(cell, reading)? else { continue };
        let object = if column.is_of_case { &mut case } else { &mut record };
        object.insert(column.field.name.to_owned(), value);
    }
    if !case.is_empty() {
        record.insert(CASE.to_owned(), case.into());
    }
    Ok(record.into())
}

fn parse<M: DeserializeOwned + Check>(line: &[u8]) -> Result<M, Vec<RowError>> {
    // An error of the text itself names its place.
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

/// An error of the field at a path of a record, with its value.
fn field_error(record: &Value, path: &str, reason: &str) -> RowError {
    let value = record.pointer(&format!("/{}", path.replace('.', "/")));
    let text = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    RowError::new(path, &text.unwrap_or_default(), reason)
}

pub(super) async fn check_only<M: Send + 'static>(
    mut batches: Batches<M>,
    recorder: &mut Recorder<'_>,
) -> anyhow::Result<()> {
    while let Some(rows) = batches.next(recorder).await? {
        recorder.tally.created += rows.len() as u64;
    }
    Ok(())
}

pub(super) async fn open_cases(
    mut batches: Batches<OpenCaseRequest>,
    service: &Service,
    recorder: &mut Recorder<'_>,
) -> anyhow::Result<()> {
    while let Some(rows) = batches.next(recorder).await? {
        let (positions, cases): (Vec<_>, _) = rows.into_iter().unzip();
        let request = BatchOpenCasesRequest { cases };
        let response = patiently(async || service.monitoring().batch_open_cases(request.clone()).await).await?;
        let results = response.results.into_iter();
        let outcomes = results.map(|result| (result.code(), result.created, result.violations, result.msg));
        record(&positions, &request.cases, outcomes, recorder, |tally| &mut tally.skipped)?;
    }
    Ok(())
}

/// Sends observations, which are idempotent.
pub(super) async fn observe_urls(
    mut batches: Batches<UrlObservation>,
    service: &Service,
    recorder: &mut Recorder<'_>,
) -> anyhow::Result<()> {
    while let Some(rows) = batches.next(recorder).await? {
        let (positions, observations): (Vec<_>, _) = rows.into_iter().unzip();
        let request = ObserveUrlsRequest { observations };
        let response = patiently(async || service.monitoring().observe_urls(request.clone()).await).await?;
        let results = response.results.into_iter();
        let outcomes = results.map(|result| (result.code(), result.created, result.violations, result.msg));
        record(&positions, &request.observations, outcomes, recorder, |tally| &mut tally.updated)?;
    }
    Ok(())
}
