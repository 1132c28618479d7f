//! `ReadService`: single reads from many callers in one call. Reads of the same kind share one statement.

use std::{collections::HashSet, iter::repeat_n, pin::Pin, sync::Arc};

use compliance_api::{
    batch_read::MAX_READS,
    client::{self, CORES},
    error::Error,
    record::Record,
    rules::Violations,
    token::TokenError,
    v1::{
        BatchReadRequest, BatchReadResponse, RateLimitHeaders, Read, batch_read_response::Result as Outcome, read,
        read_service_server::ReadService,
    },
    wire::Operation,
};
use futures::{
    FutureExt as _, StreamExt as _,
    stream::{self, BoxStream, FuturesUnordered},
};
use http::HeaderValue;
use telemetry::warn_limited;
use tokio::time::{Instant, timeout_at};
use tonic::{Code, Request, Status};

use super::{
    call::{Arrival, Called, Origin},
    pipeline::{Call, Pipeline, RefusedCall},
    tokens::{SignaturePermits, Tokens},
};
use crate::{
    access::{Served, Verified},
    backend::Backend,
    message_streams::{streamed, timeout_of},
};
use storage::{
    reads::{COALESCED_READ, FoundRecord, Key, Reads},
    statement_context,
};

#[derive(Clone)]
pub(super) struct BatchReads {
    pipeline: Pipeline,
    backend: Arc<Backend>,
    /// Shared by all batches that contain more than one invalid token.
    signatures: Arc<SignaturePermits>,
}

impl BatchReads {
    pub(super) fn new(pipeline: &Pipeline, backend: &Arc<Backend>) -> Self {
        let signatures = Arc::new(SignaturePermits::new());
        Self { pipeline: pipeline.clone(), backend: Arc::clone(backend), signatures }
    }
}

/// A batch of reads in progress.
struct Batch {
    service: BatchReads,
    authorizations: Vec<String>,
    /// The batch's `CORES` header, which applies to each read.
    cores: Option<HeaderValue>,
    deadline: Instant,
}

struct Accepted {
    index: u32,
    request: statement_context::RequestContext,
    key: Key,
    call: Call,
}

#[tonic::async_trait]
impl ReadService for BatchReads {
    type BatchReadStream = client::BoxStream<BatchReadResponse>;

    async fn batch_read(&self, request: Request<BatchReadRequest>) -> Served<Self::BatchReadStream> {
        let deadline = Instant::now() + timeout_of(&request, self.backend.settings.call_timeout);
        let cores = request.metadata().as_ref().get(CORES).cloned();
        let BatchReadRequest { authorizations, reads } = request.into_inner();
        for (field, items) in [("authorizations", authorizations.len()), ("reads", reads.len())] {
            if items > MAX_READS {
                let message = format!("The {field} field must not have more than {MAX_READS} items.");
                return Err(Error::invalid(Violations::one(field, message)).into());
            }
        }
        // Verifies only tokens that a read refers to.
        let named: HashSet<u32> = reads.iter().map(|read| read.authorization).collect();
        let named = named.into_iter().filter_map(|index| authorizations.get(index as usize).cloned());
        let tokens = Tokens::verify(Arc::clone(self.pipeline.access()), named.collect());
        let is_proven = tokens.has_valid();
        let batch = Batch { service: self.clone(), authorizations, cores, deadline };
        let (known, others) = batch.split(&tokens, (0..).zip(reads));
        let mut responses = batch.respond(known);
        if !others.is_empty() {
            let others = batch.verify_and_respond(tokens, others).flatten_stream();
            responses = stream::select(responses, others).boxed();
        }
        let responses = responses.map(Ok);
        if !is_proven {
            // Anyone can send this batch, so its response is delayed like a rejection. During the delay, the call does not count as in
            // flight.
            let pipeline = self.pipeline.clone();
            let delayed = async move {
                pipeline.quotas().rejections.delay(None).await;
                responses
            };
            return Ok(streamed(delayed.flatten_stream().boxed(), deadline));
        }
        let mut responses = responses.boxed().peekable();
        // Sending the headers before the first message would cost both sides a wake-up.
        Pin::new(&mut responses).peek().await;
        Ok(streamed(responses.boxed(), deadline))
    }
}

/// Reads with and without a verification result, each paired with its index in the batch.
type SplitReads = (Vec<(u32, Read, Verified)>, Vec<(u32, Read)>);

impl Batch {
    /// Separates reads with a verification result from reads without one.
    fn split(&self, tokens: &Tokens, reads: impl IntoIterator<Item = (u32, Read)>) -> SplitReads {
        let (mut known, mut others) = (Vec::new(), Vec::new());
        for (index, read) in reads {
            let verified = match self.authorizations.get(read.authorization as usize) {
                Some(authorization) => tokens.get(authorization).cloned(),
                None => Some(Err(TokenError::Missing)),
            };
            match verified {
                Some(verified) => known.push((index, read, verified)),
                None => others.push((index, read)),
            }
        }
        (known, others)
    }

