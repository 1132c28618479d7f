//! Why connections to cores fail, for the log and for metrics.

use std::{error::Error, io, iter::successors};

use telemetry::metrics::{count, describe};
use tls::Failure;

const FAILURES: &str = "compliance_gateway_connect_failures_total";
/// Reasons other than TLS.
const REASONS: [&str; 3] = ["refused", "unreachable", NOT_RESOLVED];
pub(super) const NOT_RESOLVED: &str = "name_not_resolved";

pub(super) fn describe_failures() {
    let mut reasons: Vec<_> = Failure::ALL.iter().map(|failure| failure.label()).collect();
    reasons.extend(REASONS);
    describe(FAILURES, "Failed connections to cores, by reason.", "reason", &reasons);
}

/// Counts and logs a connection that could not be made, or that its core ended.
pub(super) fn report(core: &str, reason: &'static str, error: &dyn Error) {
    count(FAILURES, "reason", reason);
    tracing::warn!(core, reason, error = text(error), "cannot connect to a core");
}

/// The name of a core has no address.
#[derive(Debug, thiserror::Error)]
#[error("the name cannot be resolved")]
pub(super) struct NotResolved(#[source] io::Error);

impl NotResolved {
    pub(super) fn of(error: io::Error) -> io::Error {
        io::Error::new(error.kind(), Self(error))
    }
}

/// Returns why a connection could not be made.
pub(super) fn reason(error: &(dyn Error + 'static)) -> &'static str {
    if let Some(failure) = Failure::of(error) {
        return failure.label();
    }
    for error in successors(Some(error), |error| (*error).source()) {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return match error.kind() {
                _ if matches!(error.get_ref(), Some(cause) if cause.is::<NotResolved>()) => NOT_RESOLVED,
                io::ErrorKind::ConnectionRefused => "refused",
                io::ErrorKind::TimedOut => "timeout",
                io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "unreachable",
                _ => Failure::of_handshake(error).label(),
            };
        }
    }
    Failure::Other.label()
}

/// Returns an error with its causes.
pub(super) fn text(error: &dyn Error) -> String {
    successors(Some(error), |error| (*error).source()).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
