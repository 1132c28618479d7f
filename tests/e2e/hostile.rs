//! Malicious bodies receive a documented 4xx status, and the service keeps running.

use std::time::Duration;

use test_support::{RestClient, TestService, new_company, token};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// A name, a body and the documented statuses.
type Hostile = (&'static str, Vec<u8>, &'static [u16]);

fn repeated(part: &str, times: usize) -> Vec<u8> {
    part.repeat(times).into_bytes()
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn hostile() -> Vec<Hostile> {
    const BAD: &[u16] = &[422];
    let affiliate = |value: &[u8]| joined(&[br#"{"client_affiliate_id":"C","affiliate_name":"#, value, b"}"]);
    let url = |value: &[u8]| joined(&[br#"{"urls":[{"url":"#, value, b"}]}"]);
    let list = |element: &str, count| vec![element; count].join(",");
    let elements = |element: &str| {
        format!(r#"{{"urls":[{}],"affiliates":[{}]}}"#, list(element, 60_001), list(element, 100_001)).into_bytes()
    };
    let mut all: Vec<Hostile> = vec![
        ("empty body", vec![], BAD),
        ("whitespace", b" \n\t ".to_vec(), BAD),
        ("two byte order marks", joined(&[b"\xef\xbb\xbf\xef\xbb\xbf", &affiliate(b"\"N\"")]), BAD),
        ("UTF-16", "{}".encode_utf16().flat_map(u16::to_le_bytes).collect(), BAD),
        ("invalid UTF-8", affiliate(b"\"\xff\xfe\""), BAD),
        ("overlong UTF-8", affiliate(b"\"\xc0\x80\""), BAD),
        ("surrogate in UTF-8", affiliate(b"\"\xed\xa0\x80\""), BAD),
        ("invalid UTF-8 in an unknown key", joined(&[b"{\"", b"\xff", b"\":1}"]), BAD),
        ("invalid UTF-8 in an unknown value", b"{\"x\":\"\xff\"}".to_vec(), BAD),
        ("lone high surrogate", affiliate(br#""\ud800""#), BAD),
        ("lone low surrogate", affiliate(br#""\udc00x""#), BAD),
        ("reversed surrogates", affiliate(br#""\udc00\ud800""#), BAD),
        ("lone surrogate in an unknown value", br#"{"x":"\ud800"}"#.to_vec(), BAD),
        ("NUL, escaped", affiliate(br#""a\u0000b""#), BAD),
        ("NUL, raw", affiliate(b"\"a\0b\""), BAD),
        ("NUL after the end", joined(&[&affiliate(b"\"N\""), b"\0"]), BAD),
        ("control characters", affiliate(b"\"a\x01\n\""), BAD),
        ("1e400", affiliate(b"1e400"), BAD),
        ("1e400 in an unknown value", br#"{"x":1e400}"#.to_vec(), BAD),
        ("-1e400 as an ID", br#"{"id":-1e400}"#.to_vec(), BAD),
        ("number with 100,000 digits", affiliate(&repeated("9", 100_000)), BAD),
        ("ID with 100,000 digits", joined(&[br#"{"id":"#, &repeated("9", 100_000), b"}"]), BAD),
        ("NaN", affiliate(b"NaN"), BAD),
        (
            "duplicate key with a wrong last value",
            br#"{"client_affiliate_id":"C","affiliate_name":"N","affiliate_name":5}"#.to_vec(),
            BAD,
        ),
        (
            "duplicate list with a wrong last value",
            br#"{"affiliates":[],"urls":[{"url":"http://a.example/"}],"urls":5,"affiliates":7}"#.to_vec(),
            BAD,
        ),
        ("200,000 open brackets", repeated("[", 200_000), BAD),
        ("200,000 open braces", repeated(r#"{"a":"#, 200_000), BAD),
        ("200,000 brackets", joined(&[&repeated("[", 200_000), &repeated("]", 200_000)]), BAD),
        ("200,000 braces", joined(&[&repeated(r#"{"a":"#, 200_000), b"1", &repeated("}", 200_000)]), BAD),
        ("200,000 brackets as a name", affiliate(&joined(&[&repeated("[", 200_000), &repeated("]", 200_000)])), BAD),
        (
            "200,000 braces as a URL",
            url(&joined(&[&repeated(r#"{"a":"#, 200_000), b"1", &repeated("}", 200_000)])),
            BAD,
        ),
        (
            "200,000 brackets as a list",
            joined(&[br#"{"urls":"#, &repeated("[", 200_000), &repeated("]", 200_000), b"}"]),
            BAD,
        ),
        (
            "lists nested in a list",
            joined(&[br#"{"affiliates":"#, &repeated("[", 200_000), &repeated("]", 200_000), b"}"]),
            BAD,
        ),
        ("unclosed brackets in an unknown value", joined(&[br#"{"x":"#, &repeated("[", 200_000), b"}"]), BAD),
        ("empty elements", elements("{}"), &[422, 413]),
        ("elements that are not objects", elements("5"), &[422, 413]),
        ("4 MiB name", affiliate(&joined(&[b"\"", &repeated("x", 4 << 20), b"\""])), BAD),
        ("4 MiB URL", url(&joined(&[b"\"http://a.example/", &repeated("x", 4 << 20), b"\""])), BAD),
        ("4 MiB key", joined(&[b"{\"", &repeated("x", 4 << 20), b"\":1}"]), BAD),
        ("33 MiB of whitespace", repeated(" ", 33 << 20), &[413]),
        ("33 MiB of brackets", repeated("[", 33 << 20), &[413]),
        ("form data", b"client_affiliate_id=C&affiliate_name=N".to_vec(), BAD),
        ("XML", b"<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY a \"b\">]><x>&a;</x>".to_vec(), BAD),
        ("gzip", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00".to_vec(), BAD),
        ("prototype pollution", br#"{"__proto__":{"affiliate_name":"N"},"constructor":5}"#.to_vec(), BAD),
    ];
    for value in ["\"'; drop table affiliates; --\"", "\"%s%n\""] {
        // The value is valid, but the other required field is missing.
        all.push(("injection", joined(&[br#"{"affiliate_name":"#, value.as_bytes(), b"}"]), BAD));
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_bodies_return_documented_errors() {
    let service = TestService::start().await;
    let rest = service.rest(new_company());
    let good = rest.post("/affiliates", r#"{"client_affiliate_id":"G","affiliate_name":"Good"}"#).await;
    let id = good.with_status(201)["detail"]["affiliate_id"].as_i64().unwrap();
    let targets =
        [("POST", "/affiliates".to_owned()), ("PUT", format!("/affiliates/{id}")), ("POST", "/urls".to_owned())];
    for (name, body, documented) in hostile() {
        let answers = targets.iter().map(|(method, path)| {
            let body = body.clone();
            async {
                match *method {
                    "PUT" => rest.put(path, body).await,
                    _ => rest.post(path, body).await,
                }
            }
        });
        for (answer, (method, path)) in futures::future::join_all(answers).await.iter().zip(&targets) {
            let shown = start(&answer.text);
            assert!(documented.contains(&answer.status), "{name} to {method} {path}: {} {shown}", answer.status);
            let body = answer.json();
            if answer.status == 422 {
                assert!(body["message"].is_string(), "{name}: {shown}");
                assert!(!body["errors"].as_object().unwrap().is_empty(), "{name}: {shown}");
            } else {
                assert_eq!(body["code"], answer.status.to_string(), "{name}");
            }
        }
        answers_still(&rest).await;
    }
    // The service saved nothing.
    assert_eq!(rest.get("/affiliates").await.json()["data"].as_array().unwrap().len(), 1);
    assert_eq!(rest.get("/urls").await.json()["meta"]["total"], 0);
}

/// Checks that the service still serves a normal request.
async fn answers_still(rest: &RestClient) {
    let answer = rest.get("/affiliates").await.with_status(200);
    assert_eq!(answer["data"][0]["distributor_name"], "Good");
}

fn start(text: &str) -> String {
    text.chars().take(300).collect()
}

/// Unknown fields can contain deep, long and unusual values.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unusual_values_in_unknown_fields_are_accepted() {
    let service = TestService::shared().await;
    let rest = service.rest(new_company());
    let nested = [
        joined(&[&repeated("[", 200_000), &repeated("]", 200_000)]),
        joined(&[&repeated(r#"{"a":"#, 200_000), b"1", &repeated("}", 200_000)]),
        joined(&[b"\"", &repeated("x", 1 << 20), b"\""]),
        repeated("9", 300),
        br#"{"a":1,"a":[2],"":null}"#.to_vec(),
        br#""\u0000""#.to_vec(),
        b"1e400".to_vec(),
    ];
    for (number, value) in nested.iter().enumerate() {
        let body = joined(&[
            br#"{"x":"#,
            value,
            format!(r#","client_affiliate_id":"C","affiliate_name":"{number}"}}"#).as_bytes(),
        ]);
        let answer = rest.post("/affiliates", body).await;
        assert_eq!(answer.status, 201, "{number}: {}", start(&answer.text));
        let body = joined(&[
            format!(r#"{{"urls":[{{"url":"https://example.org/{number}","x":"#).as_bytes(),
            value,
            br#"}],"y":"#,
            value,
            b"}",
        ]);
        let answer = rest.post("/urls", body).await;
        assert_eq!(answer.status, 201, "{number}: {}", start(&answer.text));
    }
}

/// The requests have invalid heads or incomplete bodies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_requests_do_not_affect_other_callers() {
    let service = TestService::start().await;
    let company = new_company();
    let token = token(company);
    let rest = service.rest(company);
    rest.post("/affiliates", r#"{"client_affiliate_id":"G","affiliate_name":"Good"}"#).await.with_status(201);
    let head = format!("POST /api/affiliates HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n");
    let sent: Vec<Vec<u8>> = vec![
        b"\x00\x01\x02\x03\r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        format!("{head}Content-Length: -1\r\n\r\n").into_bytes(),
        format!("{head}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello").into_bytes(),
        format!("{head}Content-Length: 99999999999999999999\r\n\r\n{{").into_bytes(),
        format!("{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n").into_bytes(),
        format!("{head}Content-Length: 1000\r\n\r\n{{\"client_affiliate_id\":").into_bytes(),
        format!("{head}X: {}\r\n\r\n", "x".repeat(1 << 20)).into_bytes(),
        format!("GET /api/affiliates/{} HTTP/1.1\r\nHost: x\r\n\r\n", "9".repeat(1 << 20)).into_bytes(),
    ];
    for bytes in sent {
        let mut stream = TcpStream::connect(service.rest).await.unwrap();
        // The service can close the connection before it has received everything.
        let _ = stream.write_all(&bytes).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let read = tokio::time::timeout(Duration::from_mins(1), stream.read_to_end(&mut answer)).await;
        assert!(read.is_ok(), "no response to {:?}", start(&String::from_utf8_lossy(&bytes)));
        let answer = String::from_utf8_lossy(&answer);
        assert!(!answer.starts_with("HTTP/1.1 2") && !answer.starts_with("HTTP/1.1 5"), "{answer}");
        answers_still(&rest).await;
    }
}
