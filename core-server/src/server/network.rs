//! Checks network calls before reading their messages.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use admission::{GuardedBody, LimitReached, Reservation, ResponseMemory, is_long};
use bytes::Bytes;
use compliance_api::error::{Error, Reason};
use futures::{FutureExt as _, future::BoxFuture};
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use tokio::sync::OwnedSemaphorePermit;
use tonic::{Code, Status, body::Body, codegen::StdError};
use tower::Service;

use super::{
    call::{Arrival, CallRecord, Called, Origin},
    pipeline::{CallResponse, MeasuredMessage, Pipeline},
    protocol::{code, complete_rejection, describe},
    receive::receive,
};
use crate::quotas::{DatabaseWork, OPEN_STREAMS, Quotas};

/// Maximum memory of a request with one item, encoded and decoded, in bytes. A larger request counts as a long batch.
const HEAVY_BYTES: usize = 1 << 20;

/// The network services, behind the pipeline.
#[derive(Clone)]
pub struct NetworkService<S> {
    pipeline: Pipeline,
    services: S,
}

impl<S> NetworkService<S> {
    pub(crate) fn new(pipeline: Pipeline, services: S) -> Self {
        Self { pipeline, services }
    }
}

impl<S> std::fmt::Debug for NetworkService<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetworkService").finish_non_exhaustive()
    }
}

impl<S, B> Service<Request<B>> for NetworkService<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send + 'static>,
    S: Clone + Send + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<StdError>> + Send + Unpin + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.services.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Makes the call with the service that was polled ready.
        let next = self.services.clone();
        let services = std::mem::replace(&mut self.services, next);
        Box::pin(serve(self.pipeline.clone(), services, request).map(Ok))
    }
}

async fn serve<S, B>(pipeline: Pipeline, mut services: S, mut request: Request<B>) -> Response<Body>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    B: http_body::Body<Data = Bytes, Error: Into<StdError>> + Send + Unpin + 'static,
{
    let called = Called::at(request.uri().path());
    pipeline.learn_key(called, request.headers()).await;
    let (headers, origin) = (request.headers(), Origin::Network(request.method()));
    let call = match pipeline.check(Arrival { called, headers, origin, verified: None }) {
        Ok(call) => call,
        Err(refused) => {
            pipeline.quotas().rejections.delay(refused.record.company_id()).await;
            let reason = refused.error.reason;
            let mut response = refused.respond();
            complete_rejection(reason, &mut response);
            return response;
        }
    };
    call.identify(request.extensions_mut());
    let (head, body) = request.into_parts();
    let company_id = call.record.company_id();
    let message = message(&pipeline, called, body, company_id);
    let service = async |(body, resources, is_long)| {
        let Ok(response) = services.call(Request::from_parts(head, body)).await;
        with_resources(response, resources, is_long)
    };
    let response = pipeline.serve(call, message, service).await;
    if is_repeatable(called, company_id, response.headers()) {
        // The call is no longer in flight during the delay.
        pipeline.quotas().rejections.delay(company_id).await;
    }
    response
}

/// Returns whether a client can repeat a call without cost or limit.
fn is_repeatable(called: Called, company_id: Option<i64>, response: &HeaderMap) -> bool {
    if matches!(called, Called::Standard(_)) {
        return called.is_open_to_all();
    }
    match code(response) {
        None | Some(Code::Ok) => false,
        Some(code) => company_id.is_none() || matches!(code, Code::ResourceExhausted | Code::Unauthenticated),
    }
}

/// The resources that a request holds until its response is sent.
struct Resources {
    memory: Reservation,
    /// Counts a stream that needs no token.
    stream: Option<OwnedSemaphorePermit>,
}

async fn message<B>(
    pipeline: &Pipeline,
    called: Called,
    body: B,
    company_id: Option<i64>,
) -> Result<MeasuredMessage<(Body, Resources, bool)>, Status>
where
    B: http_body::Body<Data = Bytes, Error: Into<StdError>> + Send + Unpin + 'static,
{
    let operation = match called {
        Called::Operation(operation) => operation,
        // Health and reflection need no token.
        Called::Standard(_) => {
            let quotas = pipeline.quotas();
            let stream = called.is_open_to_all().then(|| open_to_all(quotas)).transpose()?;
            let content = (Body::new(body), Resources { memory: quotas.memory.reservation(None), stream }, false);
            return Ok(MeasuredMessage { content, written: 0, work: DatabaseWork::Coalesced, is_long: false });
        }
        Called::Unknown => return Err(Error::new(Reason::UnknownPath, "The operation does not exist.").into()),
    };
    let (body, measure, memory) = receive(pipeline, operation, body, company_id).await?;
    let work = match called.work(measure.items) {
        // A single item can also be large. A batch of reads belongs to no company and has its own limits.
        DatabaseWork::Coalesced if memory.bytes() > HEAVY_BYTES => DatabaseWork::LongStatement,
        work => work,
    };
    let is_long = work.is_long() || is_long(memory.bytes());
    let resources = Resources { memory, stream: None };
    Ok(MeasuredMessage { content: (body, resources, is_long), written: called.written(measure.items), work, is_long })
}

/// Counts a stream that needs no token as open until the permit is dropped.
fn open_to_all(quotas: &Quotas) -> Result<OwnedSemaphorePermit, Error> {
    Arc::clone(&quotas.open_to_all).try_acquire_owned().map_err(|_| {
        let message =
            format!("This instance has reached its limit of open health and reflection streams: {OPEN_STREAMS}.");
        Error { message, ..LimitReached::Company.into() }
    })
}

/// Returns a response that holds its request's resources and its own memory until sent. Large messages are encoded off-thread.
fn with_resources(mut response: Response<Body>, resources: Resources, is_long_request: bool) -> Response<Body> {
    let own = response.extensions_mut().remove::<ResponseMemory>();
    let is_long = is_long_request || own.as_ref().is_some_and(|own| is_long(own.bytes()));
    if resources.memory.bytes() == 0 && resources.stream.is_none() && own.is_none() && !is_long {
        return response;
    }
    response.map(|body| Body::new(GuardedBody::new(body, is_long, (resources, own))))
}

impl CallResponse for Response<Body> {
    fn rejection(status: Status) -> Self {
        status.into_http()
    }

    fn headers_mut(&mut self) -> &mut HeaderMap {
        self.headers_mut()
    }

    /// Records the call until the end of its response. The code is in the headers or trailers.
    fn record(mut self, mut record: CallRecord) -> Self {
        describe(record.called, self.headers_mut());
        match code(self.headers()) {
            Some(code) => record.code = code,
            // A watch lasts up to a day.
            None if record.called.is_watch() => record.code = Code::Ok,
            None => return self.map(|body| Body::new(Recorded { body, record })),
        }
        self
    }
}

struct Recorded {
    body: Body,
    record: CallRecord,
}

impl http_body::Body for Recorded {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let mut frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &mut frame
            && let Some(trailers) = frame.trailers_mut()
        {
            describe(self.record.called, trailers);
        }
        let code = match &frame {
            Some(Ok(frame)) => frame.trailers_ref().and_then(code),
            Some(Err(status)) => Some(status.code()),
            None => None,
        };
        if let Some(code) = code {
            self.record.code = code;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
