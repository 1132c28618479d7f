//! Entity tags: the headers `If-Match` and `If-None-Match` of requests, and `ETag` of responses.
//!
//! A record's tag is its etag in quotation marks. The tag of a compressed response ends with the coding, because each representation
//! needs its own tag. Requests may send either. Proxies that compress mark tags in the same way, with other separators and names:
//! `"7--gzip"`, `"7;gzip"` and `"7-df"` also mean the etag 7.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use compliance_api::{error::Error, rules::Violations};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{IF_MATCH, IF_NONE_MATCH, IF_UNMODIFIED_SINCE},
    request::Parts,
};

use crate::limits::{MAX_ENTITY_TAGS, MAX_ETAG_CHARS};

/// Separates an etag from the coding of a response.
const CODED: char = '-';
/// The codings of this service and of proxies. Any of the separators comes before them.
const CODINGS: [&str; 5] = ["gzip", "br", "zstd", "deflate", "df"];
const SEPARATORS: [char; 2] = [CODED, ';'];
/// An etag that no record has.
const NO_ETAG: &str = "-";

/// The tags in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    Any,
    Tags(Vec<Tag>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Tag {
    is_weak: bool,
    /// The content of the quotation marks.
    opaque: Vec<u8>,
}

impl Tag {
    /// Returns the etag without codings.
    fn etag(&self) -> Option<&str> {
        let mut etag = str::from_utf8(&self.opaque).ok()?;
        // A response may pass several proxies.
        while let Some((before, coding)) = etag.rsplit_once(SEPARATORS)
            && CODINGS.contains(&coding)
        {
            // Some proxies write the separator twice.
            etag = before.strip_suffix(CODED).unwrap_or(before);
        }
        Some(etag)
    }
}

/// `If-Match`: a change needs a record with one of these tags, by strong comparison.
#[derive(Clone, Debug)]
pub(crate) struct IfMatch(Option<Result<Named, ()>>);

/// `If-None-Match`: the tags that the client has.
#[derive(Clone, Debug)]
pub(crate) struct IfNoneMatch(Option<Named>);

impl IfMatch {
    /// A request without the header.
    #[cfg(test)]
    pub(crate) const NONE: Self = Self(None);

    /// `*`
    #[cfg(test)]
    pub(crate) fn any() -> Self {
        Self(Some(Ok(Named::Any)))
    }

    fn of(headers: &HeaderMap) -> Self {
        Self(headers.contains_key(IF_MATCH).then(|| named(headers, &IF_MATCH).ok_or(())))
    }

    /// Returns the etags of a request, separated by commas. Empty if the record may have any.
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
                // The digest of other records follows the point.
                let strong = strong.map(|etag| etag.split_once('.').map_or(etag, |(own, _)| own));
                // No record has any other etag.
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

    /// Reports the header as a violation of a batch.
    pub(crate) fn refuse(&self, violations: &mut Violations) {
        if self.0.is_some() {
            let message = |label: &str| format!("The {label} header is for one affiliate, not for a batch.");
            violations.report("If-Match", message);
        }
    }
}

/// Refuses conditions of a change that the operation does not support: a client that sends one relies on it.
pub(crate) fn refuse_unsupported(parts: &Parts, supports_if_match: bool) -> Result<(), Error> {
    if parts.method.is_safe() {
        return Ok(());
    }
    let mut violations = Violations::new();
    for (header, name) in
        [(IF_MATCH, "If-Match"), (IF_NONE_MATCH, "If-None-Match"), (IF_UNMODIFIED_SINCE, "If-Unmodified-Since")]
    {
        if parts.headers.contains_key(&header) && !(supports_if_match && header == IF_MATCH) {
            violations.report(name, |label| format!("The {label} header is not supported by this operation."));
        }
    }
    if violations.is_empty() { Ok(()) } else { Err(Error::invalid(violations)) }
}

impl IfNoneMatch {
    fn of(headers: &HeaderMap) -> Self {
        Self(named(headers, &IF_NONE_MATCH))
    }

    /// Returns the client's tag of this etag.
    pub(crate) fn known(&self, etag: &str) -> Option<HeaderValue> {
        match self.0.as_ref()? {
            Named::Any => header(etag),
            Named::Tags(tags) => {
                let tag = tags.iter().find(|tag| tag.etag() == Some(etag))?;
                header(str::from_utf8(&tag.opaque).ok()?)
            }
        }
    }
}

/// Returns the header `ETag` of an etag.
pub(crate) fn header(etag: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("\"{etag}\"")).ok()
}

