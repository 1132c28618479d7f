//! What every call passes before its service sees it, on a network and in this process alike: a limit on calls in
//! flight, access, the company's shares, a deadline, and a catch for panics.

use std::{
    convert::Infallible,
    panic::AssertUnwindSafe,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use admission::{Count, HoldingBody, OffThread, Reservation, ResponseMemory, is_long};
use bytes::Bytes;
use compliance_api::{
    client::Middleware,
    deadline::grpc_timeout,
    error::{Error, Reason},
    token::VerifiedToken,
    v1::RateLimitHeaders,
    wire::{Authorization, Items, Operation},
};
use futures::{
    FutureExt as _,
    future::{BoxFuture, ready},
};
use http::{Extensions, HeaderMap};
use http_server::FinishBy;
use telemetry::trace;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tonic::{Code, Request, Response, Status, body::Body, codegen::StdError};
use tower::Service;
use tracing::{Instrument as _, Span};

use super::{
    call_record::{CallRecord, MAX_ID_LENGTH},
    operations::Called,
    protocol,
    receive::{self, Received, receive},
    tokens::{Verified, Verify},
};
use crate::{
    CoreSettings,
    access::{AccessPolicy, Caller, Denied, Granted},
    deadline,
    shares::{self, Shares, Work},
};

/// A request of one item that takes more than this, encoded and decoded, weighs as a long batch.
const HEAVY: usize = 1 << 20;
/// What an item of a long batch takes, for the weight of one item that takes as much as many.
const BYTES_OF_AN_ITEM: usize = 4 << 10;

/// Lets calls through, or refuses them. Clones share the limits.
#[derive(Clone)]
pub(crate) struct Guard(Arc<Limits>);

struct Limits {
    access: AccessPolicy,
    in_flight: Arc<Semaphore>,
    shares: Shares,
    message: receive::Limits,
    call_timeout: Duration,
}

/// A call that was let through.
struct Admitted {
    caller: Option<Caller>,
    rate_limit: Option<RateLimitHeaders>,
    timeout: Duration,
    /// Names the operation and the request in the log.
    log_span: Span,
    /// The company's part of the calls in flight.
    count: Option<Count>,
    /// A health check has none.
    permit: Option<OwnedSemaphorePermit>,
}

/// A read of a batch that was let through.
pub(super) struct AdmittedRead {
    pub(super) company_id: i64,
    pub(super) rate_limit: Option<RateLimitHeaders>,
    pub(super) record: CallRecord,
    _count: Count,
    _permit: OwnedSemaphorePermit,
}

impl Guard {
    pub(crate) fn new(access: AccessPolicy, shares: Shares, settings: &CoreSettings) -> Self {
        let in_flight = Arc::new(Semaphore::new(settings.max_in_flight.min(Semaphore::MAX_PERMITS)));
        let message = receive::Limits { encoded: settings.message_limit, decoded: settings.message_memory };
        Self(Arc::new(Limits { access, in_flight, shares, message, call_timeout: settings.call_timeout }))
    }

    /// Delays the response to a refused call if there were many recently.
    pub(super) async fn hold_back(&self) {
        self.0.shares.refusals.hold_back().await;
    }

    /// Lets one read of a batch through, or refuses it. The read counts as a call of the operation that is in flight until
    /// what is returned is dropped.
    pub(super) fn admit_read(
        &self,
        operation: &'static Operation,
        headers: &HeaderMap,
        token: Verified,
    ) -> Result<AdmittedRead, Denied> {
        let mut record = CallRecord::remote(Called::Operation(operation), headers);
        let admitted = self.grant_read(operation.authorization, token);
        if let Err(denied) = &admitted {
            record.refuse(&denied.error);
        }
        let (permit, caller, count, rate_limit) = admitted?;
        record.set_company(Some(caller.company_id));
        Ok(AdmittedRead { company_id: caller.company_id, rate_limit, record, _count: count, _permit: permit })
    }

    fn grant_read(
        &self,
        authorization: Authorization,
        token: Verified,
    ) -> Result<(OwnedSemaphorePermit, Caller, Count, Option<RateLimitHeaders>), Denied> {
        let permit = self.permit()?;
        let Granted { caller, rate_limit } = self.0.access.grant(authorization, token)?;
        let caller = caller.ok_or_else(|| Denied { error: Error::internal(), rate_limit: None })?;
        let (count, rate_limit) = self.count(caller.company_id, rate_limit)?;
        Ok((permit, caller, count, rate_limit))
    }

    fn admit(&self, target: Called, headers: &HeaderMap, verified: Option<VerifiedToken>) -> Result<Admitted, Denied> {
        // An overloaded service still reports its health.
        let permit = if target.is_health_check() { None } else { Some(self.permit()?) };
        let Limits { access, call_timeout, .. } = &*self.0;
        let Granted { caller, rate_limit } = access.check(target.authorization(), headers, verified)?;
        let (count, rate_limit) = match &caller {
            Some(caller) => self.count(caller.company_id, rate_limit).map(|(count, limit)| (Some(count), limit))?,
            None => (None, rate_limit),
        };
        let timeout = grpc_timeout(headers).map_or(*call_timeout, |asked| asked.min(*call_timeout));
        Ok(Admitted { caller, rate_limit, timeout, log_span: log_span(target, headers), count, permit })
    }

    /// Counts a call among those of its company.
    fn count(
        &self,
        company_id: i64,
        rate_limit: Option<RateLimitHeaders>,
    ) -> Result<(Count, Option<RateLimitHeaders>), Denied> {
        match self.0.shares.call(company_id) {
            Ok(count) => Ok((count, rate_limit)),
            Err(full) => Err(Denied { error: full.into(), rate_limit }),
        }
    }

    /// Receives a request from the network, waits until its work may run, and makes the call.
    async fn receive_and_run<S, B>(
        self,
        mut service: S,
        request: http::Request<B>,
        operation: &'static Operation,
        company_id: Option<i64>,
    ) -> Result<http::Response<Body>, Infallible>
    where
        S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
        B: http_body::Body<Data = Bytes, Error: Into<StdError>> + Send + Unpin + 'static,
    {
        let Limits { shares, message, .. } = &*self.0;
        let (head, body) = request.into_parts();
        let received = receive(operation, body, *message, &shares.memory, company_id, self.clone()).await;
        let Received { body, measure, memory } = match received {
            Ok(received) => received,
            Err(status) => {
                if company_id.is_none() {
                    // Anybody can repeat it.
                    self.hold_back().await;
                }
                return Ok(status.into_http());
            }
        };
        let work = match Called::Operation(operation).work(measure.items) {
            // One item can be long, too. A batch of reads has no company, and its own limits.
            Work::Coalesced if memory.bytes() > HEAVY => Work::Heavy(memory.bytes() / BYTES_OF_AN_ITEM),
            work => work,
        };
        let slot = match company_id {
            Some(company_id) => shares.enter(company_id, work).await,
            None => Ok(None),
        };
        let mut slot = match slot {
            Ok(slot) => slot,
            Err(error) => return Answer::error(error),
        };
        let call = trace::inherit(service.call(http::Request::from_parts(head, body)));
        let long = work.is_heavy() || is_long(memory.bytes());
        let call = async { if long { OffThread::new(call, true).await } else { call.await } };
        let response = shares::run(&mut slot, call).await?;
        drop(slot);
        Ok(sending(response, memory, long))
    }

    /// Counts a call in flight. No queue: a caller that has to wait is better off with another instance.
    fn permit(&self) -> Result<OwnedSemaphorePermit, Denied> {
        let permit = Arc::clone(&self.0.in_flight).try_acquire_owned();
        permit.map_err(|_| Denied { error: Error::overloaded(), rate_limit: None })
    }
}

/// Verifies the tokens of a batch of reads.
impl Verify for Guard {
    fn cached(&self, authorization: &str) -> Option<Verified> {
        self.0.access.verify_cached(authorization.as_bytes())
    }

    fn verify(&self, authorization: &str) -> Verified {
        self.0.access.verify(Some(authorization.as_bytes()))
    }
}

impl Admitted {
    fn company_id(&self) -> Option<i64> {
        self.caller.as_ref().map(|caller| caller.company_id)
    }

    /// Hands the caller to the service.
    fn identify(&mut self, extensions: &mut Extensions) {
        if let Some(caller) = self.caller.take() {
            extensions.insert(caller);
        }
    }

    /// Waits for the response. A stream's messages have a deadline of their own.
    async fn run<A: Answer>(self, record: CallRecord, call: impl Future<Output = A>) -> A {
        let Self { rate_limit, timeout, log_span, count, permit, .. } = self;
        let call = deadline::until(Instant::now() + timeout, record.span.run(call));
        let call = AssertUnwindSafe(call).catch_unwind().instrument(log_span.clone());
        let answer = match call.await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => A::error(Error::deadline_exceeded()),
            Err(_) => {
                log_span.in_scope(|| tracing::error!("a call panicked"));
                A::error(Error::internal())
            }
        };
        drop((count, permit));
        with_rate_limit(answer.record(record), rate_limit)
    }
}

