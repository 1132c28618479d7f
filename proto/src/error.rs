//! The error table: each reason with its gRPC code, HTTP status and result code.

use std::time::Duration;

use crate::rules::Violations;
pub use crate::v1::{Reason, ResultCode};

/// How REST and gRPC report a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// The gRPC status code.
    pub grpc: tonic::Code,
    /// The HTTP status code.
    pub http: http::StatusCode,
    /// The `code` in the envelope. Validation failures have no code.
    pub result: ResultCode,
}

/// Returns the codes that report a reason.
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

/// An error for callers of either layer. It never contains driver or panic messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// Why the call failed.
    pub reason: Reason,
    /// Human-readable message.
    pub message: String,
    /// Machine-readable metadata, as names and values.
    pub metadata: Vec<(&'static str, String)>,
    /// Violations of the request, for [`Reason::InvalidFields`]. Long lists are truncated.
    pub violations: Violations,
    /// When to retry.
    pub retry_after: Option<Duration>,
}

impl Error {
    /// Creates an error with this message.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), metadata: Vec::new(), violations: Violations::new(), retry_after: None }
    }

    /// Adds machine-readable metadata.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.metadata.push((name, value.to_string()));
        self
    }

    /// Sets when to retry.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Returns the error for invalid request fields.
    pub fn invalid(violations: Violations) -> Self {
        let summary = violations.summary();
        Self { violations, ..Self::new(Reason::InvalidFields, summary) }
    }

    /// Returns the error for an unknown affiliate ID.
    ///
    /// `id` is the text that the caller sent.
    pub fn affiliate_not_found(id: impl ToString) -> Self {
        let id = id.to_string();
        Self::new(Reason::AffiliateNotFound, affiliate_not_found_text(&id)).with("affiliate_id", id)
    }

    /// Returns the error for an unknown URL ID.
    pub fn url_not_found(id: impl ToString) -> Self {
        Self::new(Reason::UrlNotFound, "URL not found.").with("url_id", id)
    }

    /// Returns the error for an unknown case ID.
    pub fn case_not_found(id: impl ToString) -> Self {
        Self::new(Reason::CaseNotFound, "Case not found.").with("case_id", id)
    }

    /// Returns the error for an unknown webhook ID.
    pub fn webhook_not_found(id: impl ToString) -> Self {
        Self::new(Reason::WebhookNotFound, "Webhook not found.").with("webhook_id", id)
    }

    /// Returns the error for an etag mismatch. `name` names the record's ID, such as `affiliate_id`.
    pub fn etag_mismatch(name: &'static str, id: i64, etag: &str) -> Self {
        Self::new(Reason::EtagMismatch, RECORD_CHANGED).with(name, id).with("etag", etag)
    }

    /// Returns the error for a position that is no longer available. Changes after `dropped`, up to `last`, are available.
    pub fn position_gone(position: i64, dropped: i64, last: i64) -> Self {
        let message = format!(
            "Changes after position {position} are not available. You can read changes after position {dropped}, up to {last}."
        );
        Self::new(Reason::PositionGone, message).with("dropped_position", dropped).with("last_position", last)
    }

    /// Returns the error for a position lost in a restore. Positions up to `kept` and after `restored` exist.
    pub fn position_restored(position: i64, kept: i64, restored: i64) -> Self {
        let message = format!(
            "Position {position} is lost: the database was restored, or a standby took over. Read all records again, then the changes \
             after {restored}."
        );
        Self::new(Reason::PositionRestored, message).with("kept_position", kept).with(RESTORED_POSITION, restored)
    }

    /// Returns whether a client cannot continue reading changes from its position.
    pub fn is_of_position(&self) -> bool {
        matches!(self.reason, Reason::PositionGone | Reason::PositionRestored)
    }

    /// Returns the error for an affiliate with too many records or changes for one erasure.
    pub fn erasure_too_large(id: i64) -> Self {
        Self::new(Reason::FailedPrecondition, ERASURE_TOO_LARGE).with("affiliate_id", id)
    }

    /// Returns the error for a sync that would change more than `max_absent` absent affiliates.
    pub fn too_many_absent(absent: i64, max_absent: i64, status: &str) -> Self {
        let message = format!(
            "The sync would set {absent} absent affiliates to {status}, but max_absent allows only {max_absent}. None was changed. If \
             the list is complete, set max_absent to {absent}."
        );
        Self::new(Reason::FailedPrecondition, message).with("absent", absent).with("max_absent", max_absent)
    }

    /// Returns the error for a token that lacks a scope.
    pub fn scope_missing(scope: &str) -> Self {
        let message = format!("The operation needs a token with the scope {scope}.");
        Self::new(Reason::ScopeMissing, message).with("scope", scope)
    }

    /// Returns the error for an affiliate name that is already taken.
    ///
    /// `holder` is the ID of the affiliate with this name, if known.
    pub fn affiliate_name_exists(client_affiliate_id: &str, holder: Option<i64>) -> Self {
        let message = name_exists_text(holder);
        Self::new(Reason::AffiliateNameExists, message).with("client_affiliate_id", client_affiliate_id)
    }

    /// Returns the error for an internal failure. The log contains the details.
    pub fn internal() -> Self {
        Self::new(Reason::Internal, SERVER_ERROR)
    }

    /// Returns the error for a call that timed out.
    pub fn deadline_exceeded() -> Self {
        Self::new(Reason::DeadlineExceeded, "The request took too long. Please try again.")
    }

    /// Returns the error for an unreachable database.
    pub fn database_unavailable() -> Self {
        Self::new(Reason::DatabaseUnavailable, UNAVAILABLE).retry_after(Duration::from_secs(1))
    }

    /// Returns the error for an unreachable core.
    pub fn core_unavailable() -> Self {
        Self::new(Reason::CoreUnavailable, UNAVAILABLE).retry_after(Duration::from_secs(1))
    }

    /// Returns the error for an overloaded service.
    pub fn overloaded() -> Self {
        Self::new(Reason::Overloaded, UNAVAILABLE).retry_after(Duration::from_secs(1))
    }

    /// Returns the error for an oversized body.
    pub fn body_too_large() -> Self {
        Self::new(Reason::BodyTooLarge, "The request body is too large.")
    }

    /// Returns the error for an unsupported body encoding.
    pub fn encoding_unsupported() -> Self {
        Self::new(Reason::EncodingUnsupported, "The Content-Encoding of the body must be gzip or absent.")
    }

    /// Returns the error for an unsupported `Expect` header.
    pub fn expectation_failed() -> Self {
        Self::new(Reason::ExpectationFailed, "The Expect header must be 100-continue.")
    }

    /// Returns the error for a request without exactly one host.
    pub fn host_invalid() -> Self {
        Self::new(Reason::HostInvalid, "The request must have exactly one Host header.")
    }

    /// Returns the error for an unknown path.
    pub fn unknown_path() -> Self {
        Self::new(Reason::UnknownPath, "Nothing is served at this path.")
    }

    /// Returns the error for a company that has used up its memory, calls or streams.
    pub fn too_many_concurrent_requests() -> Self {
        Self::new(Reason::RateLimited, "Too many requests at the same time. Please wait before trying again.")
            .retry_after(Duration::from_secs(1))
    }
}

