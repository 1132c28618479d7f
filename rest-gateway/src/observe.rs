//! Layers around every request: its ID, what is recorded of it, a look at its head, and a response when a handler panics.

use std::{
    any::Any,
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use admission::Refusals;
use axum::{
    Router,
    extract::Request,
    middleware::{Next, from_fn},
    response::{IntoResponse as _, Response},
};
use compliance_api::error::{Error, Reason};
use http::{
    HeaderName, HeaderValue, StatusCode, Version,
    header::{CONNECTION, EXPECT, HOST, TRANSFER_ENCODING},
};
use tower::ServiceBuilder;
use tower_http::{
    catch_panic::CatchPanicLayer,
    request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer},
};

use crate::{
    error::Refusal,
    exchange::{Exchange, Exchanged},
};

/// Names a request, in both directions and in both layers' logs.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest request ID that is accepted from a client, in bytes.
const MAX_ID_LENGTH: usize = 128;

/// Adds the layers around every route and fallback of a router.
pub(crate) fn observe<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    let refusals = Refusals::default();
    router.layer(
        ServiceBuilder::new()
            .map_request(remove_untrusted_id)
            .layer(SetRequestIdLayer::new(REQUEST_ID, SequentialIds::default()))
            .layer(PropagateRequestIdLayer::new(REQUEST_ID))
            .layer(from_fn(move |request, next| record(refusals.clone(), request, next)))
            .layer(CatchPanicLayer::custom(internal_error)),
    )
}

/// Removes a client's ID that is unsafe in a log, so that a new one is made.
fn remove_untrusted_id(mut request: Request) -> Request {
    let is_trusted = request
        .headers()
        .get(REQUEST_ID)
        .is_some_and(|id| (1..=MAX_ID_LENGTH).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic));
    if !is_trusted {
        request.headers_mut().remove(REQUEST_ID);
    }
    request
}

/// Makes IDs that are unique in this process and very likely unique among processes, which start from random numbers.
/// IDs find lines in logs; they protect nothing.
#[derive(Clone)]
struct SequentialIds(Arc<AtomicU64>);

impl Default for SequentialIds {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(new_id())))
    }
}

/// An ID for a request that no layer has seen.
pub(crate) fn new_id() -> u64 {
    RandomState::new().hash_one(())
}

impl MakeRequestId for SequentialIds {
    fn make_request_id<B>(&mut self, _: &http::Request<B>) -> Option<RequestId> {
        Some(RequestId::new(HeaderValue::from(self.0.fetch_add(1, Ordering::Relaxed))))
    }
}

/// Why a request is refused that does not name exactly one host, whose body is not what it seems to be, or that expects what
/// this service does not do.
fn check_head(request: &Request) -> Result<(), Error> {
    let hosts = request.headers().get_all(HOST).iter().count();
    // HTTP/2 has the host in its target, and HTTP/1.0 need not name one.
    if hosts > 1 || hosts == 0 && request.version() == Version::HTTP_11 {
        return Err(host_invalid());
    }
    // HTTP refuses what does not end in `chunked`. What comes before that would be left in the body.
    let mut encodings = request.headers().get_all(TRANSFER_ENCODING).iter();
    let is_chunked = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    if encodings.next().is_some_and(|first| !is_chunked(first)) || encodings.next().is_some() {
        return Err(Error::new(
            Reason::RequestMalformed,
            "The Transfer-Encoding of the body must be chunked, or none.",
        ));
    }
    let mut expected = request.headers().get_all(EXPECT).iter();
    if expected.any(|value| !value.as_bytes().eq_ignore_ascii_case(b"100-continue")) {
        return Err(expectation_failed());
    }
    Ok(())
}

/// The request does not name exactly one host.
pub(crate) fn host_invalid() -> Error {
    Error::new(Reason::HostInvalid, "The request must have exactly one Host header.")
}

/// The request expects what this service does not do.
pub(crate) fn expectation_failed() -> Error {
    Error::new(Reason::ExpectationFailed, "The request expects something other than 100-continue.")
}

/// The panic's own text is on the standard error already; it is not for callers.
fn internal_error(_: Box<dyn Any + Send>) -> Response {
    Refusal::internal().into_response()
}

/// Looks at the head of a request, and records the request.
async fn record(refusals: Refusals, mut request: Request, next: Next) -> Response {
    let exchange = Exchange::begin(&request);
    request.extensions_mut().insert(Arc::clone(&exchange));

    let respond = async {
        match check_head(&request) {
            Ok(()) => next.run(request).await,
            Err(error) => {
                let is_malformed = error.reason == Reason::RequestMalformed;
                let mut response = Refusal::from(error).into_response();
                if is_malformed {
                    // Nobody can say for certain where the next request begins.
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                response
            }
        }
    };
    let response = exchange.span.run(respond).await;

    exchange.set_status(response.status().as_u16());
    if matches!(response.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::UNAUTHORIZED) {
        refusals.hold_back().await;
    }
    response.map(|body| Exchanged::until_end(body, exchange))
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, routing::get};
    use http::{HeaderValue, Request};
    use tower::ServiceExt as _;

    use super::{REQUEST_ID, observe};

    async fn returned_id(sent: Option<&[u8]>) -> HeaderValue {
        let router = observe(Router::new().route("/", get(|| async {})));
        let mut request = Request::get("/").header("host", "a").body(Body::empty()).unwrap();
        if let Some(sent) = sent {
            request.headers_mut().insert(REQUEST_ID, HeaderValue::from_bytes(sent).unwrap());
        }
        router.oneshot(request).await.unwrap().headers()[REQUEST_ID].clone()
    }

    #[tokio::test]
    async fn only_a_short_id_of_visible_ascii_is_accepted() {
        for accepted in [&b"abc-1"[..], &[b'x'; 128]] {
            assert_eq!(returned_id(Some(accepted)).await, accepted);
        }
        for refused in [&b""[..], b"a b", "é".as_bytes(), &[b'x'; 129]] {
            assert_ne!(returned_id(Some(refused)).await, refused, "{refused:?}");
        }
        assert_ne!(returned_id(None).await, returned_id(None).await);
    }
}