/// A single read has none: its statement runs for many callers, so nothing is logged in its own task.
fn log_span(called: Called, headers: &HeaderMap) -> Span {
    match headers.get("x-request-id").and_then(|id| id.to_str().ok()) {
        Some(id) if id.len() <= MAX_ID_LENGTH && !called.is_single_read() => {
            tracing::error_span!("call", operation = called.name(), request_id = id)
        }
        _ => Span::none(),
    }
}

/// A response or an error, on a network or in this process.
trait Answer {
    fn error(error: Error) -> Self;
    fn headers_mut(&mut self) -> &mut HeaderMap;
    /// Records the call to the end of its answer.
    fn record(self, record: CallRecord) -> Self;
}

impl Answer for Result<http::Response<Body>, Infallible> {
    fn error(error: Error) -> Self {
        Ok(Status::from(error).into_http())
    }

    fn headers_mut(&mut self) -> &mut HeaderMap {
        match self {
            Ok(response) => response.headers_mut(),
            Err(never) => match *never {},
        }
    }

    fn record(self, record: CallRecord) -> Self {
        self.map(|response| record.until_end(response))
    }
}

impl<R> Answer for Result<Response<R>, Status> {
    fn error(error: Error) -> Self {
        Err(error.into())
    }

    fn headers_mut(&mut self) -> &mut HeaderMap {
        match self {
            Ok(response) => response.metadata_mut().as_mut(),
            Err(status) => status.metadata_mut().as_mut(),
        }
    }

