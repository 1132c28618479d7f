//! Responses of refusals, made from the contract's table of errors. Their examples are what the gateway writes.

use axum::response::IntoResponse as _;
use compliance_api::{
    description,
    error::{Error, Reason, ResultCode, meaning},
    rules::{Rule, Violations},
    token::TokenError,
};
use futures::FutureExt as _;
use http::StatusCode;
use http_body_util::BodyExt as _;

use super::{
    header::{self, Header},
    schema,
};
use crate::{
    compression::unsupported_encoding,
    error::Refusal,
    extract::body_violations::too_large,
    json::{Json, object},
    observe::{expectation_failed, host_invalid},
};

/// The reasons of an operation that have the same status: one response.
pub(super) struct Group {
    pub(super) status: StatusCode,
    reasons: Vec<Reason>,
}

/// Groups reasons by their status.
pub(super) fn groups(reasons: &[Reason]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for reason in reasons.iter().copied() {
        let status = meaning(reason).http;
        match groups.iter_mut().find(|group| group.status == status) {
            Some(group) if !group.reasons.contains(&reason) => group.reasons.push(reason),
            Some(_) => {}
            None => groups.push(Group { status, reasons: vec![reason] }),
        }
    }
    groups
}

impl Group {
    /// The name of its component.
    pub(super) fn name(&self) -> String {
        match self.status {
            StatusCode::UNAUTHORIZED => "Unauthorized".to_owned(),
            // Operations for everybody have fewer reasons for it, but the same response.
            StatusCode::SERVICE_UNAVAILABLE => "Unavailable".to_owned(),
            _ => self.reasons.first().map(|reason| format!("{reason:?}")).unwrap_or_default(),
        }
    }

    pub(super) fn reference(&self) -> Json {
        object! { "$ref": format!("#/components/responses/{}", self.name()) }
    }

    pub(super) fn into_json(mut self) -> Json {
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            self.reasons = vec![Reason::DatabaseUnavailable, Reason::Overloaded, Reason::CoreUnavailable];
        }
        let docs = self.reasons.iter().map(|reason| description::reason(*reason));
        let examples = self.reasons.iter().map(|reason| (format!("{reason:?}"), example(*reason)));
        let content = object! { "schema": self.schema(), "examples": Json::object(examples) };
        object! {
            "description": docs.collect::<Vec<_>>().join(" Or: "),
            "headers": self.headers(),
            "content": object! { "application/json": content },
        }
    }

    fn schema(&self) -> Json {
        match self.reasons.first() {
            Some(Reason::InvalidFields) => schema::reference("ValidationFailure"),
            Some(Reason::AffiliateNameExists) => schema::reference("AffiliateDuplicate"),
            Some(reason) => schema::error_with(meaning(*reason).result),
            None => Json::Null,
        }
    }

    fn headers(&self) -> Json {
        let limited = |headers: &[Header]| header::references(headers, Some(header::RATE_LIMIT));
        match self.status {
            StatusCode::BAD_REQUEST | StatusCode::EXPECTATION_FAILED => header::references(&[header::REQUEST_ID], None),
            StatusCode::UNAUTHORIZED => header::references(&[header::REQUEST_ID, header::WWW_AUTHENTICATE], None),
            StatusCode::TOO_MANY_REQUESTS => limited(&[header::REQUEST_ID, header::RETRY_AFTER]),
            // A connection too many is refused before anything is read from it.
            StatusCode::SERVICE_UNAVAILABLE => limited(&[header::RETRY_AFTER]),
            _ => limited(&[header::REQUEST_ID]),
        }
    }
}

/// The body of a refusal for a reason.
fn example(reason: Reason) -> Json {
    let error = sample(reason);
    object! { "summary": description::reason(reason), "value": body_of(error) }
}

/// The body that the gateway writes for an error.
pub(super) fn body_of(error: Error) -> Json {
    let response = Refusal::from(error).into_response();
    // The body is in memory, so it is there at once.
    let body = response.into_body().collect().now_or_never().and_then(Result::ok);
    body.map_or(Json::Null, |body| Json::parse(&body.to_bytes()))
}

/// An error of a reason, as callers receive it.
fn sample(reason: Reason) -> Error {
    match reason {
        Reason::TokenMissing => TokenError::Missing.into(),
        Reason::TokenInvalid => TokenError::Invalid.into(),
        Reason::TokenExpired => TokenError::Expired.into(),
        Reason::RateLimited => Error::share_used_up(),
        Reason::InvalidFields => Error::invalid(violations()),
        Reason::AffiliateNotFound => Error::affiliate_not_found(7),
        Reason::UrlNotFound => Error::url_not_found(7),
        Reason::CaseNotFound => Error::case_not_found(7),
        Reason::AffiliateNameExists => Error::affiliate_name_exists("A-1001"),
        Reason::HostInvalid => host_invalid(),
        Reason::ExpectationFailed => expectation_failed(),
        Reason::EncodingUnsupported => unsupported_encoding(),
        Reason::BodyTooLarge => too_large(),
        Reason::DatabaseUnavailable => Error::database_unavailable(),
        Reason::Overloaded => Error::overloaded(),
        Reason::CoreUnavailable => Error::core_unavailable(),
        Reason::DeadlineExceeded => Error::deadline_exceeded(),
        Reason::UnknownPath => crate::routes::unknown(),
        // No operation of partners is refused for the other reasons.
        other => Error { reason: other, ..Error::internal() },
    }
}

fn violations() -> Violations {
    let mut violations = Violations::new();
    violations.add("affiliate_name", Rule::Required);
    violations.add("zip", Rule::MaxChars(16));
    violations
}

/// The result code of a reason, as a text.
pub(super) fn code(code: ResultCode) -> String {
    i32::from(code).to_string()
}
