//! Adds URLs with `POST /urls`.

use serde_json::{Value, json};

use super::{
    Case,
    expect::{Expect, found, invalid, invalid_one, urls_added},
    run_table,
};

pub(super) fn body(urls: &[&str]) -> Value {
    json!({"urls": urls.iter().map(|url| json!({"url": url})).collect::<Vec<_>>()})
}

/// Returns a new URL as it appears in a response.
pub(super) fn new_url(id: &str, url: &str, domain: &str) -> String {
    let url = json!(url);
    format!(
        r#"{{"id":{id},"url":{url},"domain":"{domain}","incident_status":"New","disabled":"no","false_positive":null,"country":null,"discovery_date":"<now>","last_review_date":null,"last_crawl_date":null,"last_seen":null,"affiliate_name":null,"affiliate_id":null,"sub_affiliate_id":null,"owner_email":null,"social_one":null,"social_two":null,"social_three":null,"phone_one":null,"phone_two":null,"landing_page":null,"case_id":null,"note":null,"video_path":null,"transcription_text":null,"transcription_status":null,"infractions":[]}}"#
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn urls_are_added() {
    let mut cases = vec![
        Case::new("duplicate URL is skipped").given_urls(&["https://example.org/a"]).post(
            "/urls",
            body(&["https://example.org/a"]),
            urls_added(&[false]),
        ),
        Case::new("existing and new URLs keep their order").given_urls(&["https://example.org/b"]).post(
            "/urls",
            body(&["https://example.org/a", "https://example.org/b", "https://example.org/c"]),
            urls_added(&[true, false, true]),
        ),
        Case::new("first of equal URLs in a request is added").post(
            "/urls",
            body(&["https://example.org/", "https://EXAMPLE.org", "https://example.org/x", "https://example.org/"]),
            urls_added(&[true, false, true, false]),
        ),
        Case::new("request with only existing URLs is accepted").given_urls(&["http://a.example/"]).post(
            "/urls",
            body(&["http://a.example/", "http://a.example"]),
            urls_added(&[false, false]),
        ),
        Case::new("unknown keys are ignored").post(
            "/urls",
            json!({"x": [], "urls": [{"url": "http://a.example/", "id": 5, "note": {"a": 1}}]}),
            urls_added(&[true]),
        ),
        Case::new("last duplicate key wins")
            .post("/urls", r#"{"urls":5,"urls":[{"url":7,"url":"http://a.example/"}]}"#, urls_added(&[true]))
            .only_rest(),
    ];
    for (url, domain) in [
        ("https://Example.ORG", "example.org"),
        ("HTTP://user:secret@example.org:8080/?q=a b#frag", "example.org"),
        ("https://bücher.example/größe?ä=ö", "xn--bcher-kva.example"),
        ("http://192.0.2.7/", "192.0.2.7"),
        ("http://0xC0000207/", "192.0.2.7"),
        ("http://[2001:DB8::1]:8080/x", "[2001:db8::1]"),
        ("https://a.b.c.example.co.uk./", "a.b.c.example.co.uk."),
    ] {
        cases.push(
            Case::new(format!("new URL is returned as sent: {url}"))
                .given_urls(&[url])
                .get("/urls/<1>", found("URL found.", &new_url("<1>", url, domain))),
        );
    }
    // These URLs exceed the maximum index row size, even when compressed.
    let long = |last: &str, chars: usize| {
        let mut url = String::from("https://example.org/");
        let mut state = 7_u64;
        while url.chars().count() + last.len() < chars {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            url.push(char::from(b'a' + (state >> 33) as u8 % 26));
        }
        url + last
    };
    for chars in [2_048, 8_191, 8_192] {
        let (one, other) = (long("1", chars), long("2", chars));
        cases.push(
            Case::new(format!("{chars} characters are accepted and compared"))
                .post("/urls", body(&[&one, &other]), urls_added(&[true, true]))
                .post("/urls", body(&[&other, &one]), urls_added(&[false, false]))
                .get("/urls/<2>", found("URL found.", &new_url("<2>", &other, "example.org"))),
        );
    }
    let wide = format!("https://example.org/{}", "é".repeat(8_192 - 20));
    cases.push(Case::new("8,192 two-byte characters are accepted").post("/urls", body(&[&wide]), urls_added(&[true])));
    cases.push(Case::new("8,193 characters are rejected").post(
        "/urls",
        body(&["http://a.example/", &long("1", 8_193)]),
        invalid_one("urls.1.url", "The urls.1.url field must not be greater than 8192 characters."),
    ));
    run_table(cases).await;
}

/// URLs are equal if they normalize to the same URL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn urls_are_compared_in_normalized_form() {
    let same = [
        ("http://example.org", "http://example.org/"),
        ("HTTP://example.org/", "http://example.org/"),
        ("hTTps://EXAMPLE.org/", "https://example.org/"),
        ("http://example.org:80/", "http://example.org/"),
        ("https://example.org:443/x", "https://example.org/x"),
        ("https://example.org:/x", "https://example.org/x"),
        ("https://example.org?a=1", "https://example.org/?a=1"),
        ("https://example.org#f", "https://example.org/#f"),
        ("https://example.org/a/../b", "https://example.org/b"),
        ("https://example.org/./a", "https://example.org/a"),
        ("https://example.org/a/%2e%2e/b", "https://example.org/b"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://BÜCHER.example/", "https://bücher.example/"),
        ("https://example.org/a b", "https://example.org/a%20b"),
        ("https://example.org/é", "https://example.org/%C3%A9"),
        ("http://127.1/", "http://127.0.0.1/"),
        ("http://[::0001]/", "http://[::1]/"),
        (" https://example.org/ ", "https://example.org/"),
        ("https://example.org\\a", "https://example.org/a"),
    ];
    let different = [
        ("http://example.org/", "https://example.org/"),
        ("http://example.org/", "http://example.org:8080/"),
        ("http://example.org/", "http://www.example.org/"),
        ("http://example.org/a", "http://example.org/a/"),
        ("http://example.org/a", "http://example.org/A"),
        ("http://example.org/?a=1", "http://example.org/"),
        ("http://example.org/#f", "http://example.org/"),
        ("http://example.org/?a=1&b=2", "http://example.org/?b=2&a=1"),
        ("http://user@example.org/", "http://example.org/"),
        ("https://example.org/%c3%a9", "https://example.org/%C3%A9"),
        ("https://example.org/a//b", "https://example.org/a/b"),
    ];
    let mut cases = Vec::new();
    for (pairs, are_same) in [(&same[..], true), (&different[..], false)] {
        for (one, other) in pairs {
            let name = format!("{one} and {other} are {}", if are_same { "the same" } else { "different" });
            let case = Case::new(format!("{name}, in two requests"));
            cases.push(case.given_urls(&[one]).post("/urls", body(&[other]), urls_added(&[!are_same])));
            let case = Case::new(format!("{name}, in one request"));
            cases.push(case.post("/urls", body(&[other, one]), urls_added(&[true, !are_same])));
        }
    }
    run_table(cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_urls_are_rejected() {
    let required = || invalid_one("urls", "The urls field is required.");
    let no_url =
        |index: usize| (format!("urls.{index}"), format!("The urls.{index} field must contain entries for: url."));
    let wrong =
        |index: usize| (format!("urls.{index}.url"), format!("The urls.{index}.url field must be a valid URL."));
    let nothing = || {
        Expect {
        body: r#"{"code":"1026","status":"ok","detail":{"msg":"URLs found"},"data":[],"meta":{"total":0,"per_page":100,"current_page":1,"last_page":1}}"#.to_owned(),
        ..super::expect::ok("")
    }
    };
    let mut cases = vec![
        Case::new("urls is required").post("/urls", "{}", required()),
        Case::new("null counts as missing").post("/urls", r#"{"urls":null}"#, required()),
        Case::new("empty array counts as missing").post("/urls", r#"{"urls":[]}"#, required()),
        Case::new("urls must be an array, not an object")
            .post(
                "/urls",
                r#"{"urls":{"url":"http://a.example/"}}"#,
                invalid_one("urls", "The urls field must be an array."),
            )
            .only_rest(),
        Case::new("urls must be an array, not a string")
            .post("/urls", r#"{"urls":"http://a.example/"}"#, invalid_one("urls", "The urls field must be an array."))
            .only_rest(),
        Case::new("item requires a URL").post("/urls", r#"{"urls":[{}]}"#, invalid(&[no_url(0)])),
        Case::new("null URL counts as missing").post(
            "/urls",
            r#"{"urls":[{"url":"http://a.example/"},{"url":null,"x":1}]}"#,
            invalid(&[no_url(1)]),
        ),
        Case::new("items must be objects")
            .post(
                "/urls",
                r#"{"urls":["http://a.example/",5]}"#,
                invalid(&[
                    ("urls.0", "The urls.0 field must be an object with the field url."),
                    ("urls.1", "The urls.1 field must be an object with the field url."),
                ]),
            )
            .only_rest(),
        Case::new("URL must be a string")
            .post(
                "/urls",
                r#"{"urls":[{"url":5}]}"#,
                invalid_one("urls.0.url", "The urls.0.url field must be a string."),
            )
            .only_rest(),
        Case::new("NUL character is rejected").post(
            "/urls",
            body(&["http://a.example/\0"]),
            invalid_one("urls.0.url", "The urls.0.url field must not contain the character U+0000."),
        ),
        Case::new("all violations are reported and nothing is added")
            .post(
                "/urls",
                json!({"urls": [{"url": "http://a.example/"}, {}, {"url": "nope"}, {"url": ""}, {"uri": "x"}]}),
                invalid(&[no_url(1), wrong(2), wrong(3), no_url(4)]),
            )
            .get("/urls", nothing()),
        Case::new("message counts one more error").post(
            "/urls",
            json!({"urls": [{"url": "a"}, {"url": "b"}]}),
            invalid(&[wrong(0), wrong(1)]),
        ),
    ];
    for url in [
        "",
        " ",
        "example.org",
        "/path",
        "//example.org/",
        "ftp://example.org/",
        "gopher://example.org/",
        "mailto:a@example.org",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "http:",
        "http://",
        "http:example.org",
        "http:/example.org",
        "http://exa mple.org/",
        "http://[::1/",
        "http://example.org:99999/",
        "http://example.org:x/",
        "http://%00/",
        "http://a<b/",
        "httpss://example.org/",
        "xhttp://example.org/",
        "https://example.org/\tAnn",
        "https://example.org/\u{200b}",
        "https://example.org/1 https://example.org/2",
        "https://example.org,https://example.com",
    ] {
        cases.push(Case::new(format!("invalid URL: {url:?}")).post("/urls", body(&[url]), invalid(&[wrong(0)])));
    }
    run_table(cases).await;
}