    /// A stream is recorded until it begins: who reads it in this process records it to its end.
    fn record(self, mut record: CallRecord) -> Self {
        record.set_code(self.as_ref().map_or_else(Status::code, |_| Code::Ok));
        self
    }
}

/// A response that holds the memory of its request and its own until it was sent. Its messages are encoded when they are
/// sent: away from the threads that serve everybody if they are large.
fn sending(mut response: http::Response<Body>, memory: Reservation, long: bool) -> http::Response<Body> {
    let own = response.extensions_mut().remove::<ResponseMemory>();
    let long = long || own.as_ref().is_some_and(|own| is_long(own.bytes()));
    if memory.bytes() == 0 && own.is_none() && !long {
        return response;
    }
    response.map(|body| Body::new(HoldingBody::new(body, long, (memory, own))))
}

fn unknown_operation() -> Error {
    Error::new(Reason::UnknownPath, "There is no such operation.")
}

fn with_rate_limit<A: Answer>(mut answer: A, rate_limit: Option<RateLimitHeaders>) -> A {
    if let Some(rate_limit) = rate_limit {
        rate_limit.write(answer.headers_mut());
    }
    answer
}

fn denied<A: Answer>(Denied { error, rate_limit }: Denied, mut record: CallRecord) -> A {
    record.refuse(&error);
    with_rate_limit(A::error(error), rate_limit)
}