    async fn verify_and_respond(
        self,
        mut tokens: Tokens,
        reads: Vec<(u32, Read)>,
    ) -> BoxStream<'static, BatchReadResponse> {
        let _ = timeout_at(self.deadline, tokens.verify_rest(&self.service.signatures)).await;
        let (known, others) = self.split(&tokens, reads);
        let responses = self.respond(known);
        if others.is_empty() {
            return responses;
        }
        // Reads with known keys do not wait for unknown keys.
        let with_unknown_keys = async move {
            let _ = timeout_at(self.deadline, tokens.learn_keys(&self.service.signatures)).await;
            let (known, late) = self.split(&tokens, others);
            let late = late.into_iter().map(|(index, _)| rejection(index, Error::deadline_exceeded()));
            stream::iter(late).chain(self.respond(known))
        };
        stream::select(responses, with_unknown_keys.flatten_stream()).boxed()
    }

    /// Returns the responses to reads: rejections first, then each kind of read as it completes.
    fn respond(&self, reads: Vec<(u32, Read, Verified)>) -> BoxStream<'static, BatchReadResponse> {
        let BatchReads { pipeline, backend, .. } = &self.service;
        let (mut affiliates, mut urls, mut cases, mut refused) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (index, read, token) in reads {
            let mut headers = read.headers();
            headers.extend(self.cores.clone().map(|cores| (CORES, cores)));
            let (operation, id, as_of, accepted) = match read.operation {
                Some(read::Operation::Affiliate(get)) => {
                    (&Operation::GET_AFFILIATE, get.id, get.as_of, &mut affiliates)
                }
                Some(read::Operation::Url(get)) => (&Operation::GET_COMPLIANCE_URL, get.id, get.as_of, &mut urls),
                Some(read::Operation::Case(get)) => (&Operation::GET_COMPLIANCE_CASE, get.id, get.as_of, &mut cases),
                None => {
                    let violation = Violations::one("operation", "The operation field is required.");
                    refused.push(rejection(index, Error::invalid(violation)));
                    continue;
                }
            };
            if as_of.is_some() {
                let violation = Violations::one("as_of", "The as of field is not allowed in batch reads.");
                refused.push(rejection(index, Error::invalid(violation)));
                continue;
            }
            let called = Called::Operation(operation);
            let arrival = Arrival { called, headers: &headers, origin: Origin::Batch, verified: Some(token) };
            match pipeline.check(arrival).map(|call| (call.record.company_id(), call)) {
                Ok((Some(company_id), call)) => {
                    let span = call.record.span.statement(COALESCED_READ);
                    let request = statement_context::RequestContext::new(call.record.request_id.clone(), span);
                    accepted.push(Accepted { index, request, key: (company_id, id), call });
                }
                Ok((None, _)) => refused.push(rejection(index, Error::internal())),
                Err(RefusedCall { error, mut record }) => {
                    refused.push(response(index, record.caller.rate_limit.take(), Err(error.into())));
                }
            }
        }
        let kinds = [
            responses(backend.affiliates.clone(), affiliates, Outcome::Affiliate, self.deadline).boxed(),
            responses(backend.urls.clone(), urls, Outcome::Url, self.deadline).boxed(),
            responses(backend.cases.clone(), cases, Outcome::Case, self.deadline).boxed(),
        ];
        stream::iter(refused).chain(kinds.into_iter().collect::<FuturesUnordered<_>>().flatten()).boxed()
    }
}

/// Returns the responses to all reads of one kind. Large records come last, as memory becomes available.
async fn responses<T: Record>(
    source: Reads<T>,
    accepted: Vec<Accepted>,
    outcome: fn(Box<T>) -> Outcome,
    deadline: Instant,
) -> BoxStream<'static, BatchReadResponse> {
    if accepted.is_empty() {
        return stream::empty().boxed();
    }
    let keys: Vec<_> = accepted.iter().map(|read| read.key).collect();
    let found = timeout_at(deadline, source.get_all(&keys, accepted.iter().map(|read| &read.request))).await;
    let found = found.unwrap_or_else(|_| repeat_n(Error::deadline_exceeded(), accepted.len()).map(Err).collect());
    let respond = move |mut read: Accepted, record: Result<T, Error>| {
        let result = record.map(|record| outcome(Box::new(record))).map_err(Status::from);
        read.call.record.code = result.as_ref().map_or_else(Status::code, |_| Code::Ok);
        if let Err(status) = &result
            && status.code() != Code::NotFound
        {
            warn_limited!(request_id = read.request.id(), "read failed: {}", status.message());
        }
        response(read.index, read.call.record.caller.rate_limit.take(), result)
    };
    let (mut ready, mut large) = (Vec::with_capacity(accepted.len()), Vec::new());
    for (read, found) in accepted.into_iter().zip(found) {
        match found {
            Ok(FoundRecord::Row(rows, index, memory)) => ready.push((respond(read, rows.record(index)), memory)),
            Ok(FoundRecord::TooLarge(bytes)) => large.push((read, bytes)),
            Err(error) => ready.push((respond(read, Err(error)), None)),
        }
    }
    let large = stream::iter(large).then(move |(read, bytes)| {
        let source = source.clone();
        async move {
            let read_alone = timeout_at(deadline, source.large(read.key, bytes)).await;
            let (record, memory) = match read_alone.unwrap_or_else(|_| Err(Error::deadline_exceeded())) {
                Ok((record, memory)) => (Ok(record), memory),
                Err(error) => (Err(error), None),
            };
            (respond(read, record), memory)
        }
    });
    // The transport releases a response's memory when it takes the response.
    stream::iter(ready).chain(large).map(|(response, _)| response).boxed()
}

fn rejection(read: u32, error: Error) -> BatchReadResponse {
    response(read, None, Err(error.into()))
}

fn response(read: u32, rate_limit: Option<RateLimitHeaders>, result: Result<Outcome, Status>) -> BatchReadResponse {
    let result = result.unwrap_or_else(|status| Outcome::Status(status.into()));
    BatchReadResponse { read, rate_limit, result: Some(result) }
}
