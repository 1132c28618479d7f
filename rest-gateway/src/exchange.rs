//! What is recorded of a request: its line in the access log, its duration, its span.

use std::{
    collections::HashSet,
    pin::Pin,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicI64, AtomicU16, Ordering},
    },
    task::{Context, Poll},
    time::Instant,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::{MatchedPath, Request},
};
use http::{HeaderValue, Method};
use http_body::{Frame, SizeHint};
use metrics::Label;
use telemetry::{metrics::Durations, trace::Span};

use crate::{observe::REQUEST_ID, router::PATHS};

/// The route of requests that match none.
const UNKNOWN_PATH: &str = "(unknown path)";
/// The status of a request whose client went away before it had a response, as web servers log it.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// The paths of all routes. Metrics are labelled with them, never with what a client sends.
static ROUTES: LazyLock<HashSet<&'static str>> = LazyLock::new(|| PATHS.iter().copied().collect());

static DURATIONS: LazyLock<Durations<(&'static str, &'static str, u16)>> = LazyLock::new(|| {
    let text = "Time from the head of a REST request to the end of its response, as the gateway made it.";
    Durations::new("compliance_rest_request_duration_seconds", text, |(method, route, status)| {
        vec![Label::new("method", *method), Label::new("route", *route), Label::new("status", status.to_string())]
    })
});

/// A request, from its head to the end of its response. It is recorded when the last clone is dropped.
pub(crate) struct Exchange {
    started: Instant,
    method: &'static str,
    route: &'static str,
    request_id: Option<HeaderValue>,
    /// Zero until the token is verified.
    company: AtomicI64,
    status: AtomicU16,
    pub(crate) span: Span,
}

impl Exchange {
    pub(crate) fn begin(request: &Request) -> Arc<Self> {
        let method = known(request.method());
        let matched = request.extensions().get::<MatchedPath>().and_then(|path| ROUTES.get(path.as_str()));
        let route = matched.copied().unwrap_or(UNKNOWN_PATH);
        let span = Span::server(request.headers(), || format!("{method} {route}"));
        span.set("http.request.method", method);
        span.set("http.route", route);
        Arc::new(Self {
            started: Instant::now(),
            method,
            route,
            request_id: request.headers().get(REQUEST_ID).cloned(),
            company: AtomicI64::new(0),
            status: AtomicU16::new(CLIENT_CLOSED_REQUEST),
            span,
        })
    }

    /// Sets the company, once the token is verified.
    pub(crate) fn set_company(&self, company_id: i64) {
        self.company.store(company_id, Ordering::Relaxed);
    }

    /// The company, once the token is verified.
    pub(crate) fn company(&self) -> Option<i64> {
        Some(self.company.load(Ordering::Relaxed)).filter(|company| *company != 0)
    }

    /// Sets the status of the response.
    pub(crate) fn set_status(&self, status: u16) {
        self.status.store(status, Ordering::Relaxed);
    }
}

impl Drop for Exchange {
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
        let request_id = self.request_id.as_ref().and_then(|id| id.to_str().ok());
        let (duration_ms, trace_id) = (duration.as_micros() as f64 / 1e3, span.trace_id());
        macro_rules! line {
            ($level:ident, $message:literal) => {
                tracing::$level!(target: "access", operation = format_args!("{method} {route}"), status, duration_ms, company,
                                 request_id, trace_id, $message)
            };
        }
        match status {
            500 => line!(error, "request failed"),
            501..=599 => line!(warn, "request failed"),
            _ => line!(info, "request"),
        }
    }
}

/// A method as a label: one of those that HTTP defines.
fn known(method: &Method) -> &'static str {
    ["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH"]
        .into_iter()
        .find(|known| method == *known)
        .unwrap_or("other")
}

/// A body that is written as it is read, with the request that it is the response to.
pub(crate) struct Exchanged {
    body: Body,
    _exchange: Arc<Exchange>,
}

impl Exchanged {
    /// The body of a response. One of a known size is complete already, and so is its request.
    pub(crate) fn until_end(body: Body, exchange: Arc<Exchange>) -> Body {
        if body.size_hint().exact().is_some() { body } else { Body::new(Self { body, _exchange: exchange }) }
    }
}

impl HttpBody for Exchanged {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
