//! Generates error responses from the contract's error table.

use std::collections::BTreeMap;

use compliance_api::{
    description,
    error::{Error, RESTORED_POSITION, Reason, meaning},
    rules::Violations,
    token::TokenError,
};
use docs_pages::{Json, object};
use http::StatusCode;

use crate::schema::reference;

pub(crate) const REQUEST_ID: &str = "X-Request-Id";
pub(crate) const IGNORED_PARAMETERS: &str = "X-Ignored-Parameters";
pub(crate) const IGNORED_FIELDS: &str = "X-Ignored-Fields";
pub(crate) const ETAG: &str = "ETag";
pub(crate) const RATE_LIMIT: [&str; 3] = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/// Returns references to headers.
pub(crate) fn header_references<'a>(headers: impl IntoIterator<Item = &'a str>) -> Json {
    Json::object(headers.into_iter().map(|name| {
        // `ETag` has several descriptions.
        let header = if name.starts_with(ETAG) { ETAG } else { name };
        (header, object! { "$ref": format!("#/components/headers/{name}") })
    }))
}

/// Returns every reason in the contract.
pub(crate) fn reasons() -> impl Iterator<Item = Reason> {
    (1..).map_while(|number| Reason::try_from(number).ok())
}

/// Returns the reason with this name.
pub(crate) fn reason(name: &str) -> Reason {
    reasons().find(|reason| format!("{reason:?}") == name).unwrap_or_else(|| panic!("unknown reason {name}"))
}

/// Groups reasons by status. Each group is one response.
pub(crate) fn responses(reasons: &[Reason]) -> BTreeMap<StatusCode, Vec<Reason>> {
    let mut groups: BTreeMap<_, Vec<Reason>> = BTreeMap::new();
    for reason in reasons {
        let group = groups.entry(meaning(*reason).http).or_default();
        if !group.contains(reason) {
            group.push(*reason);
        }
    }
    groups
}

/// Returns a response's name among the components.
pub(crate) fn name(status: StatusCode, reasons: &[Reason]) -> String {
    match status {
        StatusCode::UNAUTHORIZED => "Unauthorized".to_owned(),
        // Operations without tokens have fewer reasons, but the same response.
        StatusCode::SERVICE_UNAVAILABLE => "Unavailable".to_owned(),
        _ => reasons.first().map(|reason| format!("{reason:?}")).unwrap_or_default(),
    }
}

/// Returns the response for reasons with the same status.
pub(crate) fn response(status: StatusCode, reasons: &[Reason]) -> Json {
    let reasons = match status {
        StatusCode::SERVICE_UNAVAILABLE => {
            &[Reason::DatabaseUnavailable, Reason::Overloaded, Reason::CoreUnavailable][..]
        }
        _ => reasons,
    };
    let docs = reasons.iter().map(|reason| description::reason(*reason));
    let examples = reasons.iter().map(|reason| (format!("{reason:?}"), example(*reason)));
    let content = object! { "schema": schema(reasons), "examples": Json::object(examples) };
    object! {
        "description": docs.collect::<Vec<_>>().join(" Or: "),
        "headers": headers(status),
        "content": object! { "application/json": content },
    }
}

fn schema(reasons: &[Reason]) -> Json {
    match reasons.first() {
        Some(Reason::InvalidFields) => reference("ValidationFailure"),
        Some(Reason::AffiliateNameExists) => reference("AffiliateDuplicate"),
        reason => {
            let code = reason.map(|reason| code(*reason));
            reference("Error").with("properties", object! { "code": object! { "const": code } })
        }
    }
}

fn headers(status: StatusCode) -> Json {
    let (headers, is_limited): (&[&str], bool) = match status {
        StatusCode::BAD_REQUEST | StatusCode::EXPECTATION_FAILED => (&[REQUEST_ID], false),
        StatusCode::UNAUTHORIZED => (&[REQUEST_ID, IGNORED_PARAMETERS, "WWW-Authenticate"], false),
        StatusCode::TOO_MANY_REQUESTS => (&[REQUEST_ID, IGNORED_PARAMETERS, IGNORED_FIELDS, "Retry-After"], true),
        // The service rejects excess connections before it reads a request.
        StatusCode::SERVICE_UNAVAILABLE => (&["Retry-After"], true),
        // The service does not read the body.
        StatusCode::PAYLOAD_TOO_LARGE => (&[REQUEST_ID, IGNORED_PARAMETERS], true),
        _ => (&[REQUEST_ID, IGNORED_PARAMETERS, IGNORED_FIELDS], true),
    };
    header_references(headers.iter().chain(RATE_LIMIT.iter().filter(|_| is_limited)).copied())
}