/// Returns the header `ETag` of a compressed response, by the tag of the plain response.
pub(crate) fn of_coded(tag: &HeaderValue, coding: &HeaderValue) -> Option<HeaderValue> {
    let etag = tag.to_str().ok()?.strip_prefix('"')?.strip_suffix('"')?;
    header(&format!("{etag}{CODED}{}", coding.to_str().ok()?))
}

/// Returns the tags of a header. `None` if it has none, or is malformed.
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

/// Reads a list of tags, separated by commas.
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

macro_rules! from_head {
    ($($header:ident)+) => {$(
        impl<S: Sync> FromRequestParts<S> for $header {
            type Rejection = Infallible;

            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
                Ok(Self::of(&parts.headers))
            }
        }
    )+};
}

from_head! { IfMatch IfNoneMatch }

#[cfg(test)]
mod tests {
    use compliance_api::rules::Violations;
    use http::{
        HeaderMap, HeaderValue,
        header::{IF_MATCH, IF_NONE_MATCH},
    };

    use super::{IfMatch, IfNoneMatch, of_coded};
    use crate::limits::MAX_ENTITY_TAGS;

    fn etag(lines: &[&str]) -> Result<String, String> {
        let lines = lines.iter().map(|line| (IF_MATCH, HeaderValue::from_str(line).unwrap()));
        let mut headers = HeaderMap::new();
        for (name, line) in lines {
            headers.append(name, line);
        }
        let mut violations = Violations::new();
        let etag = IfMatch::of(&headers).etag(&mut violations);
        if violations.is_empty() { Ok(etag) } else { Err(violations.summary()) }
    }

    #[test]
    fn tags_are_compared_strongly() {
        for (lines, expected) in [
            (&[][..], ""),
            (&["*"], ""),
            (&["\"7\""], "7"),
            (&["\"7-gzip\""], "7"),
            (&[" \"7\" ,, \"8-zstd\"", "\"9\""], "7,8,9"),
            (&["\"7--gzip\"", "\"8;gzip\", \"9-df\"", "\"10--br\", \"11-br\", \"12-gzip-df\""], "7,8,9,10,11,12"),
            (&["W/\"7\""], "-"),
            (&["W/\"7--gzip\""], "-"),
            (&["W/\"7\", \"8\""], "8"),
            (
                &["\"7-\"", "\"7,8\"", "\"\"", "\"x\"", "\"+7\"", "\"7-x\"", "\"7---gzip\"", "\"7;;br\"", "\"7gzip\""],
                "-",
            ),
        ] {
            assert_eq!(etag(lines).as_deref(), Ok(expected), "{lines:?}");
        }
        for wrong in ["", "7", "\"7", "7\"", "\"7\" \"8\"", "w/\"7\"", "*, \"7\"", "\"7 8\"", ","] {
            let expected = "The If-Match header must be *, or a list of entity tags such as \"7\".";
            assert_eq!(etag(&[wrong]).unwrap_err(), expected, "{wrong}");
        }
        assert!(etag(&["*", "*"]).is_err());
        let many = |count: usize| vec!["\"7\""; count].join(",");
        assert!(etag(&[&many(MAX_ENTITY_TAGS)]).is_ok());
        let error = etag(&[&many(MAX_ENTITY_TAGS + 1)]).unwrap_err();
        assert_eq!(error, "The If-Match header must not have more than 50 entity tags.");
    }

    #[test]
    fn the_clients_tags_are_compared_weakly() {
        let known = |line: &str| {
            let headers = HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_str(line).unwrap())]);
            IfNoneMatch::of(&headers).known("7").map(|tag| tag.to_str().unwrap().to_owned())
        };
        for (line, tag) in [
            ("\"7\"", "\"7\""),
            ("W/\"7\"", "\"7\""),
            ("\"8\", \"7-gzip\"", "\"7-gzip\""),
            ("W/\"7--gzip\"", "\"7--gzip\""),
            ("\"7;gzip\"", "\"7;gzip\""),
            ("W/\"7-df\"", "\"7-df\""),
            ("*", "\"7\""),
        ] {
            assert_eq!(known(line).as_deref(), Some(tag), "{line}");
        }
        for other in ["\"8\"", "7", "", "\"77\""] {
            assert_eq!(known(other), None, "{other}");
        }
        assert_eq!(IfNoneMatch::of(&HeaderMap::new()).known("7"), None);
        let header = HeaderValue::from_static;
        assert_eq!(of_coded(&header("\"7\""), &header("gzip")), Some(header("\"7-gzip\"")));
        assert_eq!(of_coded(&header("W/\"7\""), &header("gzip")), None);
    }
}
