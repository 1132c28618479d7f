//! A call: its operation, its origin, and its record in the access log, metrics and traces.

use std::{
    net::SocketAddr,
    sync::{Arc, LazyLock},
    time::Instant,
};

use compliance_api::{
    error::{Error, meaning},
    wire::{self, Authorization, Operation},
};
use http::{HeaderMap, HeaderValue, Method};
use metrics::Label;
use storage::statement_context::{StatementContext, shown};
use telemetry::{
    MAX_REQUEST_ID, error_limited,
    metrics::{Durations, count},
    trace::Span,
    warn_limited,
};
use tonic::Code;
use tracing::{debug, info};

use crate::{
    access::{Caller, Verified},
    quotas::{DatabaseWork, Usage},
};

/// A call before its checks.
pub(super) struct Arrival<'r> {
    pub(super) called: Called,
    pub(super) headers: &'r HeaderMap,
    pub(super) origin: Origin<'r>,
    /// The token's verification result, if already known.
    pub(super) verified: Option<Verified>,
}

/// Where a call comes from.
pub(super) enum Origin<'r> {
    /// The network, with this HTTP method.
    Network(&'r Method),
    Batch,
    Gateway,
}

/// The health check, which responds even if all connections are in use or too many calls are in flight.
pub(super) const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";

/// Operations of standard gRPC services, which the contract does not list.
const STANDARD: [&str; 4] = [
    HEALTH_CHECK,
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// The operation that a call's path names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Called {
    Operation(&'static Operation),
    /// An operation of a standard service, by path. Returns no company data.
    Standard(&'static str),
    Unknown,
}

impl Called {
    pub(super) fn at(path: &str) -> Self {
        let standard = || STANDARD.into_iter().find(|standard| *standard == path);
        match Operation::at(path) {
            Some(operation) => Self::Operation(operation),
            None => standard().map_or(Self::Unknown, Self::Standard),
        }
    }

    /// Returns `package.Service/Operation`, never client-supplied text.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Operation(&Operation { path, .. }) | Self::Standard(path) => path.trim_start_matches('/'),
            Self::Unknown => "unknown",
        }
    }

    /// Returns the authorization that the call needs. Callers without a token cannot tell unknown operations from known ones.
    pub(super) fn authorization(self) -> Authorization {
        match self {
            Self::Operation(operation) => operation.authorization,
            Self::Standard(_) => Authorization::Open,
            Self::Unknown => Authorization::Token,
        }
    }

    pub(super) fn is_health_check(self) -> bool {
        matches!(self, Self::Standard(HEALTH_CHECK))
    }

    /// Returns whether the call is an endless stream that needs no token.
    pub(super) fn is_open_to_all(self) -> bool {
        matches!(self, Self::Standard(_)) && !self.is_health_check()
    }

    /// Returns whether the call asks for the service's health, once or as a stream.
    pub(super) fn is_health(self) -> bool {
        matches!(self, Self::Standard(path) if path.starts_with("/grpc.health."))
    }

    pub(super) fn is_single_read(self) -> bool {
        matches!(self, Self::Operation(operation) if operation.work == wire::Work::SingleRead)
    }

    pub(super) fn is(self, other: &Operation) -> bool {
        matches!(self, Self::Operation(operation) if operation.path == other.path)
    }

    pub(super) fn is_watch(self) -> bool {
        self.is(&Operation::WATCH_CHANGES)
    }

    /// Returns how many items a call writes, given the length of its list.
    ///
    /// A call without a list writes one item. Stream items are counted as they arrive.
    pub(super) fn written(self, items: usize) -> usize {
        match self {
            Self::Operation(operation) if !operation.is_read && !operation.streams => items.max(1),
            _ => 0,
        }
    }

    /// Returns the database work of a call with this number of items. Each page of a stream enters a queue separately.
    pub(super) fn work(self, items: usize) -> DatabaseWork {
        let Self::Operation(operation) = self else { return DatabaseWork::Coalesced };
        match operation.work {
            wire::Work::SingleRead => DatabaseWork::Coalesced,
            // The first page waits with the first pages of the company's other watches.
            _ if self.is_watch() => DatabaseWork::Coalesced,
            wire::Work::Page => DatabaseWork::Statement,
            wire::Work::Unspecified if items <= 1 => DatabaseWork::Coalesced,
            wire::Work::Unspecified => DatabaseWork::of_items(items),
        }
    }
}