/// Returns an example body for a reason.
fn example(reason: Reason) -> Json {
    let error = sample(reason);
    let body = if reason == Reason::InvalidFields {
        let errors = error.violations.into_iter().map(|violation| (violation.path, [violation.message]));
        object! { "message": error.message, "errors": Json::object(errors) }
    } else {
        let documented = error.metadata.into_iter().filter_map(|(name, value)| match name {
            "client_affiliate_id" => Some((name, Json::of(&value))),
            "case_id" if reason == Reason::RequestIdReused => Some((name, Json::parse(&value))),
            "field" | "fields" => Some(("fields", Json::of(&value.split(',').collect::<Vec<_>>()))),
            RESTORED_POSITION => Some((name, Json::parse(&value))),
            _ => None,
        });
        let detail = Json::object(documented).with("msg", error.message);
        object! { "code": code(reason), "status": "error", "detail": detail }
    };
    object! { "summary": description::reason(reason), "value": body }
}

/// Returns an error with this reason, as callers receive it.
fn sample(reason: Reason) -> Error {
    match reason {
        Reason::TokenMissing => TokenError::Missing.into(),
        Reason::TokenInvalid => TokenError::Invalid.into(),
        Reason::TokenExpired => TokenError::Expired.into(),
        Reason::RateLimited => Error::too_many_concurrent_requests(),
        Reason::InvalidFields => Error::invalid(violations()),
        Reason::AffiliateNotFound => Error::affiliate_not_found(7),
        Reason::UrlNotFound => Error::url_not_found(7),
        Reason::CaseNotFound => Error::case_not_found(7),
        Reason::AffiliateNameExists => Error::affiliate_name_exists("A-1001", Some(7)),
        Reason::ScopeMissing => Error::scope_missing("erase"),
        Reason::FailedPrecondition => Error::erasure_too_large(7),
        Reason::WebhookNotFound => Error::webhook_not_found(7),
        Reason::PositionGone => Error::position_gone(7, 12, 345),
        Reason::PositionRestored => Error::position_restored(7, 5, 1_099_511_627_781),
        Reason::ReferenceNotFound => Error::new(reason, "URL not found.").with("field", "incidents.0.url_id"),
        Reason::RequestIdReused => Error::new(reason, "This request_id has already opened a case with other content.")
            .with("case_id", 7)
            .with("fields", "case.risk_level,incidents"),
        Reason::EtagMismatch => Error::etag_mismatch("affiliate_id", 7, "2"),
        Reason::HostInvalid => Error::host_invalid(),
        Reason::ExpectationFailed => Error::expectation_failed(),
        Reason::EncodingUnsupported => Error::encoding_unsupported(),
        Reason::ContentTypeInvalid => Error::new(reason, "The file is a PDF: save it as .xlsx, or as CSV in UTF-8."),
        Reason::BodyTooLarge => Error::body_too_large(),
        Reason::DatabaseUnavailable => Error::database_unavailable(),
        Reason::Overloaded => Error::overloaded(),
        Reason::CoreUnavailable => Error::core_unavailable(),
        Reason::DeadlineExceeded => Error::deadline_exceeded(),
        Reason::UnknownPath => Error::unknown_path(),
        // Partner operations never fail for other reasons.
        other => Error { reason: other, ..Error::internal() },
    }
}

fn violations() -> Violations {
    let mut violations = Violations::new();
    violations.required("affiliate_name");
    violations.report("zip", |label| format!("The {label} field must not be greater than 16 characters."));
    violations
}

/// Returns a reason's result code, as text.
fn code(reason: Reason) -> String {
    i32::from(meaning(reason).result).to_string()
}
