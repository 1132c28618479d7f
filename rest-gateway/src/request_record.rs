//! What is recorded of a request: its line in the access log, its duration, its span.

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

use crate::{ignored::ignored_parameters, route::Route};

/// Names a request, in both directions and in both layers' logs.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The route of requests that match none.
const UNKNOWN_PATH: &str = "(unknown path)";
/// The status of a request whose client went away before it had a response, as web servers log it.
const CLIENT_CLOSED_REQUEST: u16 = 499;

static DURATIONS: LazyLock<Durations<(&'static str, &'static str, u16)>> = LazyLock::new(|| {
    let text = "Time from the head of a REST request to the end of its response, as the gateway made it.";
    Durations::new("compliance_rest_request_duration_seconds", text, |(method, route, status)| {
        vec![Label::new("method", *method), Label::new("route", *route), Label::new("status", status.to_string())]
    })
});

/// A request, from its head to the end of its response. It is recorded when the last clone is dropped.
pub(crate) struct RequestRecord {
    started: Instant,
    method: &'static str,
    route: &'static str,
    /// The operation, unless the path or the method is unknown.
    pub(crate) operation: Option<&'static Route>,
    /// Lists the parameters of the query that have no effect.
    pub(crate) ignored_parameters: Option<HeaderValue>,
    /// Lists the fields of the body that have no effect, once it was read.
    pub(crate) ignored_fields: OnceLock<HeaderValue>,
    pub(crate) request_id: HeaderValue,
    /// What the token says, once it is verified.
    pub(crate) token: OnceLock<VerifiedToken>,
    peer: Option<SocketAddr>,
    pub(crate) status: AtomicU16,
    pub(crate) span: Span,
}

impl RequestRecord {
    /// Metrics are labelled with the path of one of `routes`, never with what a client sends.
    pub(crate) fn begin(request: &Request, routes: &'static [Route], request_id: HeaderValue) -> Arc<Self> {
        let method = known(request.method());
        let matched = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        let mut of_path = routes.iter().filter(|route| matched == Some(route.path)).peekable();
        let route = of_path.peek().map_or(UNKNOWN_PATH, |route| route.path);
        // The answer to HEAD is that to GET without its body.
        let of_method = if method == "HEAD" { "get" } else { method };
        let operation = of_path.find(|route| route.method.eq_ignore_ascii_case(of_method));
        // Health checks are many, and the same.
        let span = if is_health_check(route) {
            Span::default()
        } else {
            Span::server(request.headers(), || format!("{method} {route}"))
        };
        span.set("http.request.method", method);
        span.set("http.route", route);
        Arc::new(Self {
            started: Instant::now(),
            method,
            route,
            operation,
            ignored_parameters: ignored_parameters(operation, request.uri()),
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
        let Self { method, route, ref span, .. } = *self;
        let (status, duration) = (*self.status.get_mut(), self.started.elapsed());
        DURATIONS.record((method, route, status), duration);
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
                tracing::$level!(target: "access", operation = format_args!("{method} {route}"), status, duration_ms, company,
                                 subject, peer, request_id, trace_id, $message)
            };
        }
        match status {
            _ if is_health_check(route) => line!(debug, "health check"),
            500 => line!(error, "request failed"),
            501..=599 => line!(warn, "request failed"),
            _ => line!(info, "request"),
        }
    }
}

/// Whether a route is of health checks, which supervisors and load balancers send all the time.
pub(crate) fn is_health_check(route: &str) -> bool {
    matches!(route, "/livez" | "/readyz")
}

/// A method as a label: one of those that HTTP defines.
fn known(method: &Method) -> &'static str {
    ["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH"]
        .into_iter()
        .find(|known| method == *known)
        .unwrap_or("other")
}