impl Middleware for Guard {
    async fn call<M, R, F>(
        &self,
        path: &'static str,
        mut request: Request<M>,
        call: impl FnOnce(Request<M>) -> F + Send,
    ) -> Result<Response<R>, Status>
    where
        M: Items + Send,
        R: Send,
        F: Future<Output = Result<Response<R>, Status>> + Send,
    {
        // What a gateway in this process has verified is not verified twice.
        let verified = request.extensions_mut().remove();
        let called = Called::at(path);
        let mut record = CallRecord::local(called, request.metadata().as_ref());
        match self.admit(called, request.metadata().as_ref(), verified) {
            Ok(mut admitted) => {
                let (company_id, work) = (admitted.company_id(), called.work(request.get_ref().items()));
                record.set_company(company_id);
                admitted.identify(request.extensions_mut());
                let Some(company_id) = company_id.filter(|_| work != Work::Coalesced) else {
                    return admitted.run(record, call(request)).await;
                };
                let call = async {
                    let shares = &self.0.shares;
                    let mut slot = shares.enter(company_id, work).await?;
                    let call = trace::inherit(call(request));
                    let call = async { if work.is_heavy() { OffThread::new(call, true).await } else { call.await } };
                    let mut response = shares::run(&mut slot, call).await?;
                    // A page that is streamed waits for a slot of its own, and for its reader.
                    if response.extensions().get::<FinishBy>().is_some() {
                        slot = None;
                    }
                    // Beside other companies, the gateway also writes a large response in the slot, before the company's
                    // next work begins.
                    let held = response.extensions_mut().get_mut::<ResponseMemory>();
                    if let (Some(held), Some(slot)) = (held, slot.take_if(|_| shares.are_several_calling())) {
                        held.hold_slot(slot);
                    }
                    Ok(response)
                };
                admitted.run(record, call).await
            }
            Err(refused) => denied(refused, record),
        }
    }
}

/// Services on a network behind a [`Guard`], which decides before a message is read.
#[derive(Clone)]
pub struct Guarded<S> {
    guard: Guard,
    inner: S,
}

impl<S> Guarded<S> {
    pub(crate) fn new(guard: Guard, inner: S) -> Self {
        Self { guard, inner }
    }
}

impl<S> std::fmt::Debug for Guarded<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guarded").finish_non_exhaustive()
    }
}

impl<S, B> Service<http::Request<B>> for Guarded<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible, Future: Send + 'static>,
    S: Clone + Send + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<StdError>> + Send + Unpin + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<B>) -> Self::Future {
        let called = Called::at(request.uri().path());
        let mut record = CallRecord::remote(called, request.headers());
        let head = protocol::check_head(&request).map_err(|error| Denied { error, rate_limit: None });
        match head.and_then(|()| self.guard.admit(called, request.headers(), None)) {
            Ok(mut admitted) => {
                let company_id = admitted.company_id();
                record.set_company(company_id);
                admitted.identify(request.extensions_mut());
                let operation = match called {
                    Called::Operation(operation) => operation,
                    // Health and reflection, which nobody needs a token for.
                    Called::Standard(_) => {
                        let refusals = self.guard.0.shares.refusals.clone();
                        let call = self.inner.call(request.map(Body::new));
                        return Box::pin(admitted.run(record, async move {
                            if !called.is_health_check() {
                                refusals.hold_back().await;
                            }
                            call.await
                        }));
                    }
                    Called::Unknown => {
                        return Box::pin(admitted.run(record, ready(Answer::error(unknown_operation()))));
                    }
                };
                // The clone that is ready makes the call.
                let next = self.inner.clone();
                let ready = std::mem::replace(&mut self.inner, next);
                let call = self.guard.clone().receive_and_run(ready, request, operation, company_id);
                Box::pin(admitted.run(record, call))
            }
            Err(refused) => {
                let refusals = self.guard.0.shares.refusals.clone();
                Box::pin(async move {
                    refusals.hold_back().await;
                    let reason = refused.error.reason;
                    let mut response: Self::Response = denied::<Result<_, Infallible>>(refused, record)?;
                    protocol::complete_refusal(reason, &mut response);
                    Ok(response)
                })
            }
        }
    }
}
