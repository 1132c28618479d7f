//! Paths: their spellings, and the IDs in them.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use compliance_api::{
    MAX_ID,
    error::Error,
    rules::{self, Check},
};
use http::{Request, request::Parts, uri::PathAndQuery};
use percent_encoding::percent_decode_str;

/// The ID of a record at the end of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathId {
    /// The ID as it was sent.
    pub(crate) text: String,
    /// The number, if the text is an integer.
    pub(crate) number: Option<i64>,
}

impl PathId {
    /// Reads the last segment of a path.
    pub(crate) fn of(path: &str) -> Self {
        let segment = path.rsplit('/').next().unwrap_or_default();
        let text = percent_decode_str(segment).decode_utf8_lossy().into_owned();
        // Rust accepts a plus sign, JSON does not.
        let number = text.parse().ok().filter(|_| !text.starts_with('+'));
        Self { text, number }
    }

    /// Returns the number if a record can have it as its ID.
    pub(crate) fn possible(&self) -> Option<i64> {
        self.number.filter(|number| (1..=MAX_ID).contains(number))
    }

    /// Returns the ID of a record, or an error if no record can have it.
    pub(crate) fn record_id(&self, not_found: fn(String) -> Error) -> Result<i64, Error> {
        self.possible().ok_or_else(|| not_found(self.text.clone()))
    }

    /// Returns the ID of a record. Violations of the request come before an ID that no record can have.
    pub(crate) fn record_id_after(&self, request: &impl Check, not_found: fn(String) -> Error) -> Result<i64, Error> {
        self.record_id(not_found).map_err(|not_found| {
            let violations = rules::check(request);
            if violations.is_empty() { not_found } else { Error::invalid(violations) }
        })
    }
}

/// The ID of a record before the last segment of a path.
pub(crate) struct ParentId(pub(crate) PathId);

impl<S: Sync> FromRequestParts<S> for ParentId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let path = parts.uri.path();
        Ok(Self(PathId::of(path.rsplit_once('/').map_or(path, |(parent, _)| parent))))
    }
}

impl<S: Sync> FromRequestParts<S> for PathId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts.uri.path()))
    }
}

/// Returns the request with the path that routes know: `/api/affiliates%3Async` is `/api/affiliates:sync`.
///
/// Clients and proxies may percent-encode any character of a path.
pub(crate) fn canonical<B>(mut request: Request<B>) -> Request<B> {
    let uri = request.uri();
    if let Some(path) = decoded(uri.path()) {
        let mut parts = uri.clone().into_parts();
        let text = uri.query().map_or_else(|| path.clone(), |query| format!("{path}?{query}"));
        parts.path_and_query = PathAndQuery::try_from(text).ok();
        if let Ok(uri) = parts.try_into() {
            *request.uri_mut() = uri;
        }
    }
    request
}

/// Decodes the characters that a segment may have unencoded (RFC 3986, 3.3). Returns `None` if nothing is encoded.
///
/// Other characters stay encoded: `%2F` is not a separator, and `%25` must not be decoded twice.
fn decoded(path: &str) -> Option<String> {
    // Most paths have none.
    let mut rest = path.contains('%').then_some(path)?;
    let mut decoded = String::with_capacity(path.len());
    while let Some((before, after)) = rest.split_once('%') {
        decoded.push_str(before);
        let code = after.get(..2).filter(|code| code.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|byte| is_plain(*byte));
        decoded.push(byte.map_or('%', char::from));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    decoded.push_str(rest);
    Some(decoded)
}

/// Whether a segment may have the character unencoded.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::{PathId, canonical};

    #[test]
    fn an_id_is_a_positive_integer_of_at_most_53_bits() {
        let possible = |path| PathId::of(path).possible();
        assert_eq!(possible("/api/urls/7"), Some(7));
        assert_eq!(possible("/api/urls/%37"), Some(7));
        assert_eq!(possible("/api/urls/9007199254740991"), Some(9_007_199_254_740_991));
        for wrong in
            ["9007199254740992", "99999999999999999999", "0", "-1", "+1", "1.0", "1e3", "abc", "1%20", "%", "%C3"]
        {
            assert_eq!(possible(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_text_is_what_was_provided() {
        assert_eq!(PathId::of("/api/affiliates/a%2Fb%").text, "a/b%");
        assert_eq!(PathId::of("/api/affiliates/-5").number, Some(-5));
    }

    #[test]
    fn characters_of_a_segment_are_decoded_once() {
        for (sent, expected) in [
            ("/api/affiliates%3Async", "/api/affiliates:sync"),
            ("/api/affiliates%3async?q=%3A", "/api/affiliates:sync?q=%3A"),
            ("/%61pi/%75rls/%37?a=1&b=%2", "/api/urls/7?a=1&b=%2"),
            ("/api/affiliates/a%2Fb%25%32%46%3", "/api/affiliates/a%2Fb%252F%3"),
            ("/api/affiliates/%C3%A9%20%00%3F%23%5C", "/api/affiliates/%C3%A9%20%00%3F%23%5C"),
            ("/api/affiliates/%zz%+1%", "/api/affiliates/%zz%+1%"),
            ("http://host:1/api%2Fx%3Ay", "http://host:1/api%2Fx:y"),
        ] {
            let request = Request::builder().uri(sent).body(()).unwrap();
            assert_eq!(canonical(request).uri().to_string(), expected, "{sent}");
        }
    }
}
