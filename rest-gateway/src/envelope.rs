//! The documented bodies: the envelope, and the one of a validation failure.

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
    header::{CONTENT_TYPE, ETAG},
};
use serde::{Serialize, Serializer};
use tonic::metadata::MetadataMap;

use crate::tags::{self, IfNoneMatch};

/// The common response envelope; what is absent is left out.
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
    /// Where changes begin that a restored database has.
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

    /// The result of a write that returns more than its detail.
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
    /// About what a violation takes as JSON, in bytes.
    const VIOLATION: usize = 128;
    compute(violations.len() * VIOLATION, || respond(status, rate_limit, &InvalidFields::new(message, violations)))
}

/// The body of a validation failure: its message, and those of the violations by path, in the order in which each path occurs.
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

pub(crate) fn respond(status: StatusCode, rate_limit: RateLimit, body: &impl Serialize) -> Response {
    respond_as(rate_limit, body, |bytes, rate_limit| respond_with(status, rate_limit, Body::from(bytes)))
}

/// The response to a read of one record, which has this etag, unless the client has it already. If a part of what is read is not the
/// record's own, its tag changes with the content as well. A core of an earlier version knows no etags.
pub(crate) fn respond_tagged(
    rate_limit: RateLimit,
    body: &impl Serialize,
    mut etag: String,
    is_own: bool,
    if_none_match: &IfNoneMatch,
) -> Response {
    respond_as(rate_limit, body, |bytes, rate_limit| {
        if etag.is_empty() {
            return respond_with(StatusCode::OK, rate_limit, Body::from(bytes));
        }
        if !is_own {
            let mut hasher = DefaultHasher::new();
            hasher.write(&bytes);
            // Writing to a text does not fail.
            let _ = write!(etag, ".{:016x}", hasher.finish());
        }
        let known = if_none_match.known(&etag);
        let mut response = if known.is_some() {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            rate_limit.write(response.headers_mut());
            response
        } else {
            respond_with(StatusCode::OK, rate_limit, Body::from(bytes))
        };
        if let Some(tag) = known.or_else(|| tags::header(&etag)) {
            response.headers_mut().insert(ETAG, tag);
        }
        response
    })
}

fn respond_as(
    rate_limit: RateLimit,
    body: &impl Serialize,
    respond_with_bytes: impl FnOnce(Vec<u8>, RateLimit) -> Response,
) -> Response {
    // Most bodies are one record or a page of results; a page of records grows from here in a few steps.
    let mut bytes = Vec::with_capacity(1536);
    match serde_json::to_writer(&mut bytes, body) {
        Ok(()) => respond_with_bytes(bytes, rate_limit),
        Err(error) => {
            tracing::error!(%error, "a response could not be serialized");
            let detail = Detail { msg: SERVER_ERROR, ..Detail::default() };
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            respond(status, RateLimit::default(), &Envelope::result(ResultCode::ServerError, detail))
        }
    }
}

/// A response whose body is JSON already.
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
