//! Errors as HTTP responses. The contract's error table maps reasons to statuses.

use axum::response::{IntoResponse, Response};
use compliance_api::error::{Error, RESTORED_POSITION, Reason, meaning};
use http::{
    HeaderValue,
    header::{RETRY_AFTER, WWW_AUTHENTICATE},
};
use tonic::Status;

use crate::{
    envelope::{Detail, Envelope, RateLimit, respond, respond_invalid},
    limits::RETRY_WAIT,
};

/// A refused request, with the company's rate limit if the core reported it.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) error: Error,
    pub(crate) rate_limit: RateLimit,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { error, rate_limit: RateLimit::default() }
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        let error = Error::from(&status);
        if meaning(error.reason).http.is_server_error() {
            // The caller gets a fixed message. The log has the cause.
            tracing::warn!(code = ?status.code(), error = status.message(), "the core rejected a call");
        }
        Self { error, rate_limit: status.metadata().clone().into() }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self { error, rate_limit } = self;
        let meaning = meaning(error.reason);
        if error.reason == Reason::InvalidFields {
            return respond_invalid(meaning.http, rate_limit, &error.message, error.violations);
        }
        // The documented metadata of an error's body.
        let value =
            |name: &str| error.metadata.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
        let of = |reason, name| value(name).filter(|_| error.reason == reason);
        let fields = of(Reason::RequestIdReused, "fields").or_else(|| of(Reason::ReferenceNotFound, "field"));
        let fields: Option<Vec<&str>> = fields.map(|fields| fields.split(',').collect());
        let detail = Detail {
            client_affiliate_id: of(Reason::AffiliateNameExists, "client_affiliate_id"),
            case_id: of(Reason::RequestIdReused, "case_id").and_then(|id| id.parse().ok()),
            fields: fields.as_deref(),
            restored_position: value(RESTORED_POSITION).and_then(|position| position.parse().ok()),
            msg: &error.message,
            ..Detail::default()
        };
        let mut response = respond(meaning.http, rate_limit, &Envelope::result(meaning.result, detail));
        if let Some(challenge) = challenge(error.reason) {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        if let Some(seconds) = retry_after_seconds(&error) {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// RFC 6750, section 3.
fn challenge(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::TokenMissing => Some("Bearer"),
        Reason::TokenInvalid | Reason::TokenExpired => Some("Bearer error=\"invalid_token\""),
        Reason::ScopeMissing => Some("Bearer error=\"insufficient_scope\""),
        _ => None,
    }
}

/// Returns whole seconds, at least one, for temporary errors.
fn retry_after_seconds(error: &Error) -> Option<u64> {
    let is_temporary = matches!(
        error.reason,
        Reason::RateLimited | Reason::DatabaseUnavailable | Reason::Overloaded | Reason::CoreUnavailable
    );
    let wait = error.retry_after.or(is_temporary.then_some(RETRY_WAIT))?;
    Some((wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1))
}
