//! Builds the documented responses: envelopes, validation failures and errors. The contract's error table maps reasons to statuses.

use admission::compute;
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use compliance_api::{
    error::{Error, RESTORED_POSITION, Reason, ResultCode, meaning},
    rules::{Violation, Violations},
    v1,
};
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_TYPE, ETAG, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE},
};
use indexmap::IndexMap;
use serde::{Serialize, Serializer};
use telemetry::warn_limited;
use tonic::Status;

use crate::{
    head::{self, IfNoneMatch},
    limits::RETRY_WAIT,
};

/// The common envelope. Absent fields are omitted.
#[derive(Serialize)]
pub(crate) struct Envelope<'a, T = ()> {
    /// File line or row that the result refers to.
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<u64>,
    /// Notes about skipped parts of the file. Only the first result contains them.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    #[serde(serialize_with = "text_of_code")]
    code: i32,
    status: &'static str,
    detail: Detail<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meta: Option<v1::PageMeta>,
}

#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Detail<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) affiliate_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_affiliate_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) case_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) incident_id: Option<i64>,
    /// Paths of the fields that caused an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fields: Option<&'a [&'a str]>,
    /// The position after which a restored database continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) restored_position: Option<i64>,
    pub(crate) msg: &'a str,
}

impl<'a, T> Envelope<'a, T> {
    /// Creates the envelope for a read.
    pub(crate) fn found(msg: &'a str, data: &'a T, meta: Option<v1::PageMeta>) -> Self {
        let detail = Detail { msg, ..Detail::default() };
        Self { data: Some(data), meta, ..Self::without_data(ResultCode::Found.into(), detail) }
    }

    /// Creates the envelope for a write that returns data.
    pub(crate) fn written(code: ResultCode, msg: &'a str, data: &'a T) -> Self {
        let detail = Detail { msg, ..Detail::default() };
        Self { data: Some(data), ..Self::without_data(code.into(), detail) }
    }

    fn without_data(code: i32, detail: Detail<'a>) -> Self {
        let ok = code == i32::from(ResultCode::Saved) || code == i32::from(ResultCode::Found);
        Self { row: None, notes: &[], code, status: if ok { "ok" } else { "error" }, detail, data: None, meta: None }
    }
}

impl<'a> Envelope<'a> {
    /// Creates the envelope for a write or an error.
    pub(crate) fn result(code: impl Into<i32>, detail: Detail<'a>) -> Self {
        Self::without_data(code.into(), detail)
    }
}

/// Writes a result code as a string.
fn text_of_code<S: Serializer>(code: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(code)
}

/// Additional data in file responses: the row of each result, and notes about skipped parts.
#[derive(Clone, Copy, Default)]
pub(crate) struct OfFile<'a> {
    pub(crate) rows: &'a [u64],
    pub(crate) notes: &'a [String],
}

/// Returns the response to a validation failure. For a file, `rows` repeats the violations with their positions.
pub(crate) fn respond_invalid<R: Serialize>(
    message: &str,
    violations: Violations,
    rows: &[R],
    notes: &[String],
) -> Response {
    /// Typical size of a violation as JSON, in bytes.
    const VIOLATION: usize = 128;
    let status = meaning(Reason::InvalidFields).http;
    let size = (violations.len() + rows.len()) * VIOLATION;
    compute(size, || {
        respond(status, &InvalidFields { violations: rows, notes, ..InvalidFields::new(message, violations) })
    })
}

/// Body of a validation failure: the summary, and the messages for each path. Paths are ordered by their first violation.
#[derive(Serialize)]
struct InvalidFields<'a, R> {
    message: &'a str,
    errors: IndexMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "<[R]>::is_empty")]
    violations: &'a [R],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

impl<'a, R> InvalidFields<'a, R> {
    fn new(message: &'a str, violations: Violations) -> Self {
        let mut errors = IndexMap::<_, Vec<String>>::new();
        for Violation { path, message, .. } in violations {
            errors.entry(path).or_default().push(message);
        }
        Self { message, errors, violations: &[], notes: &[] }
    }
}

/// Returns a response with a JSON body.
pub(crate) fn respond(status: StatusCode, body: &impl Serialize) -> Response {
    respond_with(status, to_json(body))
}

/// Returns the response to a successful write.
pub(crate) fn respond_saved(status: StatusCode, detail: Detail<'_>) -> Response {
    respond(status, &Envelope::result(ResultCode::Saved, detail))
}

/// Returns the result of each item, from its code and detail.
pub(crate) fn results<'a>(items: impl Iterator<Item = (i32, Detail<'a>)>, file: OfFile<'a>) -> Vec<Envelope<'a>> {
    let rows = file.rows.iter().copied().map(Some).chain(std::iter::repeat(None));
    let results = items.zip(rows).map(|((code, detail), row)| Envelope { row, ..Envelope::result(code, detail) });
    let mut results: Vec<_> = results.collect();
    if let Some(first) = results.first_mut() {
        first.notes = file.notes;
    }
    results
}

