//! Converts errors to gRPC statuses with `google.rpc` details, and back.

use std::{collections::HashMap, error::Error as _};

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

use crate::{
    error::{Error, RESTORED_POSITION, Reason, SERVER_ERROR, meaning},
    rules::{Violation, Violations},
};

/// The `domain` of every ErrorInfo.
const DOMAIN: &str = "compliance.v1";

/// Metadata key for the total number of violations, set if the details omit some.
const VIOLATIONS_TOTAL: &str = "violations_total";

/// Maximum size of violations in a status, in bytes.
///
/// gRPC sends details in a header, and clients accept headers of up to 8 KiB by default.
pub const MAX_VIOLATION_BYTES: usize = 4096;

/// Returns whether all of these violations fit in a status.
pub fn has_all(violations: &Violations) -> bool {
    violations.iter().map(size).sum::<usize>() <= MAX_VIOLATION_BYTES
}

fn size(violation: &Violation) -> usize {
    violation.path.len() + violation.message.len() + 8
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        let mut metadata: HashMap<String, String> =
            error.metadata.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let mut details = ErrorDetails::new();
        let mut bytes = 0;
        for violation in error.violations.iter() {
            bytes += size(violation);
            if bytes > MAX_VIOLATION_BYTES {
                metadata.insert(VIOLATIONS_TOTAL.to_owned(), error.violations.total().to_string());
                break;
            }
            details.add_bad_request_violation(violation.path.as_str(), violation.message.as_str());
        }
        details.set_error_info(error.reason.as_str_name().trim_start_matches("REASON_"), DOMAIN, metadata);
        if let Some(wait) = error.retry_after {
            details.set_retry_info(Some(wait));
        }
        Self::with_error_details(meaning(error.reason).grpc, error.message, details)
    }
}

impl From<&Status> for Error {
    /// Restores an error from the status that [`Status::from`] created.
    ///
    /// If our `ErrorInfo` is missing, uses only the code, because the message can come from anywhere. A status with a source comes from
    /// the transport, after the connection broke.
    fn from(status: &Status) -> Self {
        if status.source().is_some() && !matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled) {
            return Self::core_unavailable();
        }
        let details = status.get_error_details();
        let Some(reason) = details
            .error_info()
            .filter(|info| info.domain == DOMAIN)
            .and_then(|info| Reason::from_str_name(&format!("REASON_{}", info.reason)))
        else {
            return Self::from_code(status.code());
        };
        let mut error = Self::new(reason, status.message());
        if let Some(bad_request) = details.bad_request() {
            for (number, FieldViolation { field, description, .. }) in bad_request.field_violations.iter().enumerate() {
                error.violations.push((0, number as u32), || (field.clone(), description.clone()));
            }
        }
        let total = details.error_info().and_then(|info| info.metadata.get(VIOLATIONS_TOTAL)?.parse().ok());
        error.violations.total = total.unwrap_or(error.violations.len());
        // Keep only the metadata that partners receive.
        for name in ["client_affiliate_id", "case_id", "field", "fields", RESTORED_POSITION] {
            if let Some(value) = details.error_info().and_then(|info| info.metadata.get(name)) {
                error.metadata.push((name, value.clone()));
            }
        }
        error.retry_after = details.retry_info().and_then(|retry| retry.retry_delay);
        error
    }
}

impl Error {
    fn from_code(code: Code) -> Self {
        match code {
            Code::Unavailable => Self::core_unavailable(),
            // Transports report their own deadline as a cancellation.
            Code::DeadlineExceeded | Code::Cancelled => Self::deadline_exceeded(),
            Code::ResourceExhausted => Self::overloaded(),
            Code::Unauthenticated => Self::new(Reason::TokenInvalid, "The bearer token was not accepted."),
            _ => Self::new(Reason::Internal, SERVER_ERROR),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Error, Reason, Status};
    use crate::rules::Violations;

    #[test]
    fn errors_round_trip_through_grpc_status() {
        let sent = Error::affiliate_not_found(7).retry_after(Duration::from_secs(3));
        let read = Error::from(&Status::from(sent.clone()));
        assert_eq!((read.reason, &read.message, read.retry_after), (sent.reason, &sent.message, sent.retry_after));
    }

    #[test]
    fn status_includes_total_violation_count() {
        let mut violations = Violations::new();
        for item in 0..10_000 {
            violations.push((item, 20), || (format!("affiliates.{item}.zip"), "Too long.".into()));
        }
        let status = Status::from(Error::invalid(violations));
        assert!(status.details().len() < 8000, "{}", status.details().len());
        let read = Error::from(&status);
        assert_eq!(read.violations.total(), 10_000);
        assert!(read.violations.len() > 20);
    }

    #[test]
    fn foreign_status_messages_are_hidden() {
        let read = Error::from(&Status::internal("relation \"affiliates\" does not exist"));
        assert_eq!((read.reason, read.message.as_str()), (Reason::Internal, super::SERVER_ERROR));
    }
}
