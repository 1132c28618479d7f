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
    read_ahead,
    report::{Fault, Place, Report},
    source::Source,
    tally::Tally,
};
use crate::service::{Service, is_passing, patiently, refused};

/// Records that are sent together.
const BATCH: usize = 500;
/// Chunks of a stream that wait for their answer.
const UNANSWERED: usize = 3;
/// How often a stream is begun anew without any answer in between.
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

/// One record, or what is wrong with its line.
struct Record<M> {
    place: Place,
    message: Result<M, Vec<Fault>>,
}

/// What the service says of a record.
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

/// Imports a file; without a service its lines are only looked at.
pub(super) async fn import(
    kind: Kind,
    source: &Source,
    service: Option<&Service>,
    report: &mut Report,
    progress: impl Fn(u64),
) -> anyhow::Result<Tally> {
    let mut books = Books { tally: Tally::default(), report, progress: &progress };
    match (kind, service) {
        (Kind::Urls, None) => look::<UrlObservation>(source, &mut books).await?,
        (Kind::Cases, None) => look::<OpenCaseRequest>(source, &mut books).await?,
        (Kind::Urls, Some(service)) => observe(source, service, &mut books).await?,
        (Kind::Cases, Some(service)) => open(source, service, &mut books).await?,
    }
    Ok(books.tally)
}

/// Counts and reports.
struct Books<'a> {
    tally: Tally,
    report: &'a mut Report,
    progress: &'a dyn Fn(u64),
}

impl Books<'_> {
    /// Enters what could not be read of a batch; what is left is good.
    fn sort<M>(&mut self, batch: Vec<Record<M>>) -> anyhow::Result<(Vec<Place>, Vec<M>)> {
        let (mut places, mut messages) = (Vec::new(), Vec::new());
        for Record { place, message } in batch {
            self.tally.rows += 1;
            match message {
                Ok(message) => {
                    places.push(place);
                    messages.push(message);
                }
                Err(faults) => {
                    self.tally.bad += 1;
                    self.report.write(place, &faults)?;
                }
            }
        }
        Ok((places, messages))
    }

    /// Enters what became of the records at `places`. `known` counts those that were there already.
    fn enter<M: Serialize>(
        &mut self,
        places: &[Place],
        messages: &[M],
        outcomes: Vec<Outcome>,
        known: fn(&mut Tally) -> &mut u64,
    ) -> anyhow::Result<()> {
        if outcomes.len() != places.len() {
            bail!("the service answered for {} records of {}", outcomes.len(), places.len());
        }
        let records = places.iter().zip(messages);
        for ((place, message), Outcome { code, created, violations, msg }) in records.zip(outcomes) {
            if code == ResultCode::Saved {
                *(if created { &mut self.tally.created } else { known(&mut self.tally) }) += 1;
                continue;
            }
            self.tally.bad += 1;
            let object = serde_json::to_value(message).unwrap_or_default();
            let mut faults: Vec<Fault> =
                violations.iter().map(|violation| fault(&object, &violation.field, &violation.description)).collect();
            if faults.is_empty() {
                faults.push(Fault::of_row(msg));
            }
            self.report.write(*place, &faults)?;
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
            && let Some((place, line)) = lines.next()?
        {
            batch.push(Record { place, message: read(line) });
        }
        Ok(batch)
    }))
}

fn read<M: DeserializeOwned + Check>(line: &[u8]) -> Result<M, Vec<Fault>> {
    let message: M = serde_json::from_slice(line).map_err(|error| vec![Fault::of_row(format!("{error}."))])?;
    let violations = check(&message);
    if violations.is_empty() {
        return Ok(message);
    }
    let object: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
    Err(violations.iter().map(|violation| fault(&object, &violation.path, &violation.message)).collect())
}

/// A fault of the field at a path of a record, with what the record holds there.
fn fault(record: &serde_json::Value, path: &str, reason: &str) -> Fault {
    let value = record.pointer(&format!("/{}", path.replace('.', "/")));
    let text = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    Fault::new(path, &text.unwrap_or_default(), reason)
}

