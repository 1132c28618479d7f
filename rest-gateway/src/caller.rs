//! The caller of a request, and the calls that the gateway makes to the core on its behalf.

use std::{
    error::Error as _,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use admission::{Reservation, ResponseMemory, WATCH_TIME, WorkPermit};
use axum::extract::FromRequestParts;
use compliance_api::{
    client::{BoxStream, Clients},
    error::Error,
    token::{TokenError, VerifiedToken},
    v1::CheckAccessRequest,
    wire::{Authorization, Operation},
};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use http::{Extensions, HeaderMap, HeaderValue, Method, header::AUTHORIZATION, request::Parts};
use telemetry::trace;
use tokio::time::Instant;
use tonic::{Request, Response, Status, metadata::MetadataMap};

use crate::{
    envelope::RateLimit,
    error::Refusal,
    gateway::Gateway,
    limits::CORE_DEADLINE_SLACK,
    request_record::{REQUEST_ID, RequestRecord},
    tags,
};

/// The bearer of a token that the gateway has accepted.
pub(crate) struct Caller {
    pub(crate) gateway: Arc<Gateway>,
    authorization: HeaderValue,
    token: VerifiedToken,
    /// The scope that the operation needs, if it needs one.
    scope: Option<&'static str>,
    request_id: Option<HeaderValue>,
    /// How long the core may take for a call.
    timeout: Duration,
}

/// What records hold of a core in this process.
pub(crate) struct HeldByCore {
    /// What they take, until they were sent.
    pub(crate) memory: Option<ResponseMemory>,
    /// The permit with which they were read, until they are written.
    pub(crate) permit: Option<Arc<WorkPermit>>,
}

/// A stream of which the first messages were read.
pub(crate) struct Opened<R> {
    pub(crate) first: Vec<R>,
    pub(crate) rest: BoxStream<R>,
    pub(crate) rate_limit: RateLimit,
    pub(crate) held: HeldByCore,
}

/// Tells operators why a token is refused.
fn report_refused(gateway: &Gateway, headers: &HeaderMap) {
    let header = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
    if let Some(why) = gateway.verifier.explain_some(header, unix_now()) {
        let request_id = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
        tracing::warn!(why, request_id, peer = http_server::peer().map(tracing::field::display), "a token was refused");
    }
}

impl Caller {
    /// Checks the token. This comes before any other look at the request.
    pub(crate) async fn of(gateway: &Arc<Gateway>, parts: &Parts) -> Result<Self, TokenError> {
        let headers = &parts.headers;
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let first = values.next();
        if values.next().is_some() {
            return Err(TokenError::Invalid);
        }
        let header = first.map(HeaderValue::as_bytes);
        let token = match gateway.verifier.authorize(header, unix_now()) {
            Err(TokenError::Invalid) if gateway.verifier.learn_key(header).await => {
                gateway.verifier.authorize(header, unix_now())
            }
            verified => verified,
        };
        let token = token.inspect_err(|_| report_refused(gateway, headers))?;
        gateway.callers.called(token.company_id);
        if let Some(record) = parts.extensions.get::<Arc<RequestRecord>>() {
            let _ = record.token.set(token.clone());
        }
        Ok(Self {
            gateway: Arc::clone(gateway),
            token,
            scope: scope_of(&parts.method, parts.uri.path()),
            authorization: first.cloned().ok_or(TokenError::Missing)?,
            request_id: headers.get(REQUEST_ID).cloned(),
            timeout: gateway.settings.request_timeout,
        })
    }

    pub(crate) fn company_id(&self) -> i64 {
        self.token.company_id
    }

    /// The caller of an operation that returns a stream, which may take longer as a whole; and until when.
    pub(crate) fn for_list(self) -> (Self, Instant) {
        let timeout = self.gateway.settings.list_timeout;
        (Self { timeout, ..self }, Instant::now() + timeout)
    }

    /// The caller of an operation that ends with its token; and when that is.
    pub(crate) fn for_watch(self) -> (Self, Instant) {
        let left = self.token.exp.saturating_sub(unix_now()).max(0) as u64;
        let timeout = Duration::from_secs(left).min(WATCH_TIME) + CORE_DEADLINE_SLACK;
        (Self { timeout, ..self }, Instant::now() + timeout)
    }

    /// Calls an operation of the core with the caller's token, the request's ID and a deadline.
    pub(crate) async fn call<'a, M, R, F>(
        &'a self,
        message: M,
        operation: impl FnOnce(&'a Clients, Request<M>) -> F,
    ) -> Result<(R, RateLimit, HeldByCore), Refusal>
    where
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let response = operation(&self.gateway.clients, self.request(message));
        let (metadata, message, mut extensions) = self.wait(response).await?.into_parts();
        let held = HeldByCore { memory: extensions.remove(), permit: extensions.remove() };
        Ok((message, metadata.into(), held))
    }

    /// Reads a stream up to its first messages, so that an error before them gets its own status. If the connection breaks
    /// before, the stream is read again, once: nothing of it was returned.
    pub(crate) async fn open<'a, M: Clone, R, F>(
        &'a self,
        message: M,
        messages: usize,
        operation: impl Fn(&'a Clients, Request<M>) -> F,
    ) -> Result<Opened<R>, Refusal>
    where
        F: Future<Output = Result<Response<BoxStream<R>>, Status>>,
    {
        let mut is_again = false;
        loop {
            let (mut rest, rate_limit, held) = self.call(message.clone(), &operation).await?;
            let first = rest.by_ref().take(messages).try_collect::<Vec<_>>();
            match self.wait(async { Ok(first.await) }).await {
                Ok(Ok(first)) => return Ok(Opened { first, rest, rate_limit, held }),
                Ok(Err(status)) if status.source().is_some() && !is_again => is_again = true,
                Ok(Err(status)) => return Err(Refusal { rate_limit, ..status.into() }),
                Err(refusal) => return Err(Refusal { rate_limit, ..refusal }),
            }
        }
    }

    /// Memory for the company, of which nothing is held yet.
    pub(crate) fn memory(&self) -> Reservation {
        self.gateway.memory.reservation(Some(self.company_id()))
    }

    /// Waits for a message of the core, at most as long as most calls may take as a whole.
    pub(crate) fn wait<T, F: Future<Output = Result<T, Status>>>(
        &self,
        response: F,
    ) -> impl Future<Output = Result<T, Refusal>> + use<T, F> {
        let longest = self.gateway.settings.request_timeout + CORE_DEADLINE_SLACK;
        tokio::time::timeout(longest, response).map(|result| match result {
            Ok(result) => Ok(result?),
            Err(_) => Err(Error::deadline_exceeded().into()),
        })
    }

    /// Whether the token has the scope that the operation needs, and the operation takes the conditions of the request.
    pub(crate) fn permits(&self, parts: &Parts) -> Result<(), Error> {
        match self.missing_scope() {
            Some(scope) => Err(Error::scope_missing(scope)),
            None => tags::refuse_others(parts),
        }
    }

    fn missing_scope(&self) -> Option<&'static str> {
        self.scope.filter(|scope| !self.token.has_scope(scope))
    }

    /// Returns what the gateway has read of a request. If that failed, the core does not see the request, so it is asked
    /// first whether it would have accepted the call: an exceeded rate limit and a missing scope come before any violation, and the
    /// request is counted.
    pub(crate) async fn accept<T>(&self, read: Result<T, Error>) -> Result<T, Refusal> {
        match read {
            Ok(read) => Ok(read),
            Err(error) => {
                let check = self.call(CheckAccessRequest {}, |core, request| core.access.check_access(request));
                let (_, rate_limit, _) = check.await?;
                Err(Refusal { error: self.missing_scope().map_or(error, Error::scope_missing), rate_limit })
            }
        }
    }

    fn request<M>(&self, message: M) -> Request<M> {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(AUTHORIZATION, self.authorization.clone());
        if let Some(id) = &self.request_id {
            headers.insert(REQUEST_ID, id.clone());
        }
        trace::inject(&mut headers);
        let mut extensions = Extensions::new();
        // For a core in this process.
        extensions.insert(self.token.clone());
        let mut request = Request::from_parts(MetadataMap::from_headers(headers), extensions, message);
        request.set_timeout(self.timeout);
        request
    }
}

/// The scope that the operation at a path needs.
fn scope_of(method: &Method, path: &str) -> Option<&'static str> {
    let operation = match path.strip_prefix("/api/")?.split('/').next()? {
        "webhooks" => Operation::CREATE_WEBHOOK,
        "audit" => Operation::SEARCH_CHANGES,
        "affiliates" if method == Method::DELETE => Operation::ERASE_AFFILIATE,
        "cases" if method != Method::GET => Operation::UPDATE_CASE,
        "urls" if method == Method::PATCH => Operation::REVIEW_URL,
        _ => return None,
    };
    match operation.authorization {
        // Behind the scope of internal services is that of partners.
        Authorization::Scope(scopes) => scopes.last().copied(),
        Authorization::Open | Authorization::Token => None,
    }
}

fn unix_now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

impl FromRequestParts<Arc<Gateway>> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, gateway: &Arc<Gateway>) -> Result<Self, Refusal> {
        let caller = Self::of(gateway, parts).await.map_err(Error::from)?;
        caller.accept(caller.permits(parts)).await?;
        Ok(caller)
    }
}
