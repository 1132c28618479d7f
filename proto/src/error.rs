//! The one table of errors: each reason with its gRPC code, HTTP status and result code.

use std::time::Duration;

use crate::rules::Violations;
pub use crate::v1::{Reason, ResultCode};

/// What a reason means to callers of either layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// The status of a gRPC call.
    pub grpc: tonic::Code,
    /// The status of an HTTP response.
    pub http: http::StatusCode,
    /// The `code` of the envelope. A validation failure has another body, without a code.
    pub result: ResultCode,
}

/// The table of errors.
pub const fn meaning(reason: Reason) -> Meaning {
    use http::StatusCode as Http;
    use tonic::Code as Grpc;
    let (grpc, http, result) = match reason {
        Reason::TokenMissing | Reason::TokenInvalid | Reason::TokenExpired => {
            (Grpc::Unauthenticated, Http::UNAUTHORIZED, ResultCode::Unauthorized)
        }
        Reason::ScopeMissing => (Grpc::PermissionDenied, Http::FORBIDDEN, ResultCode::Forbidden),
        Reason::RateLimited => (Grpc::ResourceExhausted, Http::TOO_MANY_REQUESTS, ResultCode::RateLimited),
        Reason::InvalidFields => (Grpc::InvalidArgument, Http::UNPROCESSABLE_ENTITY, ResultCode::Unspecified),
        Reason::AffiliateNotFound
        | Reason::UrlNotFound
        | Reason::CaseNotFound
        | Reason::ReferenceNotFound
        | Reason::WebhookNotFound => (Grpc::NotFound, Http::NOT_FOUND, ResultCode::NotFound),
        Reason::AffiliateNameExists | Reason::RequestIdReused => {
            (Grpc::AlreadyExists, Http::CONFLICT, ResultCode::Duplicate)
        }
        Reason::PositionGone | Reason::PositionRestored => (Grpc::OutOfRange, Http::GONE, ResultCode::Gone),
        Reason::EtagMismatch => (Grpc::Aborted, Http::PRECONDITION_FAILED, ResultCode::PreconditionFailed),
        Reason::FailedPrecondition => (Grpc::FailedPrecondition, Http::CONFLICT, ResultCode::UpdateFailed),
        Reason::HostInvalid | Reason::RequestMalformed => {
            (Grpc::InvalidArgument, Http::BAD_REQUEST, ResultCode::BadRequest)
        }
        Reason::CompressionUnsupported => {
            (Grpc::Unimplemented, Http::UNSUPPORTED_MEDIA_TYPE, ResultCode::UnsupportedMediaType)
        }
        Reason::ExpectationFailed => (Grpc::InvalidArgument, Http::EXPECTATION_FAILED, ResultCode::ExpectationFailed),
        Reason::EncodingUnsupported | Reason::ContentTypeInvalid => {
            (Grpc::InvalidArgument, Http::UNSUPPORTED_MEDIA_TYPE, ResultCode::UnsupportedMediaType)
        }
        Reason::UriTooLong => (Grpc::InvalidArgument, Http::URI_TOO_LONG, ResultCode::UriTooLong),
        Reason::HeadersTooLarge => {
            (Grpc::InvalidArgument, Http::REQUEST_HEADER_FIELDS_TOO_LARGE, ResultCode::HeadersTooLarge)
        }
        Reason::UnknownPath => (Grpc::Unimplemented, Http::NOT_FOUND, ResultCode::UnknownPath),
        Reason::MethodNotAllowed => (Grpc::Unimplemented, Http::METHOD_NOT_ALLOWED, ResultCode::MethodNotAllowed),
        Reason::BodyTooLarge => (Grpc::OutOfRange, Http::PAYLOAD_TOO_LARGE, ResultCode::BodyTooLarge),
        Reason::DatabaseUnavailable | Reason::Overloaded | Reason::CoreUnavailable => {
            (Grpc::Unavailable, Http::SERVICE_UNAVAILABLE, ResultCode::Unavailable)
        }
        Reason::DeadlineExceeded => (Grpc::DeadlineExceeded, Http::GATEWAY_TIMEOUT, ResultCode::Timeout),
        Reason::Unspecified | Reason::Internal => {
            (Grpc::Internal, Http::INTERNAL_SERVER_ERROR, ResultCode::ServerError)
        }
    };
    Meaning { grpc, http, result }
}

