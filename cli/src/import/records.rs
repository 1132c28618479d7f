//! Imports URLs and cases from JSON messages or exported CSV.

use std::cell::Cell;

use anyhow::{Context as _, bail};
use compliance_api::{
    description::{Field, Kind},
    error::{Error, Reason},
    rules::{Check, check},
    v1::{BatchOpenCasesRequest, FieldViolation, ObserveUrlsRequest, OpenCaseRequest, ResultCode, UrlObservation},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use spreadsheets::{FileError, Options, RowError, Table, TableRecord, Target, Values, field_of};
use tonic::Status;

use super::{
    batches::Batches,
    objects::{Objects, not_json},
    recorder::Recorder,
    row::Position,
    source::{InputFormat, Source, advised},
};
use crate::service::{RecordKind, Service, patiently};

/// Records per batch.
const BATCH: usize = 500;
const UNCERTAIN: &str =
    "The record is saved. A response was lost, so it is unknown whether the record existed before this import.";

/// Result for a record: code, whether the record was created, violations and message.
type Outcome = (ResultCode, bool, Vec<FieldViolation>, String);

/// A URL or case in a file.
pub(super) trait FileRecord: Serialize + DeserializeOwned + Check + Send + 'static {
    /// Record kind.
    const KIND: RecordKind;
    /// Fields that every record must contain.
    const REQUIRED: &[&str];

    /// Sends records and returns them with their outcomes. Sets `is_lost` if a response was lost. Sending the same records again changes nothing.
    async fn send(
        records: Vec<Self>,
        service: &Service,
        is_lost: &Cell<bool>,
    ) -> anyhow::Result<(Vec<Self>, Vec<Outcome>)>;
}

impl FileRecord for UrlObservation {
    const KIND: RecordKind = RecordKind::Urls;
    const REQUIRED: &[&str] = &["url"];

    async fn send(
        observations: Vec<Self>,
        service: &Service,
        is_lost: &Cell<bool>,
    ) -> anyhow::Result<(Vec<Self>, Vec<Outcome>)> {
        let request = ObserveUrlsRequest { observations };
        let call = async || noting_loss(is_lost, service.monitoring().observe_urls(request.clone()).await);
        let response = patiently(call).await?;
        let results = response.results.into_iter();
        let outcomes = results.map(|result| (result.code(), result.created, result.violations, result.msg)).collect();
        Ok((request.observations, outcomes))
    }
}

impl FileRecord for OpenCaseRequest {
    const KIND: RecordKind = RecordKind::Cases;
    const REQUIRED: &[&str] = &["request_id"];

    async fn send(
        cases: Vec<Self>,
        service: &Service,
        is_lost: &Cell<bool>,
    ) -> anyhow::Result<(Vec<Self>, Vec<Outcome>)> {
        let request = BatchOpenCasesRequest { cases };
        let call = async || noting_loss(is_lost, service.monitoring().batch_open_cases(request.clone()).await);
        let response = patiently(call).await?;
        let results = response.results.into_iter();
        let outcomes = results.map(|result| (result.code(), result.created, result.violations, result.msg)).collect();
        Ok((request.cases, outcomes))
    }
}

/// Sets `is_lost` for an error after which the service may have saved the records.
fn noting_loss<T>(is_lost: &Cell<bool>, result: Result<T, Status>) -> Result<T, Status> {
    let is_refused = |status| matches!(Error::from(status).reason, Reason::RateLimited | Reason::Overloaded);
    if result.as_ref().is_err_and(|status| !is_refused(status)) {
        is_lost.set(true);
    }
    result
}