/// Looks at the records and sends none.
async fn look<M>(source: &Source, books: &mut Books<'_>) -> anyhow::Result<()>
where
    M: DeserializeOwned + Check + Send + 'static,
{
    let mut batches = batches::<M>(source)?;
    while let Some(batch) = batches.recv().await {
        let (places, _) = books.sort(batch?)?;
        books.tally.created += places.len() as u64;
        (books.progress)(books.tally.rows);
    }
    Ok(())
}

/// Opens cases, batch after batch.
async fn open(source: &Source, service: &Service, books: &mut Books<'_>) -> anyhow::Result<()> {
    let mut batches = batches::<OpenCaseRequest>(source)?;
    while let Some(batch) = batches.recv().await {
        let (places, cases) = books.sort(batch?)?;
        if cases.is_empty() {
            continue;
        }
        let request = BatchOpenCasesRequest { cases };
        let answer = patiently(|| {
            let (mut client, request) = (service.monitoring(), request.clone());
            async move { client.batch_open_cases(request).await }
        });
        let results = answer.await.map_err(|error| refused(&error))?.results;
        let outcomes = results.into_iter().map(Outcome::from).collect();
        books.enter(&places, &request.cases, outcomes, |tally| &mut tally.skipped)?;
    }
    Ok(())
}

/// A chunk of observations that is not answered yet.
struct Chunk {
    places: Vec<Place>,
    request: ObserveUrlsRequest,
}

/// A stream of observations: where chunks go in, and where answers come out.
struct Stream {
    chunks: mpsc::Sender<ObserveUrlsRequest>,
    answers: Streaming<compliance_api::v1::ObserveUrlsResponse>,
}

/// Streams observations. What was not answered when a stream breaks is sent again: it changes nothing twice.
async fn observe(source: &Source, service: &Service, books: &mut Books<'_>) -> anyhow::Result<()> {
    let mut batches = batches::<UrlObservation>(source)?;
    let mut unanswered: VecDeque<Chunk> = VecDeque::new();
    let mut stream: Option<Stream> = None;
    let (mut more, mut failures) = (true, 0);
    while more || !unanswered.is_empty() {
        let mut open = match stream.take() {
            Some(open) => open,
            None => begin(service, &unanswered).await?,
        };
        while more && unanswered.len() < UNANSWERED {
            let Some(batch) = batches.recv().await else {
                more = false;
                break;
            };
            let (places, observations) = books.sort(batch?)?;
            if places.is_empty() {
                continue;
            }
            let request = ObserveUrlsRequest { observations };
            // One that cannot be sent is sent with the next stream.
            let _ = open.chunks.send(request.clone()).await;
            unanswered.push_back(Chunk { places, request });
        }
        if unanswered.is_empty() {
            break;
        }
        match open.answers.message().await {
            Ok(Some(answer)) => {
                if let Some(chunk) = unanswered.pop_front() {
                    let outcomes = answer.results.into_iter().map(Outcome::from).collect();
                    let messages = &chunk.request.observations;
                    books.enter(&chunk.places, messages, outcomes, |tally| &mut tally.updated)?;
                }
                failures = 0;
                stream = Some(open);
            }
            Ok(None) => failures = again(failures, &Error::core_unavailable()).await?,
            Err(status) => failures = again(failures, &Error::from(&status)).await?,
        }
    }
    Ok(())
}

/// Begins a stream with the chunks that the one before left unanswered.
async fn begin(service: &Service, unanswered: &VecDeque<Chunk>) -> anyhow::Result<Stream> {
    let answers = patiently(|| {
        let (sender, receiver) = mpsc::channel(UNANSWERED);
        for chunk in unanswered {
            // There is room for all of them.
            let _ = sender.try_send(chunk.request.clone());
        }
        let requests = futures::stream::unfold(receiver, |mut receiver: mpsc::Receiver<_>| async move {
            receiver.recv().await.map(|request| (request, receiver))
        });
        let mut client = service.monitoring();
        async move {
            let answer = client.stream_url_observations(requests).await?;
            Ok(answer.map(|answers| Stream { chunks: sender, answers }))
        }
    });
    answers.await.map_err(|error| refused(&error)).context("observations cannot be sent")
}

/// Waits before a stream is begun anew; how many have failed.
async fn again(failures: u32, error: &Error) -> anyhow::Result<u32> {
    if failures + 1 >= TRIES || !is_passing(error) {
        return Err(refused(error));
    }
    tokio::time::sleep(std::time::Duration::from_secs(1 << failures.min(3))).await;
    Ok(failures + 1)
}