/// Returns the response to a batch: `success` if every item succeeded, otherwise 207.
pub(crate) fn respond_to_items<'a>(
    success: StatusCode,
    items: impl Iterator<Item = (i32, Detail<'a>)>,
    file: OfFile<'a>,
) -> Response {
    let results = results(items, file);
    let saved = i32::from(ResultCode::Saved);
    let is_success = results.iter().all(|result| result.code == saved);
    respond(if is_success { success } else { StatusCode::MULTI_STATUS }, &results)
}

/// Returns the response to a read: the record, or 304 if the client has the current tag.
///
/// Earlier versions of the core send no etags.
pub(crate) fn respond_tagged(body: &impl Serialize, etag: &str, if_none_match: &IfNoneMatch) -> Response {
    match if_none_match.known(etag).filter(|_| !etag.is_empty()) {
        Some(known) => (StatusCode::NOT_MODIFIED, [(ETAG, known)], Body::empty()).into_response(),
        None => with_etag(respond(StatusCode::OK, body), etag),
    }
}

/// Returns the etag of a record that includes affiliate fields.
pub(crate) fn with_affiliate(mut etag: String, affiliate_etag: &str) -> String {
    if !affiliate_etag.is_empty() {
        etag.push('.');
        etag.push_str(affiliate_etag);
    }
    etag
}

/// Adds the `ETag` header. Earlier versions of the core send no etags.
pub(crate) fn with_etag(mut response: Response, etag: &str) -> Response {
    response.headers_mut().extend(head::etag_header(etag).filter(|_| !etag.is_empty()).map(|tag| (ETAG, tag)));
    response
}

/// Adds the `Location` header for a new record.
pub(crate) fn with_location(mut response: Response, collection: &str, id: i64) -> Response {
    let path = HeaderValue::try_from(format!("/api/{collection}/{id}")).ok();
    response.headers_mut().extend(path.map(|path| (LOCATION, path)));
    response
}

fn to_json(body: &impl Serialize) -> Vec<u8> {
    // Fits most bodies: one record, or a page of results. Pages of records grow in a few steps.
    let mut json = Vec::with_capacity(1536);
    serde_json::to_writer(&mut json, body).expect("envelopes can be serialized as JSON");
    json
}

/// Returns a response with a serialized JSON body.
pub(crate) fn respond_with(status: StatusCode, json: impl Into<Body>) -> Response {
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], json.into()).into_response()
}

/// The message for a change that contains no known fields.
pub(crate) const NO_KNOWN_FIELD: &str = "The request contains no known field, so nothing changed.";

/// A rejected request.
#[derive(Clone, Debug)]
pub(crate) struct Rejection(pub(crate) Error);

impl From<Error> for Rejection {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<Status> for Rejection {
    fn from(status: Status) -> Self {
        let error = Error::from(&status);
        if meaning(error.reason).http.is_server_error() {
            // The caller receives a fixed message. The log contains the cause.
            warn_limited!(code = ?status.code(), error = status.message(), "the core rejected a call");
        }
        if error.reason == Reason::TokenInvalid {
            warn_limited!(
                "the core rejected a token that this gateway accepts: compare the token settings and the clocks of gateway and core"
            );
        }
        Self(error)
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let Self(error) = self;
        let meaning = meaning(error.reason);
        if error.reason == Reason::InvalidFields {
            return respond_invalid::<()>(&error.message, error.violations, &[], &[]);
        }
        // Bodies contain only the documented metadata.
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
        let mut response = respond(meaning.http, &Envelope::result(meaning.result, detail));
        if let Some(challenge) = challenge(error.reason) {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        if let Some(seconds) = retry_after_seconds(&error) {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Returns the `WWW-Authenticate` challenge (RFC 6750, 3).
fn challenge(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::TokenMissing => Some("Bearer"),
        Reason::TokenInvalid | Reason::TokenExpired => Some("Bearer error=\"invalid_token\""),
        Reason::ScopeMissing => Some("Bearer error=\"insufficient_scope\""),
        _ => None,
    }
}

/// Returns the `Retry-After` seconds for temporary errors, at least 1.
fn retry_after_seconds(error: &Error) -> Option<u64> {
    let is_temporary = matches!(
        error.reason,
        Reason::RateLimited | Reason::DatabaseUnavailable | Reason::Overloaded | Reason::CoreUnavailable
    );
    let wait = error.retry_after.or(is_temporary.then_some(RETRY_WAIT))?;
    Some((wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1))
}

#[cfg(test)]
mod tests;
