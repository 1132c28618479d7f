//! Refusals as HTTP answers. What a reason means is the contract's table; nothing here knows a status of its own.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use compliance_api::error::{Error, Reason};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{RETRY_AFTER, WWW_AUTHENTICATE},
};
use tonic::Status;

use crate::envelope::{Detail, Envelope, Faults, answer};

/// What the core tells of the company's rate limit; passed on as it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rate([Option<HeaderValue>; 3]);

const RATE_HEADERS: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];

impl Rate {
    /// Takes the facts out of the core's metadata.
    pub(crate) fn take(metadata: tonic::metadata::MetadataMap) -> Self {
        let mut headers = metadata.into_headers();
        Self(RATE_HEADERS.map(|name| headers.remove(name)))
    }

    pub(crate) fn write(self, headers: &mut HeaderMap) {
        for (name, value) in RATE_HEADERS.into_iter().zip(self.0) {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
    }
}

/// A request that is refused, and how the company stands.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) error: Error,
    pub(crate) rate: Rate,
}

impl Refusal {
    pub(crate) fn internal() -> Self {
        Error::internal().into()
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { error, rate: Rate::default() }
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        let error = Error::from(&status);
        if error.meaning().http.is_server_error() {
            // The caller sees a fixed sentence; what really happened is for the log.
            tracing::warn!(code = ?status.code(), message = status.message(), "the core refused a call");
        }
        Self { error, rate: Rate::take(status.metadata().clone()) }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self { error, rate } = self;
        let meaning = error.meaning();
        if error.reason == Reason::InvalidFields {
            let faults = Faults { message: &error.message, violations: &error.violations };
            return answer(meaning.http, rate, &faults);
        }
        // The one fact that is documented as part of an error's body.
        let told = error.metadata.iter().find(|(name, _)| *name == "client_affiliate_id");
        let client_affiliate_id =
            told.filter(|_| error.reason == Reason::AffiliateNameExists).map(|(_, id)| id.as_str());
        let detail = Detail { client_affiliate_id, msg: &error.message, ..Detail::default() };
        let mut response = answer(meaning.http, rate, &Envelope::result(meaning.result, detail));
        if let Some(challenge) = challenge(error.reason) {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        if let Some(wait) = wait(&error) {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait));
        }
        response
    }
}

/// RFC 6750, 3.
fn challenge(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::TokenMissing => Some("Bearer"),
        Reason::TokenInvalid | Reason::TokenExpired => Some("Bearer error=\"invalid_token\""),
        Reason::ScopeMissing => Some("Bearer error=\"insufficient_scope\""),
        _ => None,
    }
}

/// Whole seconds, at least one, for errors that pass.
fn wait(error: &Error) -> Option<u64> {
    let passes = matches!(
        error.reason,
        Reason::RateLimited | Reason::DatabaseUnavailable | Reason::Overloaded | Reason::CoreUnavailable
    );
    let wait = error.retry_after.or(passes.then_some(Duration::from_secs(1)))?;
    Some((wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1))
}
