//! Authenticates callers, and calls the core on their behalf.

use std::{
    error::Error as _,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use admission::{GuardedBody, Reservation, ResponseMemory, SMALL, WATCH_TIME, compute};
use axum::{
    body::{Body, HttpBody as _},
    extract::FromRequestParts,
    response::Response as HttpResponse,
};
use compliance_api::{
    client::{BoxStream, Clients},
    error::{Error, Reason},
    rules::Violations,
    token::{TokenError, VerifiedToken},
    v1::CheckAccessRequest,
};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use http::{
    Extensions, HeaderMap, HeaderValue, StatusCode,
    header::{AUTHORIZATION, IF_MATCH, IF_NONE_MATCH, IF_UNMODIFIED_SINCE},
    request::Parts,
};
use serde::Serialize;
use telemetry::trace;
use tokio::time::{Instant, timeout};
use tonic::{Request, Response, Status, metadata::MetadataMap};

use crate::{
    envelope::{Envelope, Rejection, respond},
    extract::request::Checked,
    gateway::Gateway,
    limits::CORE_DEADLINE_SLACK,
    observe::{REQUEST_ID, RequestRecord},
};

/// A caller whose token the gateway has accepted.
pub(crate) struct Caller {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) record: Arc<RequestRecord>,
    authorization: HeaderValue,
    token: VerifiedToken,
    /// Maximum duration of a call to the core.
    timeout: Duration,
}

/// The core's response to a call.
pub(crate) struct CoreResponse<R> {
    pub(crate) message: R,
    /// Memory that an in-process core's records occupy until they are sent.
    pub(crate) memory: Option<ResponseMemory>,
}

impl<R> CoreResponse<R> {
    /// Responds with part of the message.
    pub(crate) fn found<T: Serialize + Sync>(
        self,
        caller: &Caller,
        msg: &str,
        data: fn(&R) -> &T,
    ) -> Result<HttpResponse, Rejection> {
        self.respond(caller, 0, |message| respond(StatusCode::OK, &Envelope::found(msg, data(message), None)))
    }

    /// Builds a response with records of at least `bytes` bytes.
    ///
    /// A large response is serialized on a separate thread. The response holds its memory reservation until it is sent, even if the
    /// client is slow.
    pub(crate) fn respond(
        self,
        caller: &Caller,
        bytes: usize,
        make: impl FnOnce(&R) -> HttpResponse,
    ) -> Result<HttpResponse, Rejection> {
        let Self { message, memory } = self;
        let of_core = memory.as_ref().map_or(0, |memory| memory.bytes());
        let response = compute(of_core.max(bytes), || make(&message));
        let size = response.body().size_hint().lower() as usize;
        if of_core.max(bytes).max(size) <= SMALL {
            return Ok(response);
        }
        let mut own = caller.memory();
        own.grow(size.saturating_sub(of_core)).map_err(Error::from)?;
        Ok(response.map(|body| Body::new(GuardedBody::new(body, false, (memory, own)))))
    }
}

/// A stream whose first messages have been read.
pub(crate) struct Opened<R> {
    pub(crate) first: Vec<R>,
    pub(crate) rest: BoxStream<R>,
    pub(crate) memory: Option<ResponseMemory>,
}

/// Logs why a token is rejected.
fn report_refused(gateway: &Gateway, headers: &HeaderMap) {
    let header = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
    if let Some(why) = gateway.verifier.explain_some(header, unix_now()) {
        let request_id = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
        tracing::warn!(why, request_id, peer = http_server::peer().map(tracing::field::display), "a token was refused");
    }
}

impl Caller {
    /// Verifies the token before anything else in the request.
    pub(crate) async fn of(gateway: &Arc<Gateway>, parts: &Parts) -> Result<Self, Error> {
        let headers = &parts.headers;
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let first = values.next();
        if values.next().is_some() {
            return Err(TokenError::Invalid.into());
        }
        let header = first.map(HeaderValue::as_bytes);
        let token = match gateway.verifier.authorize(header, unix_now()) {
            Err(TokenError::Invalid) if gateway.verifier.learn_key(header).await => {
                gateway.verifier.authorize(header, unix_now())
            }
            verified => verified,
        };
        let token = token.inspect_err(|_| report_refused(gateway, headers))?;
        // The `observe` layer added the record.
        let record = parts.extensions.get::<Arc<RequestRecord>>().cloned().ok_or_else(Error::internal)?;
        let _ = record.token.set(token.clone());
        let authorization = first.cloned().ok_or(TokenError::Missing)?;
        let timeout = gateway.settings.request_timeout;
        Ok(Self { gateway: Arc::clone(gateway), record, authorization, token, timeout })
    }

    pub(crate) fn company_id(&self) -> i64 {
        self.token.company_id
    }

    /// Returns the caller with the timeout for a streamed list, and the list's deadline.
    pub(crate) fn for_list(self) -> (Self, Instant) {
        let timeout = self.gateway.settings.list_timeout;
        (Self { timeout, ..self }, Instant::now() + timeout)
    }

    /// Returns the caller with the timeout for a watch, and the watch's deadline: when the token expires, or earlier.
    pub(crate) fn for_watch(self) -> (Self, Instant) {
        let left = self.token.exp.saturating_sub(unix_now()).max(0) as u64;
        let timeout = Duration::from_secs(left).min(WATCH_TIME) + CORE_DEADLINE_SLACK;
        (Self { timeout, ..self }, Instant::now() + timeout)
    }

