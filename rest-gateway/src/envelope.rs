//! The documented bodies: the envelope, and the one of a validation failure.

use std::{collections::HashMap, convert::Infallible, iter};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use compliance_api::{
    error::{ResultCode, SERVER_ERROR},
    rules::{Violation, Violations},
    v1,
};
use futures::stream;
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use serde::{Serialize, Serializer};

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

/// The response to a validation failure: its message, and the messages of the violations by path, in the order in which
/// each path first occurs. It is written in pieces, since there may be thousands.
pub(crate) fn respond_invalid(
    status: StatusCode,
    rate_limit: RateLimit,
    message: &str,
    violations: Violations,
) -> Response {
    let mut pieces = InvalidFields::new(message, violations);
    let first = pieces.next().unwrap_or_default();
    let body = if pieces.is_end() {
        Body::from(first)
    } else {
        Body::from_stream(stream::iter(iter::once(first).chain(pieces).map(Ok::<_, Infallible>)))
    };
    respond_with(status, rate_limit, body)
}

/// The body of a validation failure, in pieces.
struct InvalidFields {
    /// What begins the next piece.
    head: Vec<u8>,
    /// Messages by path.
    errors: std::vec::IntoIter<(String, Vec<String>)>,
    is_first: bool,
    is_end: bool,
}

/// The length of a piece, at least.
const PIECE: usize = 16 << 10;

impl InvalidFields {
    fn new(message: &str, violations: Violations) -> Self {
        let mut index_of = HashMap::with_capacity(violations.len());
        let indices: Vec<usize> = violations
            .iter()
            .map(|violation| {
                let next = index_of.len();
                *index_of.entry(violation.path.as_str()).or_insert(next)
            })
            .collect();
        let mut errors: Vec<(String, Vec<String>)> = Vec::with_capacity(index_of.len());
        drop(index_of);
        for (index, Violation { path, message, .. }) in indices.into_iter().zip(violations) {
            if index == errors.len() {
                errors.push((path, Vec::new()));
            }
            errors[index].1.push(message);
        }
        let mut head = br#"{"message":"#.to_vec();
        write_json(&mut head, message);
        head.extend_from_slice(br#","errors":{"#);
        Self { head, errors: errors.into_iter(), is_first: true, is_end: false }
    }

    fn is_end(&self) -> bool {
        self.is_end
    }
}

impl Iterator for InvalidFields {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.is_end {
            return None;
        }
        let mut piece = std::mem::take(&mut self.head);
        for (path, messages) in self.errors.by_ref() {
            if !std::mem::take(&mut self.is_first) {
                piece.push(b',');
            }
            write_json(&mut piece, &path);
            piece.push(b':');
            write_json(&mut piece, &messages);
            if piece.len() >= PIECE {
                return Some(piece.into());
            }
        }
        self.is_end = true;
        piece.extend_from_slice(b"}}");
        Some(piece.into())
    }
}

fn write_json(bytes: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // Texts can always be written, and a vector takes them.
    let _ = serde_json::to_writer(bytes, value);
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
    use compliance_api::{
        error::ResultCode,
        rules::{MAX_VIOLATIONS, Violations},
        v1::PageMeta,
    };

    use super::{Detail, Envelope, InvalidFields, PIECE};

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
        let pieces: Vec<_> = InvalidFields::new(&violations.summary(), violations).collect();
        assert_eq!(pieces.len(), 1);
        assert_eq!(pieces[0], r#"{"message":"1 (and 2 more errors)","errors":{"b":["1","3"],"a":["2"]}}"#);
    }

    #[test]
    fn thousands_of_violations_are_written_in_pieces() {
        let mut violations = Violations::new();
        for item in 0..MAX_VIOLATIONS as u32 {
            violations.push(format!("urls.{item}.url"), "It is \"wrong\".".into(), item + 1, 1);
        }
        let pieces: Vec<_> = InvalidFields::new(&violations.summary(), violations).collect();
        assert!(pieces.len() > 10 && pieces.iter().all(|piece| piece.len() < PIECE + 100), "{}", pieces.len());
        let body: serde_json::Value = serde_json::from_slice(&pieces.concat()).unwrap();
        assert_eq!(body["errors"].as_object().unwrap().len(), MAX_VIOLATIONS);
        assert_eq!(body["errors"]["urls.9999.url"][0], "It is \"wrong\".");
    }
}
