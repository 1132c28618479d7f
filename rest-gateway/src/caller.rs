//! The caller of a request, and the calls that the gateway makes to the core on its behalf.

use std::{
    error::Error as _,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use admission::{Reservation, ResponseMemory};
use axum::extract::FromRequestParts;
use compliance_api::{
    client::{BoxStream, Clients},
    error::Error,
    token::{TokenError, VerifiedToken},
    v1::CheckAccessRequest,
};
use futures::{StreamExt as _, TryStreamExt as _};
use http::{Extensions, HeaderMap, HeaderValue, header::AUTHORIZATION, request::Parts};
use telemetry::trace;
use tonic::{Request, Response, Status, metadata::MetadataMap};

use crate::{error::Refusal, exchange::Exchange, gateway::Gateway, observe::REQUEST_ID, rate_limit::RateLimit};

/// How much longer than the core itself the gateway waits, so that the core's own error on a deadline arrives first.
const SLACK: Duration = Duration::from_millis(500);

/// The bearer of a token that the gateway has accepted.
pub(crate) struct Caller {
    gateway: Arc<Gateway>,
    authorization: HeaderValue,
    token: VerifiedToken,
    request_id: Option<HeaderValue>,
    /// How long the core may take for a call.
    timeout: Duration,
}

/// A stream of which the first messages were read.
pub(crate) struct Opened<R> {
    pub(crate) first: Vec<R>,
    pub(crate) rest: BoxStream<R>,
    pub(crate) rate_limit: RateLimit,
    pub(crate) memory: Option<ResponseMemory>,
}

impl Caller {
    /// Checks the token. This comes before any other look at the request.
    pub(crate) fn of(gateway: &Arc<Gateway>, parts: &Parts) -> Result<Self, TokenError> {
        let headers = &parts.headers;
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let first = values.next();
        if values.next().is_some() {
            return Err(TokenError::Invalid);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        let token = gateway.verifier.authorize(first.map(HeaderValue::as_bytes), now)?;
        gateway.callers.called(token.company_id);
        if let Some(exchange) = parts.extensions.get::<Arc<Exchange>>() {
            exchange.set_company(token.company_id);
        }
        Ok(Self {
            gateway: Arc::clone(gateway),
            token,
            authorization: first.cloned().ok_or(TokenError::Missing)?,
            request_id: headers.get(REQUEST_ID).cloned(),
            timeout: gateway.settings.request_timeout,
        })
    }

    /// The company of the token.
    pub(crate) fn company_id(&self) -> i64 {
        self.token.company_id
    }

    /// Sets how long a call may take as a whole, for an operation that returns a stream.
    pub(crate) fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Calls an operation of the core with the caller's token, the request's ID and a deadline.
    pub(crate) async fn call<'a, M, R, F>(
        &'a self,
        message: M,
        operation: impl FnOnce(&'a Clients, Request<M>) -> F,
    ) -> Result<(R, RateLimit), Refusal>
    where
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let (message, rate_limit, _) = self.read(message, operation).await?;
        Ok((message, rate_limit))
    }

    /// The same for records. A core in this process has reserved what large ones take until they were sent.
    pub(crate) async fn read<'a, M, R, F>(
        &'a self,
        message: M,
        operation: impl FnOnce(&'a Clients, Request<M>) -> F,
    ) -> Result<(R, RateLimit, Option<ResponseMemory>), Refusal>
    where
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let response = operation(&self.gateway.clients, self.request(message));
        let (metadata, message, mut extensions) = self.wait(response).await?.into_parts();
        Ok((message, metadata.into(), extensions.remove()))
    }

    /// Reads a stream up to its first messages, so that an error before them gets its own status. If the connection to the core
    /// breaks before, the stream is read again, once: nothing of it was returned.
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
            let (mut rest, rate_limit, memory) = self.read(message.clone(), &operation).await?;
            let first = rest.by_ref().take(messages).try_collect::<Vec<_>>();
            match self.wait(async { Ok(first.await) }).await {
                Ok(Ok(first)) => return Ok(Opened { first, rest, rate_limit, memory }),
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
    pub(crate) async fn wait<T>(&self, response: impl Future<Output = Result<T, Status>>) -> Result<T, Refusal> {
        match tokio::time::timeout(self.gateway.settings.request_timeout + SLACK, response).await {
            Ok(result) => Ok(result?),
            Err(_) => Err(Error::deadline_exceeded().into()),
        }
    }

    /// Returns what the gateway has read of a request. If that failed, the core does not see the request, so it is asked
    /// first whether it would have accepted the call: an exceeded rate limit comes before any violation, and is counted.
    pub(crate) async fn accept<T>(&self, read: Result<T, Error>) -> Result<T, Refusal> {
        match read {
            Ok(read) => Ok(read),
            Err(error) => {
                let check = self.call(CheckAccessRequest {}, |core, request| core.access.check_access(request));
                let (_, rate_limit) = check.await?;
                Err(Refusal { error, rate_limit })
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

impl FromRequestParts<Arc<Gateway>> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, gateway: &Arc<Gateway>) -> Result<Self, Refusal> {
        Self::of(gateway, parts).map_err(|error| Error::from(error).into())
    }
}