    /// Calls a core operation with the caller's token, the request ID and a deadline.
    pub(crate) async fn call<'a, M, R, F>(
        &'a self,
        message: M,
        operation: impl FnOnce(&'a Clients, Request<M>) -> F,
    ) -> Result<CoreResponse<R>, Rejection>
    where
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let called = self.wait(operation(&self.gateway.clients, self.request(message))).await;
        self.record.set_rate_limit(match &called {
            Ok(Ok(response)) => Some(response.metadata()),
            Ok(Err(status)) => Some(status.metadata()),
            Err(_) => None,
        });
        let (_, message, mut extensions) = called??.into_parts();
        Ok(CoreResponse { message, memory: extensions.remove() })
    }

    /// Calls a core operation. If the request is invalid, returns the violations of the gateway and the core together.
    pub(crate) async fn call_checked<'a, M, R, F>(
        &'a self,
        Checked { message, mut violations, mark }: Checked<M>,
        operation: impl FnOnce(&'a Clients, Request<M>) -> F,
    ) -> Result<CoreResponse<R>, Rejection>
    where
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let called = self.call(message, operation).await;
        match called {
            Err(Rejection(mut error)) if error.reason == Reason::InvalidFields && !violations.is_empty() => {
                error.violations.forget(mark);
                violations.merge(error.violations);
                Err(Error::invalid(violations).into())
            }
            called => called,
        }
    }

    /// Reads the first messages of a stream, so an early error can still set the response status.
    ///
    /// If the connection breaks before these messages arrive, retries once.
    pub(crate) async fn open<'a, M: Clone, R, F>(
        &'a self,
        message: M,
        messages: usize,
        operation: impl Fn(&'a Clients, Request<M>) -> F,
    ) -> Result<Opened<R>, Rejection>
    where
        F: Future<Output = Result<Response<BoxStream<R>>, Status>>,
    {
        let mut is_again = false;
        loop {
            let CoreResponse { message: mut rest, memory } = self.call(message.clone(), &operation).await?;
            match self.wait(rest.by_ref().take(messages).try_collect()).await? {
                Ok(first) => return Ok(Opened { first, rest, memory }),
                Err(status) if status.source().is_some() && !is_again => is_again = true,
                Err(status) => return Err(status.into()),
            }
        }
    }

    /// Returns an empty memory reservation for the company.
    pub(crate) fn memory(&self) -> Reservation {
        self.gateway.memory.reservation(Some(self.company_id()))
    }

    /// Waits for the core, with the timeout for an ordinary call.
    fn wait<F: Future>(&self, response: F) -> impl Future<Output = Result<F::Output, Error>> + use<F> {
        let longest = self.gateway.settings.request_timeout + CORE_DEADLINE_SLACK;
        timeout(longest, response).map(|result| result.map_err(|_| Error::deadline_exceeded()))
    }

    /// Checks the token's scope, and whether the operation supports the request's conditional headers.
    pub(crate) fn permits(&self, parts: &Parts) -> Result<(), Error> {
        match self.missing_scope() {
            Some(scope) => Err(Error::scope_missing(scope)),
            None => refuse_unsupported(parts, self.record.route.is_some_and(|route| route.supports_if_match)),
        }
    }

    fn missing_scope(&self) -> Option<&'static str> {
        let scopes = self.record.route?.scopes();
        let first = scopes.first()?;
        (!scopes.iter().any(|scope| self.token.has_scope(scope))).then_some(first)
    }

    /// Returns the value read from the request. If reading failed, first asks the core whether it accepts the call.
    ///
    /// The core counts the request. An exceeded rate limit and a missing scope take precedence over violations.
    pub(crate) async fn accept<T>(&self, read: Result<T, Error>) -> Result<T, Rejection> {
        match read {
            Ok(read) => Ok(read),
            Err(error) => Err(self.refuse(error).await),
        }
    }

    /// Returns the rejection for `error`, unless the core itself rejects the call.
    pub(crate) async fn refuse(&self, error: Error) -> Rejection {
        match self.check_access().await {
            Ok(()) => self.missing_scope().map_or(error, Error::scope_missing).into(),
            Err(rejection) => rejection,
        }
    }

    /// Asks the core whether it accepts the call. The core counts the request.
    pub(crate) async fn check_access(&self) -> Result<(), Rejection> {
        let call = self.call(CheckAccessRequest {}, |core, request| core.access.check_access(request));
        call.await.map(drop)
    }

    fn request<M>(&self, message: M) -> Request<M> {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(AUTHORIZATION, self.authorization.clone());
        headers.insert(REQUEST_ID, self.record.request_id.clone());
        trace::inject(&mut headers);
        let mut extensions = Extensions::new();
        // An in-process core reads the verified token from here.
        extensions.insert(self.token.clone());
        let mut request = Request::from_parts(MetadataMap::from_headers(headers), extensions, message);
        request.set_timeout(self.timeout);
        request
    }
}

/// Rejects unsupported conditional headers on a write, because a client that sends one relies on it.
fn refuse_unsupported(parts: &Parts, supports_if_match: bool) -> Result<(), Error> {
    if parts.method.is_safe() {
        return Ok(());
    }
    let mut violations = Violations::new();
    for (header, name) in
        [(IF_MATCH, "If-Match"), (IF_NONE_MATCH, "If-None-Match"), (IF_UNMODIFIED_SINCE, "If-Unmodified-Since")]
    {
        if parts.headers.contains_key(&header) && !(supports_if_match && header == IF_MATCH) {
            violations.report(name, |label| format!("This operation does not support the {label} header."));
        }
    }
    if violations.is_empty() { Ok(()) } else { Err(Error::invalid(violations)) }
}

fn unix_now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

impl FromRequestParts<Arc<Gateway>> for Caller {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, gateway: &Arc<Gateway>) -> Result<Self, Rejection> {
        let caller = Self::of(gateway, parts).await?;
        caller.accept(caller.permits(parts)).await?;
        Ok(caller)
    }
}
