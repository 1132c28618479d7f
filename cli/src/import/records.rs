//! URLs and cases: one JSON object a line, in the form of their messages.

use std::collections::VecDeque;

use anyhow::{Context as _, bail};
use compliance_api::{
    error::Error,
    rules::{Check, check},
    v1::{
        BatchOpenCasesRequest, CaseResult, FieldViolation, ObservationResult, ObserveUrlsRequest, OpenCaseRequest,
        ResultCode, UrlObservation,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::mpsc;
use tonic::Streaming;

use super::{
    lines::Lines,
    read_ahead::read_ahead,
    report::{Position, Report, RowError},
    source::Source,
    tally::Tally,
};
use crate::{
    record_kind::RecordKind,
    service::{Service, is_passing, patiently, refused},
};

/// Records that are sent together.
const BATCH: usize = 500;
/// Chunks of a stream without a response.
const MAX_UNANSWERED: usize = 3;
/// Attempts to open a stream without any response in between.
const ATTEMPTS: u32 = 8;

/// One record, or the errors of its line.
struct Record<M> {
    position: Position,
    message: Result<M, Vec<RowError>>,
}

/// The service's result for a record.
struct Outcome {
    code: ResultCode,
    created: bool,
    violations: Vec<FieldViolation>,
    msg: String,
}

impl From<ObservationResult> for Outcome {
    fn from(result: ObservationResult) -> Self {
        let code = result.code();
        Self { code, created: result.created, violations: result.violations, msg: result.msg }
    }
}

impl From<CaseResult> for Outcome {
    fn from(result: CaseResult) -> Self {
        let code = result.code();
        Self { code, created: result.created, violations: result.violations, msg: result.msg }
    }
}

/// Imports a file. Without a service, its lines are only checked.
pub(super) async fn import(
    kind: RecordKind,
    source: &Source,
    service: Option<&Service>,
    report: &mut Report,
    progress: impl Fn(u64),
) -> anyhow::Result<Tally> {
    let mut recorder = Recorder { tally: Tally::default(), report, progress: &progress };
    match (kind, service) {
        (RecordKind::Urls, None) => check_only::<UrlObservation>(source, &mut recorder).await?,
        (RecordKind::Cases, None) => check_only::<OpenCaseRequest>(source, &mut recorder).await?,
        (RecordKind::Urls, Some(service)) => observe(source, service, &mut recorder).await?,
        (RecordKind::Cases, Some(service)) => open(source, service, &mut recorder).await?,
    }
    Ok(recorder.tally)
}

/// Counts and reports rows.
struct Recorder<'a> {
    tally: Tally,
    report: &'a mut Report,
    progress: &'a dyn Fn(u64),
}

impl Recorder<'_> {
    /// Records the invalid rows of a batch, and returns the valid ones.
    fn split<M>(&mut self, batch: Vec<Record<M>>) -> anyhow::Result<(Vec<Position>, Vec<M>)> {
        let (mut positions, mut messages) = (Vec::new(), Vec::new());
        for Record { position, message } in batch {
            self.tally.rows += 1;
            match message {
                Ok(message) => {
                    positions.push(position);
                    messages.push(message);
                }
                Err(errors) => {
                    self.tally.bad += 1;
                    self.report.write(position, &errors)?;
                }
            }
        }
        Ok((positions, messages))
    }

    /// Records the results of the records at `positions`. `known` counts those that existed already.
    fn record<M: Serialize>(
        &mut self,
        positions: &[Position],
        messages: &[M],
        outcomes: Vec<Outcome>,
        known: fn(&mut Tally) -> &mut u64,
    ) -> anyhow::Result<()> {
        if outcomes.len() != positions.len() {
            bail!("the service returned {} results for {} records", outcomes.len(), positions.len());
        }
        let records = positions.iter().zip(messages);
        for ((position, message), Outcome { code, created, violations, msg }) in records.zip(outcomes) {
            if code == ResultCode::Saved {
                *(if created { &mut self.tally.created } else { known(&mut self.tally) }) += 1;
                continue;
            }
            self.tally.bad += 1;
            let object = serde_json::to_value(message).unwrap_or_default();
            let mut errors: Vec<RowError> = violations
                .iter()
                .map(|violation| field_error(&object, &violation.field, &violation.description))
                .collect();
            if errors.is_empty() {
                errors.push(RowError::of_row(msg));
            }
            self.report.write(*position, &errors)?;
        }
        (self.progress)(self.tally.rows);
        Ok(())
    }
}

type Batches<M> = mpsc::Receiver<anyhow::Result<Vec<Record<M>>>>;

/// The records of a file, read and checked ahead.
fn batches<M: DeserializeOwned + Check + Send + 'static>(source: &Source) -> anyhow::Result<Batches<M>> {
    let mut lines = Lines::of(source)?;
    Ok(read_ahead(move || {
        let mut batch = Vec::with_capacity(BATCH);
        while batch.len() < BATCH
            && let Some((position, line)) = lines.next()?
        {
            batch.push(Record { position, message: read(line) });
        }
        Ok(batch)
    }))
}

