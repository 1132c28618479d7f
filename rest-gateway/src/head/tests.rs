use compliance_api::rules::Violations;
use http::{
    HeaderMap, HeaderValue, Request,
    header::{IF_MATCH, IF_NONE_MATCH},
};

use super::{IfMatch, IfNoneMatch, PathId, canonical, of_coded};
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
fn if_match_uses_strong_comparison() {
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
        (&["\"7-\"", "\"7,8\"", "\"\"", "\"x\"", "\"+7\"", "\"7-x\"", "\"7---gzip\"", "\"7;;br\"", "\"7gzip\""], "-"),
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
fn if_none_match_uses_weak_comparison() {
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

#[test]
fn path_ids_are_positive_53_bit_integers() {
    let possible = |path| PathId::of(path).possible();
    assert_eq!(possible("7"), Some(7));
    assert_eq!(possible("%37"), Some(7));
    assert_eq!(possible("9007199254740991"), Some(9_007_199_254_740_991));
    for wrong in ["9007199254740992", "99999999999999999999", "0", "-1", "+1", "1.0", "1e3", "abc", "1%20", "%", "%C3"]
    {
        assert_eq!(possible(wrong), None, "{wrong}");
    }
}

#[test]
fn path_ids_keep_the_decoded_text() {
    assert_eq!(PathId::of("a%2Fb%").text, "a/b%");
    assert_eq!(PathId::of("-5").number, Some(-5));
}

#[test]
fn path_segments_are_decoded_once() {
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
