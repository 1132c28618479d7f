//! URLs and cases: one JSON object a line, in the form of their messages.

use anyhow::bail;
use compliance_api::{
    rules::{Check, check},
    v1::{BatchOpenCasesRequest, FieldViolation, ObserveUrlsRequest, OpenCaseRequest, ResultCode, UrlObservation},
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    batches::Batches,
    recorder::{Recorder, Tally},
    row::{Position, RowError},
    source::Source,
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

pub(super) fn batches<M: DeserializeOwned + Check + Send + 'static>(source: &Source) -> anyhow::Result<Batches<M>> {
    Batches::of_lines(BATCH, source, parse)
}

fn parse<M: DeserializeOwned + Check>(line: &[u8]) -> Result<M, Vec<RowError>> {
    let record: M = serde_json::from_slice(line).map_err(|error| RowError::of_row(format!("{error}.")))?;
    let violations = check(&record);
    if violations.is_empty() {
        return Ok(record);
    }
    let object: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
    Err(violations.iter().map(|each| field_error(&object, &each.path, &each.message)).collect())
}

/// An error of the field at a path of a record, with its value.
fn field_error(record: &serde_json::Value, path: &str, reason: &str) -> RowError {
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
