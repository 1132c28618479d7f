//! The steps that every call passes before its service, in a fixed order. A call arrives over the [network](super::network), from an
//! in-process gateway ([`Middleware`]), or in a [batch of reads](super::batch_read):
//!
//! 1. *record*: records the call until the last byte of the response. Comes first, to include refused calls.
//! 2. *head*: rejects anything but gRPC calls. The rejection reveals nothing about operations, callers or records.
//! 3. *permit*: limits the calls in flight. An overloaded process verifies no signatures.
//! 4. *access*: checks token, rate limit and scope. All later steps count by company.
//! 5. *quota*: limits the company's calls in flight, before the call reserves memory or waits.
//! 6. *deadline*: bounds all later steps, because they can wait. Also catches their panics.
//! 7. *message*: receives and measures the message, only for admitted callers. Its size determines the next step.
//! 8. *work*: waits for a permit for the company's work. Comes last, because work with a permit must never wait for a client.
//!
//! [`Pipeline::check`] performs steps 1 to 5, and [`Pipeline::serve`] the rest. A read in a batch passes only steps 1 to 5: its batch has a
//! deadline and a message, and coalesced reads need no permit.

use std::{future::ready, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use admission::{WorkPermit, run_off_thread};
use compliance_api::{
    client::Middleware,
    error::Error,
    token::VerifiedToken,
    wire::{Authorization, Items},
};
use futures::FutureExt as _;
use http::{Extensions, HeaderMap, HeaderValue, header::AUTHORIZATION};
use telemetry::error_limited;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tonic::{Code, Request, Response, Status};
use tracing::{Instrument as _, Span};

use super::{
    call::{Arrival, CallRecord, Called, Origin, log_span},
    protocol,
};
use crate::{
    CoreSettings,
    access::AccessPolicy,
    quotas::{DatabaseWork, Quotas},
};
use storage::{deadline, statement_context::milliseconds};

/// Admits or refuses calls. Clones share one set of limits.
#[derive(Clone)]
pub(crate) struct Pipeline(Arc<SharedPipeline>);

/// Maximum sizes of a message, in bytes.
#[derive(Clone, Copy)]
pub(super) struct MessageLimits {
    pub(super) encoded: usize,
    pub(super) decoded: usize,
}

struct SharedPipeline {
    access: Arc<AccessPolicy>,
    in_flight: Arc<Semaphore>,
    quotas: Quotas,
    message: MessageLimits,
    call_timeout: Duration,
}

/// A call that has passed the checks. The call is in flight until it is dropped.
pub(super) struct Call {
    pub(super) record: CallRecord,
    timeout: Duration,
    log_span: Span,
    permits: Permits,
}

/// The permit of a call in flight (except for health checks), and the count of its company's calls in flight.
type Permits = (Option<OwnedSemaphorePermit>, Option<WorkPermit>);

/// A call that has failed the checks.
pub(super) struct RefusedCall {
    pub(super) error: Error,
    pub(super) record: CallRecord,
}

pub(super) struct MeasuredMessage<M> {
    pub(super) content: M,
    /// The number of items that the message writes.
    pub(super) written: usize,
    pub(super) work: DatabaseWork,
    /// Whether receiving or serving the message can keep a processor busy for a long time.
    pub(super) is_long: bool,
}

impl Pipeline {
    pub(crate) fn new(access: AccessPolicy, quotas: Quotas, settings: &CoreSettings) -> Self {
        let in_flight = Arc::new(Semaphore::new(settings.max_in_flight.min(Semaphore::MAX_PERMITS)));
        let message = MessageLimits { encoded: settings.message_limit, decoded: settings.message_memory };
        let access = Arc::new(access);
        Self(Arc::new(SharedPipeline { access, in_flight, quotas, message, call_timeout: settings.call_timeout }))
    }

    pub(super) fn access(&self) -> &Arc<AccessPolicy> {
        &self.0.access
    }

    pub(super) fn quotas(&self) -> &Quotas {
        &self.0.quotas
    }

    pub(super) fn message_limits(&self) -> MessageLimits {
        self.0.message
    }

    /// Waits for the key of a call's token, if the key is unknown.
    ///
    /// The wait is long and has its own bound, so it ends before the call counts as in flight. An overloaded process skips the wait,
    /// because it verifies no signatures.
    pub(super) async fn learn_key(&self, called: Called, headers: &HeaderMap) {
        let mut presented = headers.get_all(AUTHORIZATION).iter().map(HeaderValue::as_bytes);
        if let (Some(token), None) = (presented.next(), presented.next())
            && called.authorization() != Authorization::Open
            && self.0.in_flight.available_permits() > 0
        {
            self.0.access.learn_key(token).await;
        }
    }

    /// Performs the steps up to *quota*.
    pub(super) fn check(&self, mut arrival: Arrival<'_>) -> Result<Call, RefusedCall> {
        let mut record = CallRecord::new(&arrival, &self.0.quotas.usage);
        match self.admit(&mut arrival, &mut record) {
            Ok(permits) => {
                let timeout = deadline::timeout(arrival.headers, self.0.call_timeout);
                Ok(Call { record, timeout, log_span: log_span(&arrival), permits })
            }
            Err(error) => {
                record.refuse(&error);
                Err(RefusedCall { error, record })
            }
        }
    }

    /// Performs the checks in order: *head*, *permit*, *access*, *quota*.
    fn admit(&self, arrival: &mut Arrival<'_>, record: &mut CallRecord) -> Result<Permits, Error> {
        let SharedPipeline { access, in_flight, quotas, .. } = &*self.0;
        let called = arrival.called;
        if let Origin::Network(method) = arrival.origin {
            protocol::check_head(method, arrival.headers)?;
        }
        // Calls do not queue, so callers try another instance instead of waiting. An overloaded service still reports its health.
        let permit = (!called.is_health_check()).then(|| Arc::clone(in_flight).try_acquire_owned());
        let permit = permit.transpose().map_err(|_| Error::overloaded())?;
        access.check(called.authorization(), arrival.headers, arrival.verified.take(), &mut record.caller)?;
        let count = match record.company_id() {
            Some(company_id) if called.is_watch() => Some(quotas.open_watch(company_id)?),
            Some(company_id) => Some(quotas.call(company_id)?),
            None => None,
        };
        Ok((permit, count))
    }

    /// Performs the remaining steps: receives the message, waits for a permit, and runs the service.
    pub(super) async fn serve<M, R: CallResponse, F: Future<Output = R>>(
        &self,
        call: Call,
        message: impl Future<Output = Result<MeasuredMessage<M>, Status>>,
        service: impl FnOnce(M) -> F,
    ) -> R {
        let Call { mut record, timeout, log_span, permits } = call;
        let (company_id, quotas) = (record.company_id(), &self.0.quotas);
        let mut items = 0;
        let serving = async {
            let MeasuredMessage { content, written, work, is_long } = message.await?;
            items = written;
            let _permit = match company_id {
                Some(company_id) => {
                    let start = Instant::now();
                    let permit = quotas.enter(company_id, work).await?;
                    record.span.set("compliance.queue_wait_ms", milliseconds(start.elapsed()));
                    permit
                }
                // A batch of reads, or a call to a standard service.
                None => None,
            };
            Ok::<_, Status>(run_off_thread(service(content), is_long).await)
        };
        let serving = record.statement_context().run(record.span.run(serving));
        let serving = deadline::until(Instant::now() + timeout, serving);
        let serving = AssertUnwindSafe(serving).catch_unwind().instrument(log_span.clone());
        let response = match serving.await {
            Ok(Ok(Ok(response))) => response,
            Ok(Ok(Err(status))) => R::rejection(status),
            Ok(Err(_)) => R::rejection(Error::deadline_exceeded().into()),
            Err(_) => {
                log_span.in_scope(|| error_limited!("a call panicked"));
                R::rejection(Error::internal().into())
            }
        };
        record.written = items;
        drop(permits);
        response.finish(record)
    }
}

/// Handles calls from an in-process gateway.
impl Middleware for Pipeline {
    async fn call<M, R, F>(
        &self,
        path: &'static str,
        mut request: Request<M>,
        service: impl FnOnce(Request<M>) -> F + Send,
    ) -> Result<Response<R>, Status>
    where
        M: Items + Send,
        R: Send,
        F: Future<Output = Result<Response<R>, Status>> + Send,
    {
        let called = Called::at(path);
        // The gateway has already verified the token.
        let verified = request.extensions_mut().remove::<VerifiedToken>().map(Ok);
        let headers = request.metadata().as_ref();
        let call = match self.check(Arrival { called, headers, origin: Origin::Gateway, verified }) {
            Ok(call) => call,
            Err(refused) => return refused.respond(),
        };
        call.identify(request.extensions_mut());
        let items = request.get_ref().items();
        let (work, written) = (called.work(items), called.written(items));
        let message = ready(Ok(MeasuredMessage { content: request, written, work, is_long: work.is_long() }));
        self.serve(call, message, service).await
    }
}

impl Call {
    /// Passes the token to the service.
    pub(super) fn identify(&self, extensions: &mut Extensions) {
        if let Some(token) = &self.record.caller.token {
            extensions.insert(token.clone());
        }
    }
}

impl RefusedCall {
    pub(super) fn respond<R: CallResponse>(self) -> R {
        R::rejection(self.error.into()).finish(self.record)
    }
}

pub(super) trait CallResponse: Sized {
    fn rejection(status: Status) -> Self;
    fn headers_mut(&mut self) -> &mut HeaderMap;
    /// Records the call until the end of its response.
    fn record(self, record: CallRecord) -> Self;

    fn finish(mut self, record: CallRecord) -> Self {
        if let Some(rate_limit) = &record.caller.rate_limit {
            rate_limit.write(self.headers_mut());
        }
        self.record(record)
    }
}

impl<R> CallResponse for Result<Response<R>, Status> {
    fn rejection(status: Status) -> Self {
        Err(status)
    }

    fn headers_mut(&mut self) -> &mut HeaderMap {
        match self {
            Ok(response) => response.metadata_mut().as_mut(),
            Err(status) => status.metadata_mut().as_mut(),
        }
    }

    /// Ends a stream's record when the stream begins. The in-process gateway records the rest.
    fn record(self, mut record: CallRecord) -> Self {
        record.code = self.as_ref().map_or_else(Status::code, |_| Code::Ok);
        self
    }
}

#[cfg(test)]
mod tests;
