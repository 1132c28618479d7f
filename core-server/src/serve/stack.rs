//! What every call passes before it is looked at, outermost first: panics, overload, deadline.

use std::{
    convert::Infallible,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use compliance_api::error::Error;
use futures::FutureExt as _;
use http::{HeaderMap, Request, Response};
use tokio::sync::Semaphore;
use tonic::{Status, body::Body};
use tower::{Layer, Service};
use tracing::Instrument as _;

use super::CoreService;

type Answer<E> = Pin<Box<dyn Future<Output = Result<Response<Body>, E>> + Send>>;

/// Declares a layer whose service turns one future of the inner service into another.
macro_rules! layer {
    ($(#[$doc:meta])* $layer:ident, $service:ident, $self:ident, $request:ident, $inner:ident => $call:block) => {
        impl<S: Clone> Layer<S> for $layer {
            type Service = $service<S>;

            fn layer(&self, inner: S) -> Self::Service {
                $service { layer: self.clone(), inner }
            }
        }

        $(#[$doc])*
        #[derive(Clone)]
        pub(super) struct $service<S> {
            layer: $layer,
            inner: S,
        }

        impl<S> Service<Request<Body>> for $service<S>
        where
            S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
            S::Future: Send + 'static,
            S::Error: Send + 'static,
        {
            type Response = Response<Body>;
            type Error = S::Error;
            type Future = Answer<S::Error>;

            fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
                self.inner.poll_ready(context)
            }

            fn call(&mut self, $request: Request<Body>) -> Self::Future {
                let ($self, $inner) = (&self.layer, &mut self.inner);
                $call
            }
        }
    };
}

/// What the log says of a call beside its own words: the operation, and the caller's name for the request.
fn span(request: &Request<Body>) -> tracing::Span {
    match request.headers().get("x-request-id").and_then(|id| id.to_str().ok()) {
        Some(id) if id.len() <= 128 => tracing::error_span!("call", operation = request.uri().path(), request_id = id),
        _ => tracing::Span::none(),
    }
}

/// A panic is one caller's server error, not the end of anything. The log names the call.
#[derive(Clone)]
pub(super) struct PanicLayer;

layer!(
    /// A service whose panics are answered.
    PanicLayer, PanicService, _layer, request, inner => {
        let span = span(&request);
        let call = AssertUnwindSafe(inner.call(request)).catch_unwind();
        let call = async move {
            call.await.unwrap_or_else(|_| {
                tracing::error!("a call panicked");
                Ok(Status::from(Error::internal()).into_http())
            })
        };
        Box::pin(call.instrument(span))
    }
);

/// So many calls at the same time, and no queue behind them.
#[derive(Clone)]
pub(super) struct OverloadLayer(Arc<Semaphore>);

impl OverloadLayer {
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))))
    }
}

layer!(
    /// A service that refuses what it cannot do at once.
    OverloadLayer, OverloadService, layer, request, inner => {
        let Ok(permit) = Arc::clone(&layer.0).try_acquire_owned() else {
            return Box::pin(async { Ok(Status::from(Error::overloaded()).into_http()) });
        };
        let call = inner.call(request);
        Box::pin(async move {
            let answer = call.await;
            drop(permit);
            answer
        })
    }
);

/// The deadline that the caller names, and never later than ours. A stream's body has a bound of its own.
#[derive(Clone)]
pub(super) struct DeadlineLayer(Duration);

impl DeadlineLayer {
    pub(super) fn new(most: Duration) -> Self {
        Self(most)
    }
}

layer!(
    /// A service that answers in time.
    DeadlineLayer, DeadlineService, layer, request, inner => {
        let limit = grpc_timeout(request.headers()).map_or(layer.0, |asked| asked.min(layer.0));
        let call = inner.call(request);
        Box::pin(async move {
            let answer = tokio::time::timeout(limit, call).await;
            answer.unwrap_or_else(|_| Ok(Status::from(Error::deadline_exceeded()).into_http()))
        })
    }
);

/// The `grpc-timeout` of a call: up to eight digits and a unit. Transports enforce it too; a call within the process
/// has no transport.
fn grpc_timeout(headers: &HeaderMap) -> Option<Duration> {
    parse_timeout(headers.get("grpc-timeout")?.to_str().ok()?)
}

/// The text of a `grpc-timeout`.
pub(crate) fn parse_timeout(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if number.is_empty() || number.len() > 8 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = number.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(number * 3600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

/// The service with its errors answered: routers take no others.
pub(super) fn infallible(
    service: CoreService,
) -> impl Service<Request<axum::body::Body>, Response = Response<Body>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ Sync
+ 'static {
    tower::service_fn(move |request: Request<axum::body::Body>| {
        let mut service = service.clone();
        async move {
            let answer = service.call(request.map(Body::new)).await;
            Ok(answer.unwrap_or_else(|error| {
                tracing::error!("a call failed outside its service: {error}");
                Status::from(Error::internal()).into_http()
            }))
        }
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    #[test]
    fn deadlines_are_read_as_grpc_writes_them() {
        let timeout = super::parse_timeout;
        assert_eq!(timeout("250m"), Some(Duration::from_millis(250)));
        assert_eq!(timeout("2S"), Some(Duration::from_secs(2)));
        for wrong in ["", "S", "5", "-1S", "123456789S", "5x", "5é"] {
            assert_eq!(timeout(wrong), None, "{wrong}");
        }
    }
}
