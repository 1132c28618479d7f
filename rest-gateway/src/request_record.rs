//! The record of a request: its line in the access log, its duration, its span.

use std::{
    net::SocketAddr,
    sync::{Arc, LazyLock, OnceLock, atomic::AtomicU16},
    time::Instant,
};

use axum::extract::{MatchedPath, Request};
use compliance_api::token::VerifiedToken;
use http::{HeaderName, HeaderValue, Method};
use metrics::Label;
use telemetry::{metrics::Durations, trace::Span};

use crate::route::{Route, ignored_parameters};

/// The request ID, in requests, in responses, and in the logs of both layers.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The path of requests without a route.
const UNKNOWN_PATH: &str = "(unknown path)";
/// The status of a request whose client left before the response, as web servers log it.
const CLIENT_CLOSED_REQUEST: u16 = 499;

static DURATIONS: LazyLock<Durations<(&'static str, &'static str, u16)>> = LazyLock::new(|| {
    let text = "Duration of REST requests in the gateway, from the request head to the end of the response.";
    Durations::new("compliance_rest_request_duration_seconds", text, |(method, route, status)| {
        vec![Label::new("method", *method), Label::new("route", *route), Label::new("status", status.to_string())]
    })
});

/// A request, from its head to the end of its response. It is recorded when the last reference is dropped.
pub(crate) struct RequestRecord {
    started: Instant,
    method: &'static str,
    path: &'static str,
    /// `None` if the path or the method is unknown.
    pub(crate) route: Option<&'static Route>,
    /// Lists the query parameters without an effect.
    pub(crate) ignored_parameters: Option<HeaderValue>,
    /// Lists the body fields without an effect, once the body is read.
    pub(crate) ignored_fields: OnceLock<HeaderValue>,
    pub(crate) request_id: HeaderValue,
    /// The token, once it is verified.
    pub(crate) token: OnceLock<VerifiedToken>,
    peer: Option<SocketAddr>,
    pub(crate) status: AtomicU16,
    pub(crate) span: Span,
}

impl RequestRecord {
    /// Metrics have the path of a route as a label, never a path that a client sends.
    pub(crate) fn begin(request: &Request, routes: &'static [Route], request_id: HeaderValue) -> Arc<Self> {
        let method = known(request.method());
        let matched = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        let mut of_path = routes.iter().filter(|route| matched == Some(route.path)).peekable();
        let path = of_path.peek().map_or(UNKNOWN_PATH, |route| route.path);
        // HEAD gets the response to GET without its body.
        let of_method = if method == "HEAD" { "get" } else { method };
        let route = of_path.find(|route| route.method.eq_ignore_ascii_case(of_method));
        // Health checks are frequent and alike.
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
            ignored_parameters: ignored_parameters(route, request.uri()),
            ignored_fields: OnceLock::new(),
            request_id,
            token: OnceLock::new(),
            peer: http_server::peer(),
            status: AtomicU16::new(CLIENT_CLOSED_REQUEST),
            span,
        })
    }

    pub(crate) fn company(&self) -> Option<i64> {
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
            ($level:ident, $message:literal) => {
                tracing::$level!(target: "access", operation = format_args!("{method} {path}"), status, duration_ms, company,
                                 subject, peer, request_id, trace_id, $message)
            };
        }
        match status {
            _ if is_health_check(path) => line!(debug, "health check"),
            500 => line!(error, "request failed"),
            501..=599 => line!(warn, "request failed"),
            _ => line!(info, "request"),
        }
    }
}

/// Whether a path is for health checks.
pub(crate) fn is_health_check(path: &str) -> bool {
    matches!(path, "/livez" | "/readyz")
}

/// Returns the method as a label: a method of HTTP, or `other`.
fn known(method: &Method) -> &'static str {
    ["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH"]
        .into_iter()
        .find(|known| method == *known)
        .unwrap_or("other")
}
