//! Who calls, and the way of a call to the core: bearer, request ID and deadline go with it.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::extract::FromRequestParts;
use compliance_api::{error::Error, token::TokenError, v1::CheckAccessRequest};
use http::{Extensions, HeaderMap, HeaderValue, header::AUTHORIZATION, request::Parts};
use tonic::{Request, Response, Status, metadata::MetadataMap};

use crate::{error::Refusal, gateway::Gateway, observe::REQUEST_ID, rate_limit::RateLimit};

/// How much longer than the core itself the gateway waits, so that the core's own word on a deadline arrives first.
/// A call in process has no other bound.
const SLACK: Duration = Duration::from_millis(500);

/// The bearer of a token that was accepted.
pub(crate) struct Caller {
    authorization: HeaderValue,
    request_id: Option<HeaderValue>,
    timeout: Duration,
}

impl Caller {
    /// Checks the token, before anything else of the request is looked at.
    pub(crate) fn new(gateway: &Gateway, headers: &HeaderMap) -> Result<Self, TokenError> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let first = values.next();
        if values.next().is_some() {
            return Err(TokenError::Invalid);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        gateway.verifier.authorize(first.map(HeaderValue::as_bytes), now)?;
        Ok(Self {
            authorization: first.cloned().ok_or(TokenError::Missing)?,
            request_id: headers.get(REQUEST_ID).cloned(),
            timeout: gateway.settings.request_timeout,
        })
    }

    /// A request to the core.
    pub(crate) fn request<M>(&self, message: M) -> Request<M> {
        self.request_within(self.timeout, message)
    }

    /// A request to the core with a time of its own.
    pub(crate) fn request_within<M>(&self, timeout: Duration, message: M) -> Request<M> {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(AUTHORIZATION, self.authorization.clone());
        if let Some(id) = &self.request_id {
            headers.insert(REQUEST_ID, id.clone());
        }
        let mut request = Request::from_parts(MetadataMap::from_headers(headers), Extensions::new(), message);
        request.set_timeout(timeout);
        request
    }

    /// Waits for the core, but not for ever.
    pub(crate) async fn call<M>(
        &self,
        call: impl Future<Output = Result<Response<M>, Status>>,
    ) -> Result<(M, RateLimit), Refusal> {
        let (metadata, message, _) = self.wait(call).await?.into_parts();
        Ok((message, metadata.into()))
    }

    /// Waits for anything of the core's, but not for ever.
    pub(crate) async fn wait<T>(&self, call: impl Future<Output = Result<T, Status>>) -> Result<T, Refusal> {
        match tokio::time::timeout(self.timeout + SLACK, call).await {
            Ok(answered) => Ok(answered?),
            Err(_) => Err(Error::deadline_exceeded().into()),
        }
    }

    /// Refuses a request that the core never sees. The core is asked first whether it would have been let in at all,
    /// so that a limit that is exceeded comes before any fault, and is counted.
    pub(crate) async fn refuse(&self, gateway: &Gateway, error: Error) -> Refusal {
        let access = &gateway.clients.access;
        match self.call(access.check_access(self.request(CheckAccessRequest {}))).await {
            Ok((_, rate_limit)) => Refusal { error, rate_limit },
            Err(refusal) => refusal,
        }
    }
}

impl FromRequestParts<Arc<Gateway>> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, gateway: &Arc<Gateway>) -> Result<Self, Refusal> {
        Self::new(gateway, &parts.headers).map_err(|error| Error::from(error).into())
    }
}