/// An error that callers of either layer may see. It never holds the text of a driver or of a panic.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// Why.
    pub reason: Reason,
    /// A sentence for people.
    pub message: String,
    /// Metadata for programs, by name.
    pub metadata: Vec<(&'static str, String)>,
    /// The violations of the request, when the reason is [`Reason::InvalidFields`]. It holds fewer than their total when they
    /// were too many to keep or to send.
    pub violations: Violations,
    /// When to try again.
    pub retry_after: Option<Duration>,
}

impl Error {
    /// An error with a sentence of its own.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), metadata: Vec::new(), violations: Violations::new(), retry_after: None }
    }

    /// Adds metadata for programs.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.metadata.push((name, value.to_string()));
        self
    }

    /// Sets when to try again.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Fields of the request are invalid.
    pub fn invalid(violations: Violations) -> Self {
        let summary = violations.summary();
        Self { violations, ..Self::new(Reason::InvalidFields, summary) }
    }

    /// The company has no such affiliate. `id` is what the caller provided.
    pub fn affiliate_not_found(id: impl ToString) -> Self {
        let id = id.to_string();
        Self::new(Reason::AffiliateNotFound, affiliate_not_found_text(&id)).with("affiliate_id", id)
    }

    /// The company has no such URL.
    pub fn url_not_found(id: impl ToString) -> Self {
        Self::new(Reason::UrlNotFound, "URL not found.").with("url_id", id)
    }

    /// The company has no such case.
    pub fn case_not_found(id: impl ToString) -> Self {
        Self::new(Reason::CaseNotFound, "Case not found.").with("case_id", id)
    }

    /// The company has no such webhook.
    pub fn webhook_not_found(id: impl ToString) -> Self {
        Self::new(Reason::WebhookNotFound, "Webhook not found.").with("webhook_id", id)
    }

    /// The record, whose ID is `id` of the kind `name`, has another etag than the request names.
    pub fn etag_mismatch(name: &'static str, id: i64, etag: &str) -> Self {
        Self::new(Reason::EtagMismatch, RECORD_CHANGED).with(name, id).with("etag", etag)
    }

    /// Changes after the position are not, or no longer, kept: there are those above `dropped`, up to `last`.
    pub fn position_gone(position: i64, dropped: i64, last: i64) -> Self {
        let message = format!(
            "The changes after position {position} cannot be read. Those after {dropped} are kept, up to {last}."
        );
        Self::new(Reason::PositionGone, message).with("dropped_position", dropped).with("last_position", last)
    }

    /// The position was lost by a restore: there are those up to `kept`, and those after `restored`.
    pub fn position_restored(position: i64, kept: i64, restored: i64) -> Self {
        let message = format!(
            "Position {position} is lost: the database was restored from a backup. Read all records again, and then the changes after \
             {restored}."
        );
        Self::new(Reason::PositionRestored, message).with("kept_position", kept).with(RESTORED_POSITION, restored)
    }

    /// Whether a reader of changes cannot go on from its position.
    pub fn is_of_position(&self) -> bool {
        matches!(self.reason, Reason::PositionGone | Reason::PositionRestored)
    }

    /// The affiliate has too many records or changes to be erased by a request.
    pub fn erasure_too_large(id: i64) -> Self {
        Self::new(Reason::FailedPrecondition, ERASURE_TOO_LARGE).with("affiliate_id", id)
    }

    /// `absent` affiliates that a roster lacks would get a status, and `max_absent` may.
    pub fn too_many_absent(absent: i64, max_absent: i64, status: &str) -> Self {
        let message = format!(
            "The roster lacks {absent} affiliates that would be set to {status}, and at most {max_absent} may be. None was \
             changed. If the roster is complete, set max_absent to {absent}."
        );
        Self::new(Reason::FailedPrecondition, message).with("absent", absent).with("max_absent", max_absent)
    }

    /// The token lacks a scope.
    pub fn scope_missing(scope: &str) -> Self {
        let message = format!("The operation needs a token with the scope {scope}.");
        Self::new(Reason::ScopeMissing, message).with("scope", scope)
    }

    /// The company has an affiliate of this name already.
    pub fn affiliate_name_exists(client_affiliate_id: &str) -> Self {
        Self::new(Reason::AffiliateNameExists, NAME_EXISTS).with("client_affiliate_id", client_affiliate_id)
    }

    /// Something went wrong inside the service. The log has the details.
    pub fn internal() -> Self {
        Self::new(Reason::Internal, SERVER_ERROR)
    }

    /// The response did not arrive in time.
    pub fn deadline_exceeded() -> Self {
        Self::new(Reason::DeadlineExceeded, "The request took too long. Please try again.")
    }

    /// The database cannot be reached.
    pub fn database_unavailable() -> Self {
        Self::new(Reason::DatabaseUnavailable, UNAVAILABLE).retry_after(Duration::from_secs(1))
    }

    /// The core service cannot be reached.
    pub fn core_unavailable() -> Self {
        Self::new(Reason::CoreUnavailable, UNAVAILABLE).retry_after(Duration::from_secs(1))
    }

    /// More work than the service can take.
    pub fn overloaded() -> Self {
        Self::new(Reason::Overloaded, UNAVAILABLE).retry_after(Duration::from_secs(1))
    }

    /// The body is larger than the service accepts.
    pub fn body_too_large() -> Self {
        Self::new(Reason::BodyTooLarge, "The request body is too large.")
    }

    /// The body has an encoding that the service does not know.
    pub fn encoding_unsupported() -> Self {
        Self::new(Reason::EncodingUnsupported, "The Content-Encoding of the body must be gzip, or none.")
    }

    /// The request expects what the service does not do.
    pub fn expectation_failed() -> Self {
        Self::new(Reason::ExpectationFailed, "The request expects something other than 100-continue.")
    }

    /// The request does not name exactly one host.
    pub fn host_invalid() -> Self {
        Self::new(Reason::HostInvalid, "The request must have exactly one Host header.")
    }

    /// Nothing is served at the path.
    pub fn unknown_path() -> Self {
        Self::new(Reason::UnknownPath, "Nothing is served at this path.")
    }

    /// The company has used up its share of the service: of memory, calls or streams.
    pub fn share_used_up() -> Self {
        Self::new(Reason::RateLimited, "Too many requests at the same time. Please wait before trying again.")
            .retry_after(Duration::from_secs(1))
    }
}

