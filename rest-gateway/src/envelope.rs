//! The documented bodies: the envelope, and the one of a validation failure.

use std::collections::HashMap;

use axum::{body::Body, response::Response};
use compliance_api::{
    error::{ResultCode, SERVER_ERROR},
    rules::Violations,
    v1,
};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::rate_limit::RateLimit;

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

/// The `detail` of an envelope.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Detail<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) affiliate_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_affiliate_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url_id: Option<i64>,
    pub(crate) msg: &'a str,
}

impl<'a, T> Envelope<'a, T> {
    /// The result of a read.
    pub(crate) fn found(msg: &'a str, data: &'a T, meta: Option<v1::PageMeta>) -> Self {
        let detail = Detail { msg, ..Detail::default() };
        Self { data: Some(data), meta, ..Self::without_data(ResultCode::Found.into(), detail) }
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

/// The body of a validation failure: messages by path, in the order in which each path first occurs.
pub(crate) struct InvalidFields<'a> {
    pub(crate) message: &'a str,
    pub(crate) violations: &'a Violations,
}

impl Serialize for InvalidFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(Some(2))?;
        body.serialize_entry("message", self.message)?;
        body.serialize_entry("errors", &ByPath(self.violations))?;
        body.end()
    }
}

struct ByPath<'a>(&'a Violations);

impl Serialize for ByPath<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut index_of: HashMap<&str, usize> = HashMap::with_capacity(self.0.len());
        let mut errors: Vec<(&str, Vec<&str>)> = Vec::with_capacity(self.0.len());
        for violation in self.0 {
            let index = *index_of.entry(&violation.path).or_insert(errors.len());
            if index == errors.len() {
                errors.push((&violation.path, Vec::new()));
            }
            errors[index].1.push(&violation.message);
        }
        serializer.collect_map(errors)
    }
}

/// A response with a JSON body.
pub(crate) fn respond(status: StatusCode, rate_limit: RateLimit, body: &impl Serialize) -> Response {
    // Most bodies are one record or a page of results; a page of records grows from here in a few steps.
    let mut bytes = Vec::with_capacity(1536);
    match serde_json::to_writer(&mut bytes, body) {
        Ok(()) => respond_with(status, rate_limit, Body::from(bytes)),
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

#[cfg(test)]
mod tests {
    use compliance_api::{error::ResultCode, rules::Violations, v1::PageMeta};

    use super::{Detail, Envelope, InvalidFields};

    fn json(body: &impl serde::Serialize) -> String {
        serde_json::to_string(body).unwrap()
    }

    #[test]
    fn keys_have_a_fixed_order_and_absent_ones_are_left_out() {
        let detail = Detail { affiliate_id: Some(7), client_affiliate_id: Some("A"), url_id: Some(9), msg: "Hi" };
        assert_eq!(
            json(&Envelope::result(ResultCode::Saved, detail)),
            r#"{"code":"1020","status":"ok","detail":{"affiliate_id":7,"client_affiliate_id":"A","url_id":9,"msg":"Hi"}}"#
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
            violations.push(path.into(), message.into(), 0, 0);
        }
        assert_eq!(
            json(&InvalidFields { message: &violations.summary(), violations: &violations }),
            r#"{"message":"1 (and 2 more errors)","errors":{"b":["1","3"],"a":["2"]}}"#
        );
    }
}
