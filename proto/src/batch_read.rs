//! Single reads of many callers in one call: what [`BatchReadRequest`] and [`BatchReadResponse`] hold, on both sides.

use std::time::Duration;

use futures::{StreamExt as _, stream::FuturesUnordered};
use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use tonic::{Code, Extensions, Request, Response, Status, metadata::MetadataMap};

use crate::{
    client::{BoxStream, Clients},
    deadline::grpc_timeout,
    error::Error,
    rules::Violations,
    v1::{
        BatchReadRequest, BatchReadResponse, RateLimitHeaders, Read, ReadStatus,
        batch_read_response::Result as Outcome, read::Operation, read_service_server::ReadService,
    },
};

/// Reads in one call.
pub const MAX_READS: usize = 1000;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const RATE_LIMIT: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];

/// Makes single reads, alone or in batches.
#[tonic::async_trait]
pub trait ReadRecords: Send + Sync + 'static {
    /// Makes a read. The metadata holds its token, request ID and deadline.
    async fn read(&self, request: Request<Operation>) -> Result<Response<Outcome>, Status>;
}

/// `ReadService` over clients that make one read at a time.
#[derive(Clone, Debug)]
pub struct BatchReads(Clients);

impl BatchReads {
    /// Each read is a call of `clients`, which check its token and its rate limit.
    pub fn new(clients: Clients) -> Self {
        Self(clients)
    }
}

#[tonic::async_trait]
impl ReadService for BatchReads {
    type BatchReadStream = BoxStream<BatchReadResponse>;

    async fn batch_read(&self, request: Request<BatchReadRequest>) -> Result<Response<Self::BatchReadStream>, Status> {
        let BatchReadRequest { authorizations, reads } = request.into_inner();
        if reads.len() > MAX_READS {
            let message = format!("The reads field must not have more than {MAX_READS} items.");
            return Err(Error::invalid(Violations::one("reads", message)).into());
        }
        let authorizations: Vec<Option<HeaderValue>> =
            authorizations.iter().map(|value| HeaderValue::try_from(value).ok()).collect();
        let responses: FuturesUnordered<_> = (0..)
            .zip(reads)
            .map(|(index, read)| {
                let authorization = authorizations.get(read.authorization as usize).cloned().flatten();
                let clients = self.0.clone();
                async move { Ok(BatchReadResponse::new(index, make(&clients, authorization, read).await)) }
            })
            .collect();
        Ok(Response::new(responses.boxed()))
    }
}

async fn make(clients: &Clients, authorization: Option<HeaderValue>, read: Read) -> Result<Response<Outcome>, Status> {
    let mut headers = HeaderMap::with_capacity(8);
    if let Some(authorization) = authorization {
        headers.insert(AUTHORIZATION, authorization);
    }
    if let Some(id) = read.request_id.and_then(|id| HeaderValue::try_from(id).ok()) {
        headers.insert(REQUEST_ID, id);
    }
    let mut empty = Request::from_parts(MetadataMap::from_headers(headers), Extensions::new(), ());
    empty.set_timeout(Duration::from_millis(read.timeout_ms.into()));
    match read.operation {
        Some(Operation::Affiliate(message)) => {
            let response = clients.affiliates.get_affiliate(empty.map(|()| message)).await?;
            Ok(response.map(Outcome::Affiliate))
        }
        Some(Operation::Url(message)) => {
            Ok(clients.urls.get_compliance_url(empty.map(|()| message)).await?.map(Outcome::Url))
        }
        Some(Operation::Case(message)) => {
            Ok(clients.cases.get_compliance_case(empty.map(|()| message)).await?.map(Outcome::Case))
        }
        None => Err(Error::invalid(Violations::one("operation", "The operation field is required.".to_owned())).into()),
    }
}

impl Read {
    /// A read, from the request of its operation. `authorization` is the index of its token.
    pub fn new(authorization: u32, request: &Request<Operation>) -> Self {
        let headers: &HeaderMap = request.metadata().as_ref();
        let timeout = grpc_timeout(headers).map_or(u128::MAX, |timeout| timeout.as_millis());
        Self {
            authorization,
            request_id: headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).map(str::to_owned),
            timeout_ms: u32::try_from(timeout).unwrap_or(u32::MAX),
            operation: Some(*request.get_ref()),
        }
    }
}

impl BatchReadResponse {
    /// The result of the read at `index`.
    pub fn new(index: u32, result: Result<Response<Outcome>, Status>) -> Self {
        let (metadata, outcome) = match result {
            Ok(response) => {
                let (metadata, outcome, _) = response.into_parts();
                (metadata, outcome)
            }
            Err(mut status) => {
                let outcome = ReadStatus {
                    code: status.code().into(),
                    message: status.message().to_owned(),
                    details: status.details().to_vec(),
                };
                (std::mem::take(status.metadata_mut()), Outcome::Status(outcome))
            }
        };
        Self { read: index, rate_limit: RateLimitHeaders::read(metadata.as_ref()), result: Some(outcome) }
    }

    /// The result, as if the operation had been called by itself.
    pub fn into_result(self) -> Result<Response<Outcome>, Status> {
        let mut metadata = MetadataMap::new();
        if let Some(rate_limit) = self.rate_limit {
            rate_limit.write(metadata.as_mut());
        }
        match self.result {
            Some(Outcome::Status(ReadStatus { code, message, details })) => {
                Err(Status::with_details_and_metadata(Code::from_i32(code), message, details.into(), metadata))
            }
            Some(outcome) => Ok(Response::from_parts(metadata, outcome, Extensions::new())),
            None => Err(Error::internal().into()),
        }
    }
}

impl RateLimitHeaders {
    fn read(headers: &HeaderMap) -> Option<Self> {
        let [limit, remaining, reset] =
            RATE_LIMIT.map(|name| headers.get(name).and_then(|value| value.to_str().ok()?.parse().ok()));
        Some(Self { limit: limit?, remaining: remaining?, reset: reset? })
    }

    fn write(&self, headers: &mut HeaderMap) {
        for (name, value) in RATE_LIMIT.into_iter().zip([self.limit, self.remaining, self.reset]) {
            headers.insert(name, HeaderValue::from(value));
        }
    }
}
