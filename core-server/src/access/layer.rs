//! The layer that lets a call through, or not.

use std::{
    num::NonZeroU32,
    sync::Arc,
    task::{Context, Poll},
    time::{SystemTime, UNIX_EPOCH},
};

use compliance_api::{
    error::{Error, REQUEST_COUNT, Reason},
    token::{Claims, SCOPE_MONITOR, TokenError, Verifier},
};
use futures::future::{Either, Ready, ready};
use http::{HeaderMap, Request, Response, header::AUTHORIZATION};
use tonic::{Status, body::Body};
use tower::{Layer, Service};

use super::limit::{Limiter, Standing};

/// Services that everybody may ask: they know nothing of any company.
const OPEN: &[&str] =
    &["/grpc.health.v1.Health/", "/grpc.reflection.v1.ServerReflection/", "/grpc.reflection.v1alpha.ServerReflection/"];
/// Services that need a scope.
const SCOPED: &[(&str, &str)] = &[("/compliance.v1.MonitoringService/", SCOPE_MONITOR)];

/// Who calls: what a verified token says.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The company whose records the call is about, and no others.
    pub company_id: i64,
    /// Everything the token says.
    pub claims: Arc<Claims>,
}

impl Caller {
    /// The caller of a request that came through the layer.
    pub fn of<T>(request: &tonic::Request<T>) -> Result<&Self, Status> {
        // A service that is reached without the layer is a fault of ours, and must not answer.
        request.extensions().get().ok_or_else(|| Error::internal().into())
    }
}

/// Checks token, scope and limit of every call, in this order.
#[derive(Clone)]
pub struct AccessLayer {
    verifier: Arc<Verifier>,
    limiter: Option<Arc<Limiter>>,
}

impl AccessLayer {
    pub(crate) fn new(verifier: Arc<Verifier>, limiter: Option<Arc<Limiter>>) -> Self {
        Self { verifier, limiter }
    }

    fn admit(&self, path: &str, headers: &HeaderMap) -> Result<(Caller, Option<Standing>), (Error, Option<Standing>)> {
        let mut presented = headers.get_all(AUTHORIZATION).iter();
        let claims = match (presented.next(), presented.next()) {
            // Of two tokens nobody can tell which counts.
            (Some(_), Some(_)) => Err(TokenError::Invalid),
            (header, _) => self.verifier.authorize(header.map(http::HeaderValue::as_bytes), now()),
        };
        let claims = claims.map_err(|error| (error.into(), None))?;
        let company_id = claims.company_id;
        let standing = match &self.limiter {
            Some(limiter) => Some(
                limiter.count(company_id, requests(headers)).map_err(|(standing, error)| (error, Some(standing)))?,
            ),
            None => None,
        };
        let missing = SCOPED.iter().find(|(service, scope)| path.starts_with(service) && !claims.has_scope(scope));
        if let Some((_, scope)) = missing {
            let error =
                Error::new(Reason::ScopeMissing, format!("The operation needs a token with the scope {scope}."));
            return Err((error.with("scope", scope), standing));
        }
        Ok((Caller { company_id, claims }, standing))
    }
}

impl std::fmt::Debug for AccessLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AccessLayer").finish_non_exhaustive()
    }
}

/// How many requests a call stands for: one, unless it says more. It cannot say less.
fn requests(headers: &HeaderMap) -> NonZeroU32 {
    let count = headers.get(REQUEST_COUNT).and_then(|count| count.to_str().ok()?.parse().ok());
    count.filter(|count: &NonZeroU32| count.get() <= 1000).unwrap_or(NonZeroU32::MIN)
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

impl<S> Layer<S> for AccessLayer {
    type Service = AccessService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        AccessService { layer: self.clone(), inner }
    }
}

/// A service behind an [`AccessLayer`].
#[derive(Clone, Debug)]
pub struct AccessService<S> {
    layer: AccessLayer,
    inner: S,
}

impl<S> Service<Request<Body>> for AccessService<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<WithStanding<S::Future>, Ready<Result<Response<Body>, S::Error>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let path = request.uri().path();
        if OPEN.iter().any(|service| path.starts_with(service)) {
            return Either::Left(WithStanding { inner: Box::pin(self.inner.call(request)), standing: None });
        }
        match self.layer.admit(path, request.headers()) {
            Ok((caller, standing)) => {
                request.extensions_mut().insert(caller);
                Either::Left(WithStanding { inner: Box::pin(self.inner.call(request)), standing })
            }
            Err((error, standing)) => {
                let mut response: Response<Body> = Status::from(error).into_http();
                if let Some(standing) = standing {
                    standing.write(response.headers_mut());
                }
                Either::Right(ready(Ok(response)))
            }
        }
    }
}

/// An answer that will tell what the caller has left.
pub struct WithStanding<F> {
    inner: std::pin::Pin<Box<F>>,
    standing: Option<Standing>,
}

impl<F: Future<Output = Result<Response<Body>, E>>, E> Future for WithStanding<F> {
    type Output = F::Output;

    fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = std::task::ready!(self.inner.as_mut().poll(context));
        Poll::Ready(answer.map(|mut response| {
            if let Some(standing) = self.standing {
                standing.write(response.headers_mut());
            }
            response
        }))
    }
}
