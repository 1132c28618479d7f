//! Reads request heads: paths, entity tags, and other values for handlers. Also writes response tags.
//!
//! A record's tag is its etag in quotation marks. The tag of a compressed response ends with the coding, because each representation
//! needs its own tag. Requests can send either. Compressing proxies mark tags in the same way, with different separators and names:
//! `"7--gzip"`, `"7;gzip"` and `"7-df"` also mean the etag 7.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, MatchedPath};
use compliance_api::{
    MAX_ID,
    error::Error,
    rules::{self, Check, Violations},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Request,
    header::{IF_MATCH, IF_NONE_MATCH},
    request::Parts,
    uri::PathAndQuery,
};
use percent_encoding::percent_decode_str;

use crate::{
    accept::Format,
    limits::{MAX_ENTITY_TAGS, MAX_ETAG_CHARS},
};

/// Separates an etag from the coding of a response.
const CODED: char = '-';
/// Codings that this service and proxies append, after any of the separators.
const CODINGS: [&str; 5] = ["gzip", "br", "zstd", "deflate", "df"];
const SEPARATORS: [char; 2] = [CODED, ';'];
/// An etag that no record has.
const NO_ETAG: &str = "-";

/// Implements extractors that read a request head and never fail.
macro_rules! from_head {
    ($($argument:ty: |$parts:ident| $read:expr;)+) => {$(
        impl<S: Sync> FromRequestParts<S> for $argument {
            type Rejection = Infallible;

            async fn from_request_parts($parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
                Ok($read)
            }
        }
    )+};
}

from_head! {
    PathId: |parts| {
        let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
        let is_parameter = |(known, _): &(&str, &str)| known.starts_with('{');
        let segment = route.split('/').zip(parts.uri.path().split('/')).find(is_parameter);
        Self::of(segment.map_or("", |(_, segment)| segment))
    };
    Format: |parts| Self::of(&parts.headers);
    IfMatch: |parts| Self::of(&parts.headers);
    IfNoneMatch: |parts| Self::of(&parts.headers);
}

/// A record ID in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathId {
    /// The ID as sent, percent-decoded.
    pub(crate) text: String,
    /// The number, if the text is an integer.
    pub(crate) number: Option<i64>,
}

impl PathId {
    /// Reads a path segment.
    pub(crate) fn of(segment: &str) -> Self {
        let text = percent_decode_str(segment).decode_utf8_lossy().into_owned();
        // Rust accepts a plus sign, but JSON does not.
        let number = text.parse().ok().filter(|_| !text.starts_with('+'));
        Self { text, number }
    }

    /// Returns the number if it is a possible record ID.
    pub(crate) fn possible(&self) -> Option<i64> {
        self.number.filter(|number| (1..=MAX_ID).contains(number))
    }

    /// Returns the record ID, or an error if the ID is impossible.
    pub(crate) fn record_id(&self, not_found: fn(String) -> Error) -> Result<i64, Error> {
        self.possible().ok_or_else(|| not_found(self.text.clone()))
    }

    /// Returns the record ID. Request violations take precedence over an impossible ID.
    pub(crate) fn record_id_after(&self, request: &impl Check, not_found: fn(String) -> Error) -> Result<i64, Error> {
        self.record_id(not_found).map_err(|not_found| {
            let violations = rules::check(request);
            if violations.is_empty() { not_found } else { Error::invalid(violations) }
        })
    }
}

/// Decodes the path for routing: `/api/affiliates%3Async` becomes `/api/affiliates:sync`.
///
/// Clients and proxies can percent-encode any character in a path.
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

