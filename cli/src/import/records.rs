//! URLs and cases: one JSON object a line, in the form of their messages.

use std::collections::VecDeque;

use anyhow::{Context as _, bail};
use compliance_api::{
    error::Error,
    rules::{Check, check},
    v1::{
        BatchOpenCasesRequest, FieldViolation, OpenCaseRequest, ResultCode, StreamUrlObservationsRequest,
        StreamUrlObservationsResponse, UrlObservation,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::mpsc;
use tonic::Streaming;

use super::{
    batches::Batches,
    lines::Lines,
    recorder::{Recorder, Tally},
    row::{InvalidRow, Parsed, Position, Row, RowError},
    source::Source,
};
use crate::service::{Retries, Service, patiently};

/// Records that are sent together.
const BATCH: usize = 500;
/// Chunks of a stream without a response.
const MAX_UNANSWERED: usize = 3;

/// The service's result for a record.
struct Outcome {
    code: ResultCode,
    created: bool,
    violations: Vec<FieldViolation>,
    msg: String,
}

/// Records the results of rows. `existing` counts the records that existed already.
async fn record<M: Serialize>(
    positions: &[Position],
    messages: &[M],
    outcomes: Vec<Outcome>,
    recorder: &mut Recorder,
    existing: fn(&mut Tally) -> &mut u64,
) -> anyhow::Result<()> {
    if outcomes.len() != positions.len() {
        bail!("the service returned {} results for {} records", outcomes.len(), positions.len());
    }
    for ((position, message), outcome) in positions.iter().zip(messages).zip(outcomes) {
        let tally = &mut recorder.tally;
        if outcome.code == ResultCode::Saved {
            *(if outcome.created { &mut tally.created } else { existing(tally) }) += 1;
        } else if outcome.violations.is_empty() {
            recorder.reject(InvalidRow::new(*position, outcome.msg));
        } else {
            let object = serde_json::to_value(message).unwrap_or_default();
            let errors = outcome.violations.iter().map(|each| field_error(&object, &each.field, &each.description));
            recorder.reject(InvalidRow { position: *position, errors: errors.collect() });
        }
    }
    recorder.flush().await
}

/// The records of a file, read and checked ahead.
fn batches<M: DeserializeOwned + Check + Send + 'static>(source: &Source) -> anyhow::Result<Batches<M>> {
    let mut lines = Lines::of(source)?;
    Ok(Batches::read(BATCH, move || Ok(lines.next()?.map(|(position, line)| parse(position, line)))))
}

fn parse<M: DeserializeOwned + Check>(position: Position, line: &[u8]) -> Parsed<M> {
    let record: M = serde_json::from_slice(line).map_err(|error| InvalidRow::new(position, format!("{error}.")))?;
    let violations = check(&record);
    if violations.is_empty() {
        return Ok(Row { position, record });
    }
    let object: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
    let errors = violations.iter().map(|each| field_error(&object, &each.path, &each.message));
    Err(InvalidRow { position, errors: errors.collect() })
}

/// An error of the field at a path of a record, with its value.
fn field_error(record: &serde_json::Value, path: &str, reason: &str) -> RowError {
    let value = record.pointer(&format!("/{}", path.replace('.', "/")));
    let text = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    RowError::new(path, &text.unwrap_or_default(), reason)
}

/// Checks records without sending them.
pub(super) async fn check_only<M>(source: &Source, recorder: &mut Recorder) -> anyhow::Result<()>
where
    M: DeserializeOwned + Check + Send + 'static,
{
    let mut batches = batches::<M>(source)?;
    while let Some(rows) = batches.next(recorder).await? {
        recorder.tally.created += rows.len() as u64;
        recorder.flush().await?;
    }
    Ok(())
}

/// The positions and the records of rows.
fn split<M>(rows: Vec<Row<M>>) -> (Vec<Position>, Vec<M>) {
    rows.into_iter().map(|row| (row.position, row.record)).unzip()
}

/// Opens cases, batch after batch.
pub(super) async fn open_cases(source: &Source, service: &Service, recorder: &mut Recorder) -> anyhow::Result<()> {
    let mut batches = batches::<OpenCaseRequest>(source)?;
    while let Some(rows) = batches.next(recorder).await? {
        if rows.is_empty() {
            continue;
        }
        let (positions, cases) = split(rows);
        let request = BatchOpenCasesRequest { cases };
        let response = patiently(async || service.monitoring().batch_open_cases(request.clone()).await).await?;
        let outcomes = response.results.into_iter().map(|result| {
            let code = result.code();
            Outcome { code, created: result.created, violations: result.violations, msg: result.msg }
        });
        record(&positions, &request.cases, outcomes.collect(), recorder, |tally| &mut tally.skipped).await?;
    }
    Ok(())
}

/// A chunk of observations without a response.
struct Chunk {
    positions: Vec<Position>,
    request: StreamUrlObservationsRequest,
}

/// A stream of observations and its responses.
struct Stream {
    chunks: mpsc::Sender<StreamUrlObservationsRequest>,
    responses: Streaming<StreamUrlObservationsResponse>,
}

/// Streams observations. Chunks without a response are sent again when a stream breaks, since observations are
/// idempotent.
pub(super) async fn observe_urls(source: &Source, service: &Service, recorder: &mut Recorder) -> anyhow::Result<()> {
    let mut batches = batches::<UrlObservation>(source)?;
    let mut unanswered: VecDeque<Chunk> = VecDeque::new();
    let mut stream: Option<Stream> = None;
    let (mut more, mut retries) = (true, Retries::default());
    while more || !unanswered.is_empty() {
        let mut open = match stream.take() {
            Some(open) => open,
            None => begin(service, &unanswered).await?,
        };
        while more && unanswered.len() < MAX_UNANSWERED {
            let Some(rows) = batches.next(recorder).await? else {
                more = false;
                break;
            };
            if rows.is_empty() {
                continue;
            }
            let (positions, observations) = split(rows);
            let request = StreamUrlObservationsRequest { observations };
            // A chunk that cannot be sent is sent with the next stream.
            let _ = open.chunks.send(request.clone()).await;
            unanswered.push_back(Chunk { positions, request });
        }
        if unanswered.is_empty() {
            break;
        }
        match open.responses.message().await {
            Ok(Some(response)) => {
                if let Some(Chunk { positions, request }) = unanswered.pop_front() {
                    let outcomes = response.results.into_iter().map(|result| {
                        let code = result.code();
                        Outcome { code, created: result.created, violations: result.violations, msg: result.msg }
                    });
                    let messages = &request.observations;
                    record(&positions, messages, outcomes.collect(), recorder, |tally| &mut tally.updated).await?;
                }
                retries = Retries::default();
                stream = Some(open);
            }
            Ok(None) => retries.wait(Error::core_unavailable()).await?,
            Err(status) => retries.wait(Error::from(&status)).await?,
        }
    }
    Ok(())
}

/// Opens a stream with the chunks that have no response yet.
async fn begin(service: &Service, unanswered: &VecDeque<Chunk>) -> anyhow::Result<Stream> {
    let stream = patiently(async || {
        let (sender, mut receiver) = mpsc::channel(MAX_UNANSWERED);
        for chunk in unanswered {
            // The channel has capacity for all of them.
            let _ = sender.try_send(chunk.request.clone());
        }
        let requests = futures::stream::poll_fn(move |context| receiver.poll_recv(context));
        let response = service.monitoring().stream_url_observations(requests).await?;
        Ok(response.map(|responses| Stream { chunks: sender, responses }))
    });
    stream.await.context("observations cannot be sent")
}