/// Sends records in batches. Without a service, only counts them as valid.
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
        let is_lost = Cell::new(false);
        let (records, outcomes) = M::send(records, service, &is_lost).await?;
        if outcomes.len() != records.len() {
            bail!("the service returned {} results for {} records", outcomes.len(), records.len());
        }
        for ((position, record), outcome) in positions.into_iter().zip(records).zip(outcomes) {
            let tally = &mut recorder.tally;
            match outcome {
                (ResultCode::Saved, true, ..) => tally.created += 1,
                // An earlier attempt may have created the record and lost only its response.
                (ResultCode::Saved, false, ..) if is_lost.get() => {
                    tally.uncertain += 1;
                    recorder.list(position, RowError::of_row(UNCERTAIN));
                }
                (ResultCode::Saved, false, ..) if M::KIND == RecordKind::Urls => tally.updated += 1,
                (ResultCode::Saved, false, ..) => tally.skipped += 1,
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

/// Returns a file's records in batches.
pub(super) fn batches<M: FileRecord>(
    source: &Source,
    format: InputFormat,
    options: Options,
) -> anyhow::Result<Batches<M>> {
    if !format.is_table() {
        let is_list = format == InputFormat::Json;
        let first = Objects::open(source, is_list).and_then(|mut objects| objects.next().transpose());
        check_form::<M>(&first.context("cannot read the file")?.unwrap_or_default())?;
        return Batches::of_objects(BATCH, source, is_list, parse);
    }
    let options = Options { required: M::REQUIRED, ..options };
    let table = Table::<Exported<M>>::open(source.file()?, options).map_err(|error| match &error {
        FileError::Columns(_) => advised(error).context(FORM),
        _ => advised(error),
    })?;
    Ok(Batches::of_table(BATCH, table, |Exported(record)| record))
}

/// A record read from a table, such as a CSV export.
struct Exported<M>(M);

impl<M: FileRecord> TableRecord for Exported<M> {
    /// Returns the field for a heading. Case fields are on the same level as the record's own fields.
    fn target(heading: &str) -> Option<Target> {
        let own = field_of(M::MESSAGE, heading).filter(|field| field.name != CASE);
        let of_case = || match M::MESSAGE.field(CASE)?.kind {
            Kind::Message(case) => field_of(case, heading),
            _ => None,
        };
        own.or_else(of_case).map(Some)
    }

    fn fields() -> Vec<&'static str> {
        M::KIND.columns()
    }

    fn of_values(values: Values, _required: &[&str]) -> Result<Self, Vec<RowError>> {
        parse(object::<M>(values)?.to_string().as_bytes()).map(Self)
    }

    fn is_export(headings: &[String]) -> bool {
        let exported = M::KIND.columns();
        headings.len() == exported.len() && headings.iter().all(|name| exported.contains(&name.as_str()))
    }
}

const CASE: &str = "case";

/// Advice for files with unknown fields. API list responses contain one company's IDs.
const FORM: &str = "use the fields that `compliance export` writes; API list responses cannot be imported";

/// Fails if a record contains an ID, as in API list responses. Without this check, every record would be reported as invalid.
fn check_form<M: Check>(record: &[u8]) -> anyhow::Result<()> {
    let record: Map<String, Value> = serde_json::from_slice(record).unwrap_or_default();
    match ["id", "case_id"].iter().find(|name| record.contains_key(**name) && M::MESSAGE.field(name).is_none()) {
        Some(name) => bail!("unknown field {name:?}: {FORM}"),
        None => Ok(()),
    }
}

/// Builds a row's record.
fn object<M: Check>(values: Values) -> Result<Value, Vec<RowError>> {
    let (mut record, mut case) = (Map::new(), Map::new());
    for (field, text) in values {
        let Some(text) = text else { continue };
        let object = if M::MESSAGE.field(field.name).is_some() { &mut record } else { &mut case };
        object.insert(field.name.to_owned(), value(field, text).map_err(|error| vec![error])?);
    }
    if !case.is_empty() {
        record.insert(CASE.to_owned(), case.into());
    }
    Ok(record.into())
}

/// Returns a cell's value. Exports write all fields except text as JSON.
fn value(field: &Field, text: String) -> Result<Value, RowError> {
    if !field.is_list && (!field.form.is_empty() || matches!(field.kind, Kind::Text | Kind::Choice(_))) {
        return Ok(text.into());
    }
    serde_json::from_str(&text).map_err(|error| RowError::new(field.name, &text, not_json("cell", &error)))
}

fn parse<M: DeserializeOwned + Check>(text: &[u8]) -> Result<M, Vec<RowError>> {
    let object: Value = serde_json::from_slice(text).map_err(|error| RowError::of_row(not_json("record", &error)))?;
    let record = M::deserialize(&object).map_err(|error| invalid_fields::<M>(&object, &error))?;
    let violations = check(&record);
    if violations.is_empty() {
        return Ok(record);
    }
    Err(violations.iter().map(|each| field_error(&object, &each.path, &each.message)).collect())
}

/// Returns the errors of the fields that cannot be parsed. `error` is the error of the whole record.
fn invalid_fields<M: DeserializeOwned + Check>(record: &Value, error: &serde_json::Error) -> Vec<RowError> {
    let Some(fields) = record.as_object() else { return RowError::of_row("The record is not a JSON object.") };
    let errors = fields.iter().filter_map(|(key, value)| {
        let field = Value::from(Map::from_iter([(key.clone(), value.clone())]));
        let error = serde_json::from_value::<M>(field).err()?;
        let reason = match M::MESSAGE.field(key) {
            Some(_) => format!("The value is not valid: {error}."),
            None => "The field is unknown.".to_owned(),
        };
        Some(field_error(record, key, &reason))
    });
    let errors: Vec<RowError> = errors.collect();
    if errors.is_empty() { RowError::of_row(format!("The record is not valid: {error}.")) } else { errors }
}

/// Returns an error for the field at a path, with its value.
fn field_error(record: &Value, path: &str, reason: &str) -> RowError {
    let value = record.pointer(&format!("/{}", path.replace('.', "/")));
    let text = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    RowError::new(path, &text.unwrap_or_default(), reason)
}

#[cfg(test)]
mod tests {
    use compliance_api::v1::UrlObservation;

    use super::parse;

    #[test]
    fn parse_errors_name_fields_without_line_numbers() {
        let errors = |text: &str| -> Vec<String> {
            let errors = parse::<UrlObservation>(text.as_bytes()).unwrap_err();
            errors.iter().map(|error| format!("{}={}: {}", error.field, error.value, error.reason)).collect()
        };
        assert_eq!(
            errors(r#"{"url":"https://a.example/","stats":7,"disabled":1,"affiliate_id":"x"}"#),
            [
                "affiliate_id=x: The value is not valid: invalid type: string \"x\", expected i64.",
                "disabled=1: The value is not valid: expected true, false, \"yes\", \"no\" or null.",
                "stats=7: The field is unknown.",
            ]
        );
        for (text, reason) in [
            (r#"{"url":"https://a.example/""#, "not valid JSON. The error is at column 27 of the record."),
            ("{\n\"url\":}", "not valid JSON. The error is at line 2, column 7 of the record."),
            ("7", "not a JSON object."),
        ] {
            let errors = errors(text);
            assert!(errors[0].starts_with(&format!("=: The record is {reason}")), "{errors:?}");
        }
    }
}
