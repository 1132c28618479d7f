//! `ReadService`: single reads of many callers in one call. Those of one kind become one statement.

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
use tokio::time::{Instant, timeout_at};
use tonic::{Code, Request, Status};

use super::{
    arrival::{Arrival, Origin},
    operations::Called,
    pipeline::{Call, Pipeline, RefusedCall},
    tokens::{Tokens, Turns},
};
use crate::{
    access::Verified,
    backend::Backend,
    requests::{Served, streamed, timeout_of},
};
use storage::{
    reads::{COALESCED_READ, FoundRecord, Key, Reads},
    statement,
};

#[derive(Clone)]
pub(super) struct BatchReads {
    pub(super) pipeline: Pipeline,
    pub(super) backend: Arc<Backend>,
    /// Messages with several tokens that are not valid verify the others in turns.
    pub(super) turns: Arc<Turns>,
}

struct Accepted {
    index: u32,
    request: statement::RequestContext,
    key: Key,
    call: Call,
}

#[tonic::async_trait]
impl ReadService for BatchReads {
    type BatchReadStream = client::BoxStream<BatchReadResponse>;

    async fn batch_read(&self, request: Request<BatchReadRequest>) -> Served<Self::BatchReadStream> {
        let limit = timeout_of(&request, self.backend.settings.call_timeout);
        let deadline = Instant::now() + limit;
        let cores = request.metadata().as_ref().get(CORES).cloned();
        let BatchReadRequest { authorizations, reads } = request.into_inner();
        for (field, items) in [("authorizations", authorizations.len()), ("reads", reads.len())] {
            if items > MAX_READS {
                let message = format!("The {field} field must not have more than {MAX_READS} items.");
                return Err(Error::invalid(Violations::one(field, message)).into());
            }
        }
        // A token that no read names is not verified.
        let named: HashSet<u32> = reads.iter().map(|read| read.authorization).collect();
        let named = named.into_iter().filter_map(|index| authorizations.get(index as usize).cloned());
        let tokens = Tokens::verify(self.pipeline.clone(), named.collect());
        let (mut now, mut later) = (Vec::with_capacity(reads.len()), Vec::new());
        for (index, read) in (0..).zip(reads) {
            let Some(authorization) = authorizations.get(read.authorization as usize) else {
                now.push((index, read, Err(TokenError::Missing)));
                continue;
            };
            match tokens.get(authorization) {
                Some(verified) => now.push((index, read, verified.clone())),
                None => later.push((index, read, authorization.clone())),
            }
        }
        let is_proven = tokens.has_valid();
        let mut responses = self.clone().respond(now, cores.clone(), deadline);
        if !later.is_empty() {
            let later = self.clone().verify_and_respond(tokens, later, cores, deadline).flatten_stream();
            responses = stream::select(responses, later).boxed();
        }
        let responses = responses.map(Ok);
        if !is_proven {
            // Anybody can send it: it is delayed like a call that is refused, and no longer in flight meanwhile.
            let pipeline = self.pipeline.clone();
            let delayed = async move {
                pipeline.delay(None).await;
                responses
            };
            return Ok(streamed(delayed.flatten_stream().boxed(), deadline));
        }
        let mut responses = responses.boxed().peekable();
        // Headers that are sent before a message cost both sides a wake-up.
        Pin::new(&mut responses).peek().await;
        Ok(streamed(responses.boxed(), deadline))
    }
}