fn read<M: DeserializeOwned + Check>(line: &[u8]) -> Result<M, Vec<RowError>> {
    let message: M = serde_json::from_slice(line).map_err(|error| vec![RowError::of_row(format!("{error}."))])?;
    let violations = check(&message);
    if violations.is_empty() {
        return Ok(message);
    }
    let object: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
    Err(violations.iter().map(|violation| field_error(&object, &violation.path, &violation.message)).collect())
}

/// An error of the field at a path of a record, with its value.
fn field_error(record: &serde_json::Value, path: &str, reason: &str) -> RowError {
    let value = record.pointer(&format!("/{}", path.replace('.', "/")));
    let text = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    RowError::new(path, &text.unwrap_or_default(), reason)
}

/// Checks the records without sending them.
async fn check_only<M>(source: &Source, recorder: &mut Recorder<'_>) -> anyhow::Result<()>
where
    M: DeserializeOwned + Check + Send + 'static,
{
    let mut batches = batches::<M>(source)?;
    while let Some(batch) = batches.recv().await {
        let (positions, _) = recorder.split(batch?)?;
        recorder.tally.created += positions.len() as u64;
        (recorder.progress)(recorder.tally.rows);
    }
    Ok(())
}

/// Opens cases, batch after batch.
async fn open(source: &Source, service: &Service, recorder: &mut Recorder<'_>) -> anyhow::Result<()> {
    let mut batches = batches::<OpenCaseRequest>(source)?;
    while let Some(batch) = batches.recv().await {
        let (positions, cases) = recorder.split(batch?)?;
        if cases.is_empty() {
            continue;
        }
        let request = BatchOpenCasesRequest { cases };
        let response = patiently(|| {
            let (mut client, request) = (service.monitoring(), request.clone());
            async move { client.batch_open_cases(request).await }
        });
        let results = response.await.map_err(|error| refused(&error))?.results;
        let outcomes = results.into_iter().map(Outcome::from).collect();
        recorder.record(&positions, &request.cases, outcomes, |tally| &mut tally.skipped)?;
    }
    Ok(())
}

/// A chunk of observations without a response.
struct Chunk {
    positions: Vec<Position>,
    request: ObserveUrlsRequest,
}

/// A stream of observations and its responses.
struct Stream {
    chunks: mpsc::Sender<ObserveUrlsRequest>,
    responses: Streaming<compliance_api::v1::ObserveUrlsResponse>,
}

/// Streams observations. Chunks without a response are sent again when a stream breaks, since observations are
/// idempotent.
async fn observe(source: &Source, service: &Service, recorder: &mut Recorder<'_>) -> anyhow::Result<()> {
    let mut batches = batches::<UrlObservation>(source)?;
    let mut unanswered: VecDeque<Chunk> = VecDeque::new();
    let mut stream: Option<Stream> = None;
    let (mut more, mut failures) = (true, 0);
    while more || !unanswered.is_empty() {
        let mut open = match stream.take() {
            Some(open) => open,
            None => begin(service, &unanswered).await?,
        };
        while more && unanswered.len() < MAX_UNANSWERED {
            let Some(batch) = batches.recv().await else {
                more = false;
                break;
            };
            let (positions, observations) = recorder.split(batch?)?;
            if positions.is_empty() {
                continue;
            }
            let request = ObserveUrlsRequest { observations };
            // A chunk that cannot be sent is sent with the next stream.
            let _ = open.chunks.send(request.clone()).await;
            unanswered.push_back(Chunk { positions, request });
        }
        if unanswered.is_empty() {
            break;
        }
        match open.responses.message().await {
            Ok(Some(response)) => {
                if let Some(chunk) = unanswered.pop_front() {
                    let outcomes = response.results.into_iter().map(Outcome::from).collect();
                    let messages = &chunk.request.observations;
                    recorder.record(&chunk.positions, messages, outcomes, |tally| &mut tally.updated)?;
                }
                failures = 0;
                stream = Some(open);
            }
            Ok(None) => failures = wait_after(failures, &Error::core_unavailable()).await?,
            Err(status) => failures = wait_after(failures, &Error::from(&status)).await?,
        }
    }
    Ok(())
}

/// Opens a stream with the chunks that have no response yet.
async fn begin(service: &Service, unanswered: &VecDeque<Chunk>) -> anyhow::Result<Stream> {
    let stream = patiently(|| {
        let (sender, receiver) = mpsc::channel(MAX_UNANSWERED);
        for chunk in unanswered {
            // The channel has capacity for all of them.
            let _ = sender.try_send(chunk.request.clone());
        }
        let requests = futures::stream::unfold(receiver, |mut receiver: mpsc::Receiver<_>| async move {
            receiver.recv().await.map(|request| (request, receiver))
        });
        let mut client = service.monitoring();
        async move {
            let response = client.stream_url_observations(requests).await?;
            Ok(response.map(|responses| Stream { chunks: sender, responses }))
        }
    });
    stream.await.map_err(|error| refused(&error)).context("observations cannot be sent")
}

/// Waits before another attempt, and returns the number of failed attempts.
async fn wait_after(failures: u32, error: &Error) -> anyhow::Result<u32> {
    if failures + 1 >= ATTEMPTS || !is_passing(error) {
        return Err(refused(error));
    }
    tokio::time::sleep(std::time::Duration::from_secs(1 << failures.min(3))).await;
    Ok(failures + 1)
}
