//! Batches single reads from many callers into one call.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use tonic::{Code, Extensions, Request, Response, Status, metadata::MetadataMap};

pub use crate::wire::RATE_LIMIT;
use crate::{
    error::Error,
    v1::{BatchReadResponse, Read, ReadStatus, batch_read_response::Result as Outcome, read::Operation},
};

/// Maximum number of reads in one call.
pub const MAX_READS: usize = 1000;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Tracks the single reads in progress.
#[derive(Debug, Default)]
pub struct Readings(Arc<()>);

/// A single read in progress, which ends when this value is dropped.
#[derive(Debug)]
pub struct Reading(Arc<()>);

impl Readings {
    /// Begins a read.
    pub fn begin(&self) -> Reading {
        Reading(Arc::clone(&self.0))
    }
}

impl Reading {
    /// Returns whether this is the only read in progress.
    pub fn is_alone(&self) -> bool {
        // `Readings` holds the other reference.
        Arc::strong_count(&self.0) == 2
    }
}

/// Sends single reads in batches.
#[tonic::async_trait]
pub trait ReadRecords: Send + Sync + 'static {
    /// Begins a read. If no other read is in progress, an ordinary call is enough.
    fn begin(&self) -> Reading;

    /// Sends a read. The metadata contains its token and request ID.
    async fn read(&self, request: Request<Operation>) -> Result<Response<Outcome>, Status>;
}

impl Read {
    /// Creates a read from a request. `authorization` is the token's index.
    pub fn new(authorization: u32, request: &Request<Operation>) -> Self {
        let headers: &HeaderMap = request.metadata().as_ref();
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Self {
            authorization,
            request_id: header(REQUEST_ID),
            operation: Some(request.get_ref().clone()),
            traceparent: header(TRACEPARENT),
        }
    }

    /// Returns the request ID and the trace context as headers.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in [(REQUEST_ID, &self.request_id), (TRACEPARENT, &self.traceparent)] {
            if let Some(value) = value.as_ref().and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

impl BatchReadResponse {
    /// Converts the result to the response that a separate call would return.
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

impl From<Status> for ReadStatus {
    fn from(status: Status) -> Self {
        Self { code: status.code().into(), message: status.message().to_owned(), details: status.details().to_vec() }
    }
}
