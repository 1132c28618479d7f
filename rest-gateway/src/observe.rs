//! Wraps every request: assigns its ID, records it, checks its head, compresses the response, and responds if a handler panics.
//!
//! A request's record produces its access log line, duration metric and span.

use std::{
    convert::Infallible,
    hash::{BuildHasher as _, RandomState},
    net::SocketAddr,
    panic::AssertUnwindSafe,
    sync::{
        Arc, LazyLock, OnceLock,
        atomic::{AtomicU16, AtomicU64, Ordering},
    },
    time::Instant,
};

use admission::{GuardedBody, Memory, RejectionDelay};
use axum::{
    Router,
    body::{Body, HttpBody as _},
    extract::{MatchedPath, Request},
    response::{IntoResponse as _, Response},
    routing::future::RouteFuture,
};
use compliance_api::{
    batch_read::RATE_LIMIT,
    error::{Error, Reason},
    token::VerifiedToken,
};
use futures::FutureExt as _;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version,
    header::{ACCEPT_ENCODING, CACHE_CONTROL, CONNECTION, EXPECT, HOST, TRANSFER_ENCODING, X_CONTENT_TYPE_OPTIONS},
};
use metrics::Label;
use parking_lot::Mutex;
use telemetry::{MAX_REQUEST_ID, error_limited, metrics::Durations, trace::Span, warn_limited};
use tonic::metadata::MetadataMap;
use tower::{Service as _, layer::layer_fn, service_fn};
use tracing::{debug, info};

use crate::{
    compression::{Endless, compress},
    envelope::Rejection,
    route::{IGNORED_FIELDS, IGNORED_PARAMETERS, Route, ignored_parameters},
};

/// Header with the request ID, in requests and responses. Both layers log the ID.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Path label for requests without a route.
const UNKNOWN_PATH: &str = "(unknown path)";
/// Status in logs if the client disconnects before the response, as in nginx.
const CLIENT_CLOSED_REQUEST: u16 = 499;

static DURATIONS: LazyLock<Durations<(&'static str, &'static str, u16)>> = LazyLock::new(|| {
    let text = "Duration of REST requests in the gateway, from the request head to the end of the response.";
    Durations::new("compliance_rest_request_duration_seconds", text, |(method, route, status)| {
        vec![Label::new("method", *method), Label::new("route", *route), Label::new("status", status.to_string())]
    })
});

struct State {
    memory: Memory,
    rejections: RejectionDelay,
}

/// Adds a layer to every route and fallback. A single layer does everything, because axum boxes each layer's future.
pub(crate) fn observe<S: Clone + Send + Sync + 'static>(
    router: Router<S>,
    declared: &'static [Route],
    memory: Memory,
) -> Router<S> {
    let state = Arc::new(State { memory, rejections: RejectionDelay::default() });
    router.layer(layer_fn(move |mut route: axum::routing::Route| {
        let state = Arc::clone(&state);
        service_fn(move |mut request: Request| {
            let id = identify(&mut request);
            let record = RequestRecord::begin(&request, declared, id);
            request.extensions_mut().insert(Arc::clone(&record));
            let accepted = request.headers().get(ACCEPT_ENCODING).filter(|_| request.method() != Method::HEAD).cloned();
            let response = check_head(&request).map(|()| route.call(request));
            respond(Arc::clone(&state), record, accepted, response)
        })
    }))
}

/// Returns the request ID. Replaces an ID that is unsafe to log.
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

/// Returns a new request ID. Each process starts at a random number, so IDs are almost certainly unique. They are not secret.
pub(crate) fn new_id() -> u64 {
    static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(RandomState::new().hash_one(())));
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Rejects requests without exactly one host, with an ambiguous body length, or with an unknown expectation.
fn check_head(request: &Request) -> Result<(), Error> {
    let hosts = request.headers().get_all(HOST).iter().count();
    // HTTP/2 requests contain the host in their target, and HTTP/1.0 requests do not need one.
    if hosts > 1 || hosts == 0 && request.version() == Version::HTTP_11 {
        return Err(Error::host_invalid());
    }
    // hyper rejects encodings that do not end in `chunked`, but would leave earlier encodings in the body.
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
                match (record.company(), accepted) {
                    (Some(company), Some(accepted)) => compress(&state.memory, company, accepted, response).await,
                    _ => response,
                }
            }
            Err(error) => refuse(error),
        }
    };
    let respond = AssertUnwindSafe(record.span.run(respond)).catch_unwind();
    // The panic message is already in the log. Callers never see it.
    let mut response = respond.await.unwrap_or_else(|_| Rejection::from(Error::internal()).into_response());

    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, record.request_id.clone());
    if record.is_of_api {
        // Records are private, and browsers must never run partner data as a script.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    let ignored = [
        (IGNORED_PARAMETERS, record.ignored_parameters.clone()),
        (IGNORED_FIELDS, record.ignored_fields.get().cloned()),
    ];
    let rate_limit = RATE_LIMIT.into_iter().zip(std::mem::take(&mut *record.rate_limit.lock()));
    headers.extend(ignored.into_iter().chain(rate_limit).filter_map(|(name, value)| Some((name, value?))));
    record.status.store(response.status().as_u16(), Ordering::Relaxed);
    if matches!(response.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::UNAUTHORIZED) {
        state.rejections.delay(record.company()).await;
    }
    // If the body size is known, the request is complete. Otherwise, the record lives until the body ends.
    let is_endless = response.extensions().get::<Endless>().is_some();
    Ok(response.map(|body| match body.size_hint().exact() {
        _ if is_endless => body,
        Some(_) => body,
        None => Body::new(GuardedBody::new(body, false, record)),
    }))
}

