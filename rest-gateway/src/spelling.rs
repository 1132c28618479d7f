//! Equal spellings of a path: `/api/affiliates%3Async` is `/api/affiliates:sync`.

use http::{Request, uri::PathAndQuery};

/// The request with the path that routes know. Clients and proxies may percent-encode any character of a path.
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

/// A path without the encodings of characters that a segment may have as they are (RFC 3986, 3.3). Others stay: `%2F` is not a
/// separator, and `%25` must not be decoded twice. `None` if nothing is encoded.
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

/// Whether a segment may have the character as it is.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::canonical;

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