impl BatchReads {
    async fn verify_and_respond(
        self,
        mut tokens: Tokens<Pipeline>,
        reads: Vec<(u32, Read, String)>,
        cores: Option<HeaderValue>,
        deadline: Instant,
    ) -> BoxStream<'static, BatchReadResponse> {
        let _ = timeout_at(deadline, tokens.verify_rest(&self.turns)).await;
        let (known, unknown): (Vec<_>, _) = reads.into_iter().partition(|(.., token)| tokens.get(token).is_some());
        let responses = self.clone().respond_verified(&tokens, known, cores.clone(), deadline);
        if unknown.is_empty() {
            return responses;
        }
        // Those with a known key do not wait for it.
        let of_unknown_keys = async move {
            let _ = timeout_at(deadline, tokens.learn_keys(&self.turns)).await;
            self.respond_verified(&tokens, unknown, cores, deadline)
        };
        stream::select(responses, of_unknown_keys.flatten_stream()).boxed()
    }

    /// What has no result by now is too late.
    fn respond_verified(
        self,
        tokens: &Tokens<Pipeline>,
        reads: Vec<(u32, Read, String)>,
        cores: Option<HeaderValue>,
        deadline: Instant,
    ) -> BoxStream<'static, BatchReadResponse> {
        let (mut verified, mut late) = (Vec::with_capacity(reads.len()), Vec::new());
        for (index, read, authorization) in reads {
            match tokens.get(&authorization) {
                Some(outcome) => verified.push((index, read, outcome.clone())),
                None => late.push(response(index, None, Err(Error::deadline_exceeded().into()))),
            }
        }
        stream::iter(late).chain(self.respond(verified, cores, deadline)).boxed()
    }

    /// The responses to reads: at first to those that are refused, then to those of each kind as they are there. `cores` is the header
    /// of the batch, and so of each read in it.
    fn respond(
        self,
        reads: Vec<(u32, Read, Verified)>,
        cores: Option<HeaderValue>,
        deadline: Instant,
    ) -> BoxStream<'static, BatchReadResponse> {
        let (mut affiliates, mut urls, mut cases, mut refused) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (index, read, token) in reads {
            let mut headers = read.headers();
            headers.extend(cores.clone().map(|cores| (CORES, cores)));
            let as_of = match &read.operation {
                Some(read::Operation::Affiliate(get)) => &get.as_of,
                Some(read::Operation::Url(get)) => &get.as_of,
                Some(read::Operation::Case(get)) => &get.as_of,
                None => &None,
            };
            if as_of.is_some() {
                let error = Error::invalid(Violations::one("as_of", "The as of field is not for reads in batches."));
                refused.push(response(index, None, Err(error.into())));
                continue;
            }
            let (operation, id, accepted) = match read.operation {
                Some(read::Operation::Affiliate(get)) => (&Operation::GET_AFFILIATE, get.id, &mut affiliates),
                Some(read::Operation::Url(get)) => (&Operation::GET_COMPLIANCE_URL, get.id, &mut urls),
                Some(read::Operation::Case(get)) => (&Operation::GET_COMPLIANCE_CASE, get.id, &mut cases),
                None => {
                    let error = Error::invalid(Violations::one("operation", "The operation field is required."));
                    refused.push(response(index, None, Err(error.into())));
                    continue;
                }
            };
            let called = Called::Operation(operation);
            let arrival = Arrival { called, headers: &headers, origin: Origin::Batch, verified: Some(token) };
            match self.pipeline.check(arrival).map(|call| (call.company_id, call)) {
                Ok((Some(company_id), call)) => {
                    let span = call.record.span.statement(COALESCED_READ);
                    let request = statement::RequestContext::new(call.record.request_id.clone(), span);
                    accepted.push(Accepted { index, request, key: (company_id, id), call });
                }
                Ok((None, _)) => refused.push(response(index, None, Err(Error::internal().into()))),
                Err(RefusedCall { error, rate_limit, .. }) => {
                    refused.push(response(index, rate_limit, Err(error.into())));
                }
            }
        }
        let kinds = [
            responses(self.backend.affiliates.clone(), affiliates, Outcome::Affiliate, deadline).boxed(),
            responses(self.backend.urls.clone(), urls, Outcome::Url, deadline).boxed(),
            responses(self.backend.cases.clone(), cases, Outcome::Case, deadline).boxed(),
        ];
        stream::iter(refused).chain(kinds.into_iter().collect::<FuturesUnordered<_>>().flatten()).boxed()
    }
}

/// The responses to all reads of one kind: at first those that are there, then large records, as there is memory for them.
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
            tracing::warn!(request_id = read.request.id(), "a read failed: {}", status.message());
        }
        response(read.index, read.call.rate_limit, result)
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
    // Its memory is given back when a response is taken to be sent.
    stream::iter(ready).chain(large).map(|(response, _)| response).boxed()
}

fn response(read: u32, rate_limit: Option<RateLimitHeaders>, result: Result<Outcome, Status>) -> BatchReadResponse {
    let result = result.unwrap_or_else(|status| Outcome::Status(status.into()));
    BatchReadResponse { read, rate_limit, result: Some(result) }
}
