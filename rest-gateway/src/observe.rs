//! The layer around every request: request ID, record, checks of the head, compression, and a response if a handler panics.

use std::{
    convert::Infallible,
    hash::{BuildHasher as _, RandomState},
    panic::AssertUnwindSafe,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use admission::{HoldingBody, Memory, Refusals};
use axum::{
    Router,
    body::{Body, HttpBody as _},
    extract::Request,
    response::{IntoResponse as _, Response},
    routing::future::RouteFuture,
};
use compliance_api::error::{Error, Reason};
use futures::FutureExt as _;
use http::{
    HeaderValue, StatusCode, Version,
    header::{CONNECTION, EXPECT, HOST, TRANSFER_ENCODING},
};
use telemetry::MAX_REQUEST_ID;
use tower::{Service as _, layer::layer_fn, service_fn};

use crate::{
    compression::{accepted_encodings, compress},
    error::Refusal,
    ignored::{IGNORED_FIELDS, IGNORED_PARAMETERS},
    request_record::{REQUEST_ID, RequestRecord},
    route::Route,
    stream::Endless,
};

struct State {
    memory: Memory,
    refusals: Refusals,
}

/// Adds one layer to every route and fallback. It is a single layer because axum boxes the future of each layer.
pub(crate) fn observe<S: Clone + Send + Sync + 'static>(
    router: Router<S>,
    declared: &'static [Route],
    memory: Memory,
) -> Router<S> {
    let state = Arc::new(State { memory, refusals: Refusals::default() });
    router.layer(layer_fn(move |mut route: axum::routing::Route| {
        let state = Arc::clone(&state);
        service_fn(move |mut request: Request| {
            let id = identify(&mut request);
            let record = RequestRecord::begin(&request, declared, id);
            request.extensions_mut().insert(Arc::clone(&record));
            let accepted = accepted_encodings(&request);
            let response = check_head(&request).map(|()| route.call(request));
            respond(Arc::clone(&state), record, accepted, response)
        })
    }))
}

/// Returns the request ID. Replaces an ID that is unsafe in a log.
fn identify(request: &mut Request) -> HeaderValue {
    let is_safe =
        |id: &&HeaderValue| (1..=MAX_REQUEST_ID).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic);
    if let Some(id) = request.headers().get(REQUEST_ID).filter(is_safe) {
        return id.clone();
    }
    let id = HeaderValue::from(new_id());
    request.headers_mut().insert(REQUEST_ID, id.clone());
    id
}

/// Returns a new request ID. Each process starts at a random number, so IDs are very likely unique. They protect nothing.
pub(crate) fn new_id() -> u64 {
    static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(RandomState::new().hash_one(())));
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Refuses requests without exactly one host, with an ambiguous body length, or with an unknown expectation.
fn check_head(request: &Request) -> Result<(), Error> {
    let hosts = request.headers().get_all(HOST).iter().count();
    // HTTP/2 has the host in its target, and HTTP/1.0 does not need one.
    if hosts > 1 || hosts == 0 && request.version() == Version::HTTP_11 {
        return Err(Error::host_invalid());
    }
    // hyper refuses encodings that do not end in `chunked`. Earlier encodings would stay in the body.
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
        return Err(Error::expectation_failed());
    }
    Ok(())
}

async fn respond(
    state: Arc<State>,
    record: Arc<RequestRecord>,
    accepted: Option<HeaderValue>,
    response: Result<RouteFuture<Infallible>, Error>,
) -> Result<Response, Infallible> {
    let respond = async {
        match response {
            Ok(response) => {
                let Ok(response) = response.await;
                compress(&state.memory, record.company(), accepted, response).await
            }
            Err(error) => refuse(error),
        }
    };
    let respond = AssertUnwindSafe(record.span.run(respond)).catch_unwind();
    // The panic's message is in the log already. Callers do not get it.
    let mut response = respond.await.unwrap_or_else(|_| Refusal::from(Error::internal()).into_response());

    response.headers_mut().insert(REQUEST_ID, record.request_id.clone());
    let ignored =
        [(IGNORED_PARAMETERS, record.ignored_parameters.as_ref()), (IGNORED_FIELDS, record.ignored_fields.get())];
    for (name, value) in ignored {
        response.headers_mut().extend(value.map(|value| (name, value.clone())));
    }
    record.status.store(response.status().as_u16(), Ordering::Relaxed);
    if matches!(response.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::UNAUTHORIZED) {
        state.refusals.delay(record.company()).await;
    }
    // A body of known size is complete, so its request is too. The record lives until the end of other bodies.
    let is_endless = response.extensions().get::<Endless>().is_some();
    Ok(response.map(|body| match body.size_hint().exact() {
        _ if is_endless => body,
        Some(_) => body,
        None => Body::new(HoldingBody::new(body, false, record)),
    }))
}

fn refuse(error: Error) -> Response {
    let is_malformed = error.reason == Reason::RequestMalformed;
    let mut response = Refusal::from(error).into_response();
    if is_malformed {
        // Nobody knows where the next request begins.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

#[cfg(test)]
mod tests {
    use admission::Memory;
    use axum::{Router, body::Body, routing::get};
    use http::{HeaderValue, Request};
    use tower::ServiceExt as _;

    use super::{REQUEST_ID, observe};

    async fn returned_id(sent: Option<&[u8]>) -> HeaderValue {
        let router = observe(Router::new().route("/", get(|| async {})), &[], Memory::new(0, 1));
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