const REQUEST_ID: &str = "x-request-id";

static DURATIONS: LazyLock<Durations<(&'static str, Code)>> = LazyLock::new(|| {
    let text = "Duration of gRPC calls in the core, from the request head to the end of the response.";
    Durations::new("compliance_grpc_call_duration_seconds", text, |(operation, code)| {
        let (service, method) = operation.split_once('/').unwrap_or((operation, ""));
        vec![Label::new("service", service), Label::new("method", method), Label::new("code", name(*code))]
    })
});

/// Records a call when dropped. If no code was set, the call was cancelled.
pub(super) struct CallRecord {
    started: Instant,
    pub(super) called: Called,
    pub(super) caller: Caller,
    peer: Option<SocketAddr>,
    /// Whether to write an access log line for the call. An in-process gateway logs its own calls.
    is_logged: bool,
    pub(super) request_id: Option<HeaderValue>,
    pub(super) code: Code,
    /// The number of items that the call writes.
    pub(super) written: usize,
    usage: Arc<Usage>,
    pub(super) span: Span,
}

impl CallRecord {
    pub(super) fn new(arrival: &Arrival<'_>, usage: &Arc<Usage>) -> Self {
        let Arrival { called, headers, .. } = *arrival;
        let operation = called.name();
        // Health checks are frequent and identical, so they get no span.
        let span = if called.is_health() { Span::default() } else { Span::server(headers, || operation.to_owned()) };
        span.set("rpc.system.name", "grpc");
        span.set("rpc.method", operation);
        let is_logged = !matches!(arrival.origin, Origin::Gateway);
        Self {
            started: Instant::now(),
            called,
            caller: Caller::default(),
            peer: http_server::peer(),
            is_logged,
            request_id: headers.get(REQUEST_ID).cloned(),
            code: Code::Cancelled,
            written: 0,
            usage: Arc::clone(usage),
            span,
        }
    }

    /// Returns the caller's company, once the token is verified.
    pub(super) fn company_id(&self) -> Option<i64> {
        self.caller.token.as_ref().map(|token| token.company_id)
    }

    /// Returns the context for the call's statements.
    pub(super) fn statement_context(&self) -> StatementContext {
        let (request_id, token) = (self.request_id.clone(), self.caller.token.clone());
        StatementContext { name: self.called.name(), request_id, token }
    }

    pub(super) fn refuse(&mut self, error: &Error) {
        self.code = meaning(error.reason).grpc;
        count("compliance_refusals_total", "reason", error.reason.as_str_name().trim_start_matches("REASON_"));
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        let Self { called, code, peer, ref span, ref caller, .. } = *self;
        let company = self.company_id();
        let operation = called.name();
        let duration = self.started.elapsed();
        DURATIONS.record((operation, code), duration);
        if let Some(company) = company {
            // A gateway checks access before it rejects a request. A successful check does no other work, so it does not count.
            if !(called.is(&Operation::CHECK_ACCESS) && code == Code::Ok) {
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
        let subject = caller.token.as_ref().and_then(|token| token.shown_subject());
        let peer = peer.map(tracing::field::display);
        let (duration_ms, trace_id, status) = (duration.as_micros() as f64 / 1e3, span.trace_id(), name(code));
        macro_rules! line {
            ($log:ident, $message:literal) => {
                $log!(target: "access", operation, status, duration_ms, company, subject, peer, request_id,
                                 trace_id, $message)
            };
        }
        match code {
            _ if called.is_health() => line!(debug, "health check"),
            Code::Internal | Code::Unknown | Code::DataLoss => line!(error_limited, "call failed"),
            _ if is_failure(code) => line!(warn_limited, "call failed"),
            _ => line!(info, "call"),
        }
    }
}

/// Returns a call's log span. A single read has no span, because its statement runs in a shared task.
pub(super) fn log_span(arrival: &Arrival<'_>) -> tracing::Span {
    match arrival.headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()) {
        Some(id) if id.len() <= MAX_REQUEST_ID && !arrival.called.is_single_read() => {
            tracing::error_span!("call", operation = arrival.called.name(), request_id = id)
        }
        _ => tracing::Span::none(),
    }
}

/// Returns whether a code is the service's fault rather than the caller's.
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

#[cfg(test)]
mod tests;