/// The metadata with the position after which changes follow that a restored database has.
pub const RESTORED_POSITION: &str = "restored_position";

/// The fixed sentence of a server error.
pub const SERVER_ERROR: &str = "Unexpected server error. Please contact the server administrator.";
/// The sentence of a service that is temporarily unavailable.
pub const UNAVAILABLE: &str = "The service is temporarily unavailable. Please try again later.";
/// The sentence for an affiliate name that the company has already.
pub const NAME_EXISTS: &str = "An affiliate with this name already exists.";

/// The sentence for a record that has another etag than the request names.
pub const RECORD_CHANGED: &str = "The record has changed since it was read. Read it again before you change it.";

/// The sentence for an affiliate that only the operator can erase.
const ERASURE_TOO_LARGE: &str = "The affiliate has too many records or changes to be erased by a request. Ask the operator of the service to \
                                 erase it with `compliance erase`.";

/// The sentence for an affiliate that the company does not have.
pub fn affiliate_not_found_text(id: &str) -> String {
    format!("No affiliate was found for the provided affiliate ID {id}.")
}

#[cfg(test)]
mod tests {
    use super::{Reason, ResultCode, meaning};

    #[test]
    fn every_reason_has_an_error_on_both_layers() {
        for number in 1.. {
            let Ok(reason) = Reason::try_from(number) else { break };
            let meaning = meaning(reason);
            assert_ne!(meaning.grpc, tonic::Code::Ok, "{reason:?}");
            assert!(meaning.http.is_client_error() || meaning.http.is_server_error(), "{reason:?}");
            // Only a validation failure has no code: its body is another.
            assert_eq!(meaning.result == ResultCode::Unspecified, reason == Reason::InvalidFields, "{reason:?}");
        }
    }
}
