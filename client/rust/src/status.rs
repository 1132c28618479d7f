//! Converts statuses to errors.

use std::{error::Error as StdError, time::Duration};

use tonic::{Code, Status, TimeoutExpired};
use tonic_types::StatusExt as _;

use crate::{
    error::{Error, Violation, reason},
    v1::Reason,
};

/// Metadata key for the total number of violations, if the service truncated them.
const VIOLATIONS_TOTAL: &str = "violations_total";
/// The wait before a retry if the service does not specify one.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Texts in transport errors that make a retry pointless, and their meanings.
const PERMANENT: [(&str, &str); 4] = [
    ("of type InvalidContentType", "the port does not use TLS"),
    ("invalid peer certificate", "the service's certificate is not valid for this client"),
    ("fatal alert: CertificateRequired", "the service requires a client certificate"),
    ("fatal alert: UnknownCA", "the service does not trust the client certificate"),
];
/// Part of the message if the port serves HTTP, but not gRPC.
const NOT_GRPC: &str = "while receiving response with status: 404";

/// Returns an error and its causes.
fn causes<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// Returns the messages of an error and its causes, separated by colons.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = String::new();
    for next in causes(error).map(ToString::to_string) {
        // Some errors repeat their causes.
        if !text.contains(&next) {
            text = if text.is_empty() { next } else { format!("{text}: {next}") };
        }
    }
    text
}

/// Returns the reason for a status that specifies none, such as a proxy's.
fn reason_of_code(code: Code) -> Reason {
    match code {
        Code::Unauthenticated => Reason::TokenInvalid,
        Code::ResourceExhausted => Reason::Overloaded,
        Code::Unavailable => Reason::CoreUnavailable,
        _ => Reason::Unspecified,
    }
}

impl Error {
    fn unreachable(why: &str, retry_after: Option<Duration>) -> Self {
        let message = format!("cannot reach the service: {why}");
        Self::Unavailable { reason: Reason::CoreUnavailable, message, retry_after }
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        // A status with a source comes from the transport: the connection broke, or the deadline passed.
        if let Some(source) = status.source().filter(|_| status.code() != Code::DeadlineExceeded) {
            if causes(source).any(<dyn StdError>::is::<TimeoutExpired>) {
                return Self::DeadlineExceeded;
            }
            let text = chain(source);
            return match PERMANENT.iter().find(|(part, _)| text.contains(part)) {
                Some((_, meaning)) => Self::unreachable(&format!("{meaning}: {text}"), None),
                None => Self::unreachable(&text, Some(RETRY_AFTER)),
            };
        }
        let message = status.message().to_owned();
        if status.code() == Code::Internal && message.contains(NOT_GRPC) {
            return Self::unreachable(&format!("this is not the gRPC port: {message}"), None);
        }
        let reason = reason(&status).unwrap_or_else(|| reason_of_code(status.code()));
        match status.code() {
            Code::InvalidArgument if reason == Reason::InvalidFields => {
                let details = status.get_error_details();
                let violations = details.bad_request().map(|it| it.field_violations.as_slice()).unwrap_or_default();
                let violation = |it: &tonic_types::FieldViolation| Violation {
                    field: it.field.clone(),
                    description: it.description.clone(),
                };
                let total = details.error_info().and_then(|it| it.metadata.get(VIOLATIONS_TOTAL)?.parse().ok());
                Self::Invalid {
                    message,
                    violations: violations.iter().map(violation).collect(),
                    total: total.unwrap_or(violations.len()),
                }
            }
            Code::Unauthenticated => Self::Unauthenticated { reason, message },
            Code::PermissionDenied => Self::PermissionDenied { message },
            Code::NotFound => Self::NotFound { reason, message },
            Code::AlreadyExists => Self::AlreadyExists { reason, message, is_retry: false },
            Code::Aborted if reason == Reason::EtagMismatch => Self::EtagMismatch { message, is_retry: false },
            Code::FailedPrecondition if reason == Reason::FailedPrecondition => Self::FailedPrecondition { message },
            Code::OutOfRange if matches!(reason, Reason::PositionGone | Reason::PositionRestored) => {
                let metadata = status.get_details_error_info().map(|info| info.metadata).unwrap_or_default();
                let position = |(name, value): (String, String)| Some((name, value.parse().ok()?));
                Self::PositionGone { reason, message, positions: metadata.into_iter().filter_map(position).collect() }
            }
            Code::ResourceExhausted | Code::Unavailable => {
                let retry_after = status.get_details_retry_info().and_then(|retry| retry.retry_delay);
                Self::Unavailable { reason, message, retry_after: Some(retry_after.unwrap_or(RETRY_AFTER)) }
            }
            Code::DeadlineExceeded | Code::Cancelled => Self::DeadlineExceeded,
            _ => Self::Other(Box::new(status)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use compliance_api::{error, rules::Violations};
    use tonic::{Code, Status};

    use crate::{Error, v1::Reason};

    #[test]
    fn client_understands_every_service_reason() {
        for number in 1.. {
            let Ok(sent) = error::Reason::try_from(number) else { break };
            let error = error::Error::new(sent, "Why.").retry_after(Duration::from_secs(3));
            let read = Error::from(Status::from(error));
            assert_eq!(read.reason(), Reason::try_from(number).ok(), "{sent:?}");
            if error::meaning(sent).grpc == Code::Unavailable {
                assert_eq!(read.retry_after(), Some(Duration::from_secs(3)), "{sent:?}");
            }
        }
    }

    #[test]
    fn truncated_violations_keep_their_total() {
        let mut violations = Violations::new();
        for item in 0..10_000 {
            violations.push((item, 20), || (format!("affiliates.{item}.zip"), "Too long.".into()));
        }
        let Error::Invalid { violations, total, .. } = Status::from(error::Error::invalid(violations)).into() else {
            panic!("not Error::Invalid")
        };
        assert!(violations.len() > 20 && total == 10_000, "{} of {total}", violations.len());
        assert_eq!(
            (violations[1].field.as_str(), violations[1].description.as_str()),
            ("affiliates.1.zip", "Too long.")
        );
    }

    #[test]
    fn position_gone_errors_list_known_positions() {
        let error = error::Error::position_gone(3, 7, 9);
        let Error::PositionGone { reason, positions, .. } = Status::from(error).into() else {
            panic!("not Error::PositionGone")
        };
        let positions: Vec<_> = positions.into_iter().collect();
        assert_eq!(positions, [("dropped_position".to_owned(), 7), ("last_position".to_owned(), 9)]);
        assert_eq!(reason, Reason::PositionGone);
    }

    #[test]
    fn statuses_without_reasons_map_by_code() {
        let error = Error::from(Status::unavailable("no backend"));
        assert!(error.is_temporary() && error.retry_after() == Some(Duration::from_secs(1)), "{error:?}");
        assert_eq!(error.reason(), Some(Reason::CoreUnavailable));
        assert!(matches!(Error::from(Status::cancelled("timeout")), Error::DeadlineExceeded));
        let error = Error::from(Status::internal("protocol error while receiving response with status: 404 Not Found"));
        assert!(!error.is_temporary() && error.to_string().contains("this is not the gRPC port"), "{error:?}");
        let error = Error::from(Status::internal("x"));
        assert!(matches!(error, Error::Other(_)) && error.reason().is_none(), "{error:?}");
    }
}
