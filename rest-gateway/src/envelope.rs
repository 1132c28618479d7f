//! The documented bodies: the envelope, and the body of a validation failure.

use std::{
    collections::HashMap,
    fmt::Write as _,
    hash::{DefaultHasher, Hasher as _},
};

use admission::compute;
use axum::{body::Body, response::Response};
use compliance_api::{
    batch_read::RATE_LIMIT,
    error::{ResultCode, SERVER_ERROR},
    rules::{Violation, Violations},
    v1,
};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, ETAG, LOCATION},
};
use serde::{Serialize, Serializer};
use tonic::metadata::MetadataMap;

use crate::tags::{self, IfNoneMatch};

/// The common envelope. Absent fields are left out.
#[derive(Serialize)]
pub(crate) struct Envelope<'a, T = ()> {
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
    /// Paths of the fields that an error is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fields: Option<&'a [&'a str]>,
    /// The last position before a restored database continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) restored_position: Option<i64>,
    pub(crate) msg: &'a str,
}

impl<'a, T> Envelope<'a, T> {
    /// The result of a read.
    pub(crate) fn found(msg: &'a str, data: &'a T, meta: Option<v1::PageMeta>) -> Self {
        let detail = Detail { msg, ..Detail::default() };
        Self { data: Some(data), meta, ..Self::without_data(ResultCode::Found.into(), detail) }
    }

    /// The result of a write that returns data.
    pub(crate) fn written(code: ResultCode, msg: &'a str, data: &'a T) -> Self {
        let detail = Detail { msg, ..Detail::default() };
        Self { data: Some(data), ..Self::without_data(code.into(), detail) }
    }

    fn without_data(code: i32, detail: Detail<'a>) -> Self {
        let ok = code == i32::from(ResultCode::Saved) || code == i32::from(ResultCode::Found);
        Self { code, status: if ok { "ok" } else { "error" }, detail, data: None, meta: None }
    }
}

impl<'a> Envelope<'a> {
    /// The result of a write, or an error.
    pub(crate) fn result(code: impl Into<i32>, detail: Detail<'a>) -> Self {
        Self::without_data(code.into(), detail)
    }
}

/// A result code is a string in JSON.
fn text_of_code<S: Serializer>(code: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(code)
}

/// The response to a validation failure.
pub(crate) fn respond_invalid(
    status: StatusCode,
    rate_limit: RateLimit,
    message: &str,
    violations: Violations,
) -> Response {
    /// Typical size of a violation as JSON, in bytes.
    const VIOLATION: usize = 128;
    compute(violations.len() * VIOLATION, || respond(status, rate_limit, &InvalidFields::new(message, violations)))
}

/// The body of a validation failure: the summary, and the messages of each path. Paths are in the order of their first violation.
#[derive(Serialize)]
struct InvalidFields<'a> {
    message: &'a str,
    #[serde(serialize_with = "map")]
    errors: Vec<(String, Vec<String>)>,
}

impl<'a> InvalidFields<'a> {
    fn new(message: &'a str, violations: Violations) -> Self {
        let (mut index_of, mut errors) = (HashMap::new(), Vec::<(String, Vec<String>)>::new());
        for Violation { path, message, .. } in violations {
            let index = *index_of.entry(path).or_insert_with_key(|path| {
                errors.push((path.clone(), Vec::new()));
                errors.len() - 1
            });
            errors[index].1.push(message);
        }
        Self { message, errors }
    }
}