/// Metadata key for the position after which a restored database continues.
pub const RESTORED_POSITION: &str = "restored_position";

/// Fixed message for server errors.
pub const SERVER_ERROR: &str = "Unexpected server error. Please contact the server administrator.";
/// Message for a temporarily unavailable service.
pub const UNAVAILABLE: &str = "The service is temporarily unavailable. Please try again later.";
/// Message for an etag mismatch.
pub const RECORD_CHANGED: &str = "The record has changed since it was read. Read it again before you change it.";

/// Message for an affiliate that only the operator can erase.
const ERASURE_TOO_LARGE: &str = "The affiliate has too many records or changes for one request. Ask the service operator to run `compliance erase`.";

/// Returns the message for a taken affiliate name, with the ID of its holder if known.
pub fn name_exists_text(holder: Option<i64>) -> String {
    let exists = "An affiliate with this name already exists.";
    holder.map_or_else(|| exists.to_owned(), |id| format!("{exists} Its ID is {id}."))
}

/// Returns the message for an unknown affiliate ID.
pub fn affiliate_not_found_text(id: &str) -> String {
    format!("No affiliate was found for the provided affiliate ID {id}.")
}

#[cfg(test)]
mod tests {
    use super::{Reason, ResultCode, meaning};

    #[test]
    fn every_reason_maps_to_grpc_and_http_errors() {
        for number in 1.. {
            let Ok(reason) = Reason::try_from(number) else { break };
            let meaning = meaning(reason);
            assert_ne!(meaning.grpc, tonic::Code::Ok, "{reason:?}");
            assert!(meaning.http.is_client_error() || meaning.http.is_server_error(), "{reason:?}");
            // Only validation failures have no code.
            assert_eq!(meaning.result == ResultCode::Unspecified, reason == Reason::InvalidFields, "{reason:?}");
        }
    }
}