fn refuse(error: Error) -> Response {
    let is_malformed = error.reason == Reason::RequestMalformed;
    let mut response = Rejection::from(error).into_response();
    if is_malformed {
        // The start of the next request is unknown.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// A request, from its head to the end of its response. Dropping the last reference records the request.
pub(crate) struct RequestRecord {
    started: Instant,
    method: &'static str,
    path: &'static str,
    /// `None` if the path or the method is unknown.
    pub(crate) route: Option<&'static Route>,
    /// Whether the path is `/api` or below it.
    is_of_api: bool,
    /// Header that lists ignored query parameters.
    ignored_parameters: Option<HeaderValue>,
    /// Header that lists ignored body fields, once the body has been read.
    pub(crate) ignored_fields: OnceLock<HeaderValue>,
    pub(crate) request_id: HeaderValue,
    /// The company's rate limit from the core's last response: the values of [`RATE_LIMIT`].
    rate_limit: Mutex<[Option<HeaderValue>; 3]>,
    /// The token, once it is verified.
    pub(crate) token: OnceLock<VerifiedToken>,
    peer: Option<SocketAddr>,
    status: AtomicU16,
    span: Span,
}

impl RequestRecord {
    /// Starts recording a request. Metrics use the route's path as a label, never the path that the client sent.
    fn begin(request: &Request, routes: &'static [Route], request_id: HeaderValue) -> Arc<Self> {
        let (method, uri) = (known(request.method()), request.uri());
        let matched = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        let mut of_path = routes.iter().filter(|route| matched == Some(route.path)).peekable();
        let path = of_path.peek().map_or(UNKNOWN_PATH, |route| route.path);
        // HEAD has the same route as GET.
        let of_method = if method == "HEAD" { "get" } else { method };
        let route = of_path.find(|route| route.method.eq_ignore_ascii_case(of_method));
        // Health checks are frequent and all alike, so they create no spans.
        let span = if is_health_check(path) {
            Span::default()
        } else {
            Span::server(request.headers(), || format!("{method} {path}"))
        };
        span.set("http.request.method", method);
        span.set("http.route", path);
        Arc::new(Self {
            started: Instant::now(),
            method,
            path,
            route,
            is_of_api: uri.path().strip_prefix("/api").is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            ignored_parameters: uri
                .query()
                .and_then(|query| ignored_parameters(route, uri.path(), query, request.headers())),
            ignored_fields: OnceLock::new(),
            request_id,
            rate_limit: Mutex::default(),
            token: OnceLock::new(),
            peer: http_server::peer(),
            status: AtomicU16::new(CLIENT_CLOSED_REQUEST),
            span,
        })
    }

    /// Sets the rate limit headers from the core's response to a call. `None` if the call has no response.
    pub(crate) fn set_rate_limit(&self, metadata: Option<&MetadataMap>) {
        let headers: Option<&HeaderMap> = metadata.map(MetadataMap::as_ref);
        *self.rate_limit.lock() = RATE_LIMIT.map(|name| headers?.get(name).cloned());
    }

    fn company(&self) -> Option<i64> {
        self.token.get().map(|token| token.company_id)
    }
}

impl Drop for RequestRecord {
    fn drop(&mut self) {
        let Self { method, path, ref span, .. } = *self;
        let (status, duration) = (*self.status.get_mut(), self.started.elapsed());
        DURATIONS.record((method, path, status), duration);
        let company = self.company();
        if let Some(company) = company {
            span.set("compliance.company_id", company);
        }
        span.set("http.response.status_code", i64::from(status));
        if status >= 500 {
            span.fail("the request failed");
        }
        let request_id = self.request_id.to_str().ok();
        let subject = self.token.get().and_then(VerifiedToken::shown_subject);
        let peer = self.peer.map(tracing::field::display);
        let (duration_ms, trace_id) = (duration.as_micros() as f64 / 1e3, span.trace_id());
        macro_rules! line {
            ($log:ident, $message:literal) => {
                $log!(target: "access", operation = format_args!("{method} {path}"), status, duration_ms, company,
                                 subject, peer, request_id, trace_id, $message)
            };
        }
        match status {
            _ if is_health_check(path) => line!(debug, "health check"),
            500 => line!(error_limited, "request failed"),
            501..=599 => line!(warn_limited, "request failed"),
            _ => line!(info, "request"),
        }
    }
}

/// Returns whether a path is a health check.
pub(crate) fn is_health_check(path: &str) -> bool {
    matches!(path, "/livez" | "/readyz")
}

/// Returns the method as a label: a standard HTTP method, or `other`.
fn known(method: &Method) -> &'static str {
    ["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH"]
        .into_iter()
        .find(|known| method == *known)
        .unwrap_or("other")
}

#[cfg(test)]
mod tests;