fn map<S: Serializer>(errors: &[(String, Vec<String>)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(errors.iter().map(|(path, messages)| (path, messages)))
}

/// The response with a body.
pub(crate) fn respond(status: StatusCode, rate_limit: RateLimit, body: &impl Serialize) -> Response {
    match to_json(body) {
        Some(json) => respond_with(status, rate_limit, Body::from(json)),
        None => internal_error(),
    }
}

/// The response to a write.
pub(crate) fn respond_saved(status: StatusCode, rate_limit: RateLimit, detail: Detail<'_>) -> Response {
    respond(status, rate_limit, &Envelope::result(ResultCode::Saved, detail))
}

/// The response to a batch: `success` if every item succeeded, otherwise 207. Each item has its code and its detail.
pub(crate) fn respond_to_items<'a>(
    success: StatusCode,
    rate_limit: RateLimit,
    items: impl Iterator<Item = (i32, Detail<'a>)>,
) -> Response {
    let results: Vec<Envelope<'_>> = items.map(|(code, detail)| Envelope::result(code, detail)).collect();
    let saved = i32::from(ResultCode::Saved);
    let is_success = results.iter().all(|result| result.code == saved);
    respond(if is_success { success } else { StatusCode::MULTI_STATUS }, rate_limit, &results)
}

/// The response to a read of a record with this etag: 304 if the client has the tag.
///
/// A record with a part of another record has the content's digest in its tag. An earlier version of the core has no etags.
pub(crate) fn respond_tagged(
    rate_limit: RateLimit,
    body: &impl Serialize,
    mut etag: String,
    has_other_records: bool,
    if_none_match: &IfNoneMatch,
) -> Response {
    let Some(json) = to_json(body) else { return internal_error() };
    if etag.is_empty() {
        return respond_with(StatusCode::OK, rate_limit, Body::from(json));
    }
    if has_other_records {
        let mut hasher = DefaultHasher::new();
        hasher.write(&json);
        // Writing to a string does not fail.
        let _ = write!(etag, ".{:016x}", hasher.finish());
    }
    let Some(known) = if_none_match.known(&etag) else {
        return with_etag(respond_with(StatusCode::OK, rate_limit, Body::from(json)), &etag);
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response.headers_mut().insert(ETAG, known);
    rate_limit.write(response.headers_mut());
    response
}

/// Adds the tag of an etag. An earlier version of the core has no etags.
pub(crate) fn with_etag(mut response: Response, etag: &str) -> Response {
    response.headers_mut().extend(tags::header(etag).filter(|_| !etag.is_empty()).map(|tag| (ETAG, tag)));
    response
}

/// Adds the path of a new record.
pub(crate) fn with_location(mut response: Response, collection: &str, id: i64) -> Response {
    let path = HeaderValue::try_from(format!("/api/{collection}/{id}")).ok();
    response.headers_mut().extend(path.map(|path| (LOCATION, path)));
    response
}

fn to_json(body: &impl Serialize) -> Option<Vec<u8>> {
    // Most bodies are one record or a page of results. A page of records grows from here in a few steps.
    let mut json = Vec::with_capacity(1536);
    match serde_json::to_writer(&mut json, body) {
        Ok(()) => Some(json),
        Err(error) => {
            tracing::error!(%error, "a response could not be serialized");
            None
        }
    }
}

fn internal_error() -> Response {
    let detail = Detail { msg: SERVER_ERROR, ..Detail::default() };
    let json = to_json(&Envelope::result(ResultCode::ServerError, detail)).unwrap_or_default();
    respond_with(StatusCode::INTERNAL_SERVER_ERROR, RateLimit::default(), Body::from(json))
}

/// The response with a JSON body.
pub(crate) fn respond_with(status: StatusCode, rate_limit: RateLimit, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    rate_limit.write(response.headers_mut());
    response
}

/// The rate-limit headers of a core response, which the gateway forwards unchanged.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateLimit([Option<HeaderValue>; 3]);

impl From<MetadataMap> for RateLimit {
    fn from(metadata: MetadataMap) -> Self {
        let mut headers = metadata.into_headers();
        Self(RATE_LIMIT.map(|name| headers.remove(name)))
    }
}

impl From<&HeaderMap> for RateLimit {
    fn from(headers: &HeaderMap) -> Self {
        Self(RATE_LIMIT.map(|name| headers.get(name).cloned()))
    }
}

impl RateLimit {
    /// Adds the headers that are present to a response.
    pub(crate) fn write(self, headers: &mut HeaderMap) {
        let present = RATE_LIMIT.into_iter().zip(self.0).filter_map(|(name, value)| Some((name, value?)));
        headers.extend(present);
    }
}

#[cfg(test)]
mod tests {
    use compliance_api::{
        error::ResultCode,
        rules::{MAX_VIOLATIONS, Violations},
        v1::PageMeta,
    };

    use super::{Detail, Envelope, InvalidFields};

    fn json(body: &impl serde::Serialize) -> String {
        serde_json::to_string(body).unwrap()
    }

    #[test]
    fn keys_have_a_fixed_order_and_absent_ones_are_left_out() {
        let detail = Detail {
            affiliate_id: Some(7),
            client_affiliate_id: Some("A"),
            url_id: Some(9),
            case_id: Some(3),
            incident_id: Some(4),
            fields: Some(&["case.tags"]),
            restored_position: Some(5),
            msg: "Hi",
        };
        assert_eq!(
            json(&Envelope::result(ResultCode::Saved, detail)),
            r#"{"code":"1020","status":"ok","detail":{"affiliate_id":7,"client_affiliate_id":"A","url_id":9,"case_id":3,"incident_id":4,"fields":["case.tags"],"restored_position":5,"msg":"Hi"}}"#
        );
        let meta = PageMeta { total: 1, per_page: 100, current_page: 2, last_page: 1 };
        assert_eq!(
            json(&Envelope::found("URLs found", &[0; 0], Some(meta))),
            r#"{"code":"1026","status":"ok","detail":{"msg":"URLs found"},"data":[],"meta":{"total":1,"per_page":100,"current_page":2,"last_page":1}}"#
        );
        assert_eq!(
            json(&Envelope::result(ResultCode::Duplicate, Detail { msg: "No", ..Detail::default() })),
            r#"{"code":"1023","status":"error","detail":{"msg":"No"}}"#
        );
    }

    #[test]
    fn violations_are_grouped_by_path_in_order_of_first_occurrence() {
        let mut violations = Violations::new();
        for (path, message) in [("b", "1"), ("a", "2"), ("b", "3")] {
            violations.push((0, 0), || (path.into(), message.into()));
        }
        let body = json(&InvalidFields::new(&violations.summary(), violations));
        assert_eq!(body, r#"{"message":"1 (and 2 more errors)","errors":{"b":["1","3"],"a":["2"]}}"#);
    }

    #[test]
    fn thousands_of_violations_are_written() {
        let mut violations = Violations::new();
        for item in 0..MAX_VIOLATIONS as u32 {
            violations.push((item + 1, 1), || (format!("urls.{item}.url"), "It is \"wrong\".".into()));
        }
        let body = json(&InvalidFields::new(&violations.summary(), violations));
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["errors"].as_object().unwrap().len(), MAX_VIOLATIONS);
        assert_eq!(body["errors"]["urls.9999.url"][0], "It is \"wrong\".");
    }
}