/// Decodes characters that need no encoding in a path segment (RFC 3986, 3.3). Returns `None` if nothing is encoded.
///
/// Other characters stay encoded: `%2F` is not a separator, and `%25` must not be decoded twice.
fn decoded(path: &str) -> Option<String> {
    // Most paths contain no percent sign.
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

/// Returns whether a character needs no encoding in a path segment.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

/// The tags in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    Any,
    Tags(Vec<Tag>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Tag {
    is_weak: bool,
    /// The text between the quotation marks.
    opaque: Vec<u8>,
}

impl Tag {
    /// Returns the etag without codings.
    fn etag(&self) -> Option<&str> {
        let mut etag = str::from_utf8(&self.opaque).ok()?;
        // A response can pass through several proxies.
        while let Some((before, coding)) = etag.rsplit_once(SEPARATORS)
            && CODINGS.contains(&coding)
        {
            // Some proxies write the separator twice.
            etag = before.strip_suffix(CODED).unwrap_or(before);
        }
        Some(etag)
    }
}

/// `If-Match`: the record must have one of these tags, by strong comparison.
#[derive(Clone, Debug)]
pub(crate) struct IfMatch(Option<Result<Named, ()>>);

/// `If-None-Match`: the client's tags.
#[derive(Clone, Debug)]
pub(crate) struct IfNoneMatch(Option<Named>);

impl IfMatch {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Self(headers.contains_key(IF_MATCH).then(|| named(headers, &IF_MATCH).ok_or(())))
    }

    /// Returns the etags, separated by commas. Empty if the record can have any etag.
    pub(crate) fn etag(&self, violations: &mut Violations) -> String {
        let mut invalid = |expected: &str| {
            violations.report("If-Match", |label| format!("The {label} header must {expected}."));
            String::new()
        };
        match &self.0 {
            None | Some(Ok(Named::Any)) => String::new(),
            Some(Err(())) => invalid("be *, or a list of entity tags such as \"7\""),
            Some(Ok(Named::Tags(tags))) => {
                let strong = tags.iter().filter(|tag| !tag.is_weak).filter_map(Tag::etag);
                // The affiliate's etag follows the dot.
                let strong = strong.map(|etag| etag.split_once('.').map_or(etag, |(own, _)| own));
                // Records have only numeric etags.
                let possible = |etag: &&str| {
                    (1..=MAX_ETAG_CHARS).contains(&etag.len()) && etag.bytes().all(|byte| byte.is_ascii_digit())
                };
                let etags: Vec<&str> = strong.filter(possible).collect();
                match etags.len() {
                    0 => NO_ETAG.to_owned(),
                    some if some <= MAX_ENTITY_TAGS => etags.join(","),
                    _ => invalid(&format!("not have more than {MAX_ENTITY_TAGS} entity tags")),
                }
            }
        }
    }

    /// Reports the header as a violation in a batch.
    pub(crate) fn refuse(&self, violations: &mut Violations) {
        if self.0.is_some() {
            let message = |label: &str| format!("The {label} header applies to one affiliate, not to a batch.");
            violations.report("If-Match", message);
        }
    }
}

impl IfNoneMatch {
    fn of(headers: &HeaderMap) -> Self {
        Self(named(headers, &IF_NONE_MATCH))
    }

    /// Returns the client's tag for this etag.
    pub(crate) fn known(&self, etag: &str) -> Option<HeaderValue> {
        match self.0.as_ref()? {
            Named::Any => etag_header(etag),
            Named::Tags(tags) => {
                let tag = tags.iter().find(|tag| tag.etag() == Some(etag))?;
                etag_header(str::from_utf8(&tag.opaque).ok()?)
            }
        }
    }
}

/// Returns the `ETag` header for an etag.
pub(crate) fn etag_header(etag: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("\"{etag}\"")).ok()
}

/// Returns the `ETag` header of a compressed response, given the plain response's tag.
pub(crate) fn of_coded(tag: &HeaderValue, coding: &HeaderValue) -> Option<HeaderValue> {
    let etag = tag.to_str().ok()?.strip_prefix('"')?.strip_suffix('"')?;
    etag_header(&format!("{etag}{CODED}{}", coding.to_str().ok()?))
}

/// Returns the tags in a header, or `None` if the header is malformed or contains no tags.
fn named(headers: &HeaderMap, name: &HeaderName) -> Option<Named> {
    let lines: Vec<&[u8]> = headers.get_all(name).iter().map(|line| line.as_bytes().trim_ascii()).collect();
    if lines == [b"*"] {
        return Some(Named::Any);
    }
    let mut tags = Vec::new();
    for line in lines {
        read_line(line, &mut tags)?;
    }
    (!tags.is_empty()).then_some(Named::Tags(tags))
}

/// Reads a comma-separated list of tags.
fn read_line(mut rest: &[u8], tags: &mut Vec<Tag>) -> Option<()> {
    loop {
        rest = rest.trim_ascii_start();
        if let Some(after) = rest.strip_prefix(b",") {
            rest = after;
            continue;
        }
        if rest.is_empty() {
            return Some(());
        }
        let (is_weak, quoted) = match rest.strip_prefix(b"W/") {
            Some(quoted) => (true, quoted),
            None => (false, rest),
        };
        let quoted = quoted.strip_prefix(b"\"")?;
        let end = quoted.iter().position(|byte| *byte == b'"')?;
        let (opaque, after) = (&quoted[..end], quoted[end + 1..].trim_ascii_start());
        if !opaque.iter().all(|byte| matches!(byte, 0x21..=0x7e | 0x80..=0xff)) {
            return None;
        }
        tags.push(Tag { is_weak, opaque: opaque.to_vec() });
        if !after.is_empty() && !after.starts_with(b",") {
            return None;
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests;
