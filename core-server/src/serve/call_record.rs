//! The record of a call: its line in the access log, its duration, its span.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::LazyLock,
    task::{Context, Poll, ready},
    time::Instant,
};

use bytes::Bytes;
use compliance_api::{
    error::{Error, meaning},
    token::VerifiedToken,
};
use http::HeaderValue;
use http_body::Frame;
use metrics::Label;
use telemetry::{
    MAX_REQUEST_ID,
    metrics::{Durations, count},
    trace::Span,
};
use tonic::{Code, Status, body::Body};

use super::{
    arrival::{Arrival, Called, Origin},
    protocol::{code, describe},
};
use crate::usage::Usage;
use storage::statement::{StatementContext, shown};

const REQUEST_ID: &str = "x-request-id";

static DURATIONS: LazyLock<Durations<(&'static str, Code)>> = LazyLock::new(|| {
    let text = "Duration of gRPC calls in the core, from the request head to the end of the response.";
    Durations::new("compliance_grpc_call_duration_seconds", text, |(operation, code)| {
        let (service, method) = operation.split_once('/').unwrap_or((operation, ""));
        vec![Label::new("service", service), Label::new("method", method), Label::new("code", name(*code))]
    })
});

/// Records a call when it is dropped. Without a code, the call was cancelled.
#[derive(Debug)]
pub(super) struct CallRecord {
    started: Instant,
    called: Called,
    /// Whether the record ends when the response begins. A watch lasts up to a day.
    ends_with_head: bool,
    /// The token, once it is verified.
    pub(super) token: Option<VerifiedToken>,
    peer: Option<SocketAddr>,
    /// Whether the call has a line in the access log. The gateway in this process has its own line for its calls.
    is_logged: bool,
    pub(super) request_id: Option<HeaderValue>,
    pub(super) code: Code,
    /// The items that it writes.
    pub(super) written: usize,
    usage: Usage,
    pub(super) span: Span,
}

impl CallRecord {
    pub(super) fn new(arrival: &Arrival<'_>, usage: &Usage) -> Self {
        let Arrival { called, headers, .. } = *arrival;
        let operation = called.name();
        // Health checks are frequent and all alike.
        let span = if called.is_health() { Span::default() } else { Span::server(headers, || operation.to_owned()) };
        span.set("rpc.system.name", "grpc");
        span.set("rpc.method", operation);
        let is_logged = !matches!(arrival.origin, Origin::Gateway);
        Self {
            started: Instant::now(),
            called,
            ends_with_head: called.is_watch(),
            token: None,
            peer: http_server::peer(),
            is_logged,
            request_id: headers.get(REQUEST_ID).cloned(),
            code: Code::Cancelled,
            written: 0,
            usage: usage.clone(),
            span,
        }
    }

    /// The context of its statements.
    pub(super) fn statement_context(&self) -> StatementContext {
        StatementContext { name: self.called.name(), request_id: self.request_id.clone(), token: self.token.clone() }
    }

    pub(super) fn refuse(&mut self, error: &Error) {
        self.code = meaning(error.reason).grpc;
        count("compliance_refusals_total", "reason", error.reason.as_str_name().trim_start_matches("REASON_"));
    }

    /// Records the call until the end of its response. The code is in the head or in the trailers.
    pub(super) fn until_end(mut self, mut response: http::Response<Body>) -> http::Response<Body> {
        describe(self.called, response.headers_mut());
        match code(response.headers()) {
            Some(code) => self.code = code,
            None if self.ends_with_head => self.code = Code::Ok,
            None => return response.map(|body| Body::new(Recorded { body, record: self })),
        }
        response
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        let Self { called, code, peer, ref span, ref token, .. } = *self;
        let company = token.as_ref().map(|token| token.company_id);
        let operation = called.name();
        let duration = self.started.elapsed();
        DURATIONS.record((operation, code), duration);
        if let Some(company) = company {
            // The core did no work for a request that the gateway rejects. The call counts only if a limit rejected it.
            if !(called.is_access_check() && code == Code::Ok) {
                self.usage.called(company, code, duration, self.written);
            }
            span.set("compliance.company_id", company);
        }
        span.set("rpc.response.status_code", name(code));
        if is_failure(code) {
            span.fail("the call failed");
        }
        if !self.is_logged {
            return;
        }
        let request_id = shown(self.request_id.as_ref());
        let subject = token.as_ref().and_then(|token| token.shown_subject());
        let peer = peer.map(tracing::field::display);
        let (duration_ms, trace_id, status) = (duration.as_micros() as f64 / 1e3, span.trace_id(), name(code));
        macro_rules! line {
            ($level:ident, $message:literal) => {
                tracing::$level!(target: "access", operation, status, duration_ms, company, subject, peer, request_id,
                                 trace_id, $message)
            };
        }
        match code {
            _ if called.is_health() => line!(debug, "health check"),
            Code::Internal | Code::Unknown | Code::DataLoss => line!(error, "call failed"),
            _ if is_failure(code) => line!(warn, "call failed"),
            _ => line!(info, "call"),
        }
    }
}

/// Names a call in the log. A single read has no span, because its statement runs in a shared task.
pub(super) fn log_span(arrival: &Arrival<'_>) -> tracing::Span {
    match arrival.headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()) {
        Some(id) if id.len() <= MAX_REQUEST_ID && !arrival.called.is_single_read() => {
            tracing::error_span!("call", operation = arrival.called.name(), request_id = id)
        }
        _ => tracing::Span::none(),
    }
}

/// Whether the service, and not its caller, is the reason for a code.
fn is_failure(code: Code) -> bool {
    matches!(
        code,
        Code::Internal
            | Code::Unknown
            | Code::DataLoss
            | Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Unimplemented
    )
}

fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

struct Recorded {
    body: Body,
    record: CallRecord,
}

impl http_body::Body for Recorded {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let mut frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &mut frame
            && let Some(trailers) = frame.trailers_mut()
        {
            describe(self.record.called, trailers);
        }
        let code = match &frame {
            Some(Ok(frame)) => frame.trailers_ref().and_then(code),
            Some(Err(status)) => Some(status.code()),
            None => None,
        };
        if let Some(code) = code {
            self.record.code = code;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
