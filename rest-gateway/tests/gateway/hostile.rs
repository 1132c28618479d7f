//! Tests malicious bodies: each receives a documented response, and the service keeps running.

use std::time::Duration;

use reqwest::{Body, Method};
use rest_gateway::Settings;
use serde_json::json;

use test_support::RestResponse;

use crate::{
    fake::Fake,
    harness::{Gateway, in_process},
};

/// After 429, a client would resend the same body forever.
#[tokio::test]
async fn oversized_batches_return_permanent_errors() {
    let settings = Settings { body_memory: 32 << 20, ..Settings::default() };
    let gateway = Gateway::start(in_process(&Fake::default()), settings).await;
    for (method, path, list) in [
        (Method::POST, "/api/affiliates", "affiliates"),
        (Method::PUT, "/api/affiliates/7", "affiliates"),
        (Method::POST, "/api/affiliates:sync", "affiliates"),
        (Method::POST, "/api/urls", "urls"),
    ] {
        for element in ["{}", "[]", "5"] {
            let body = format!(r#"{{"{list}":[{element}{}]}}"#, format!(",{element}").repeat(1_000_000));
            let response = RestResponse::of(gateway.request(method.clone(), path).body(body)).await;
            let message = format!("The {list} field must not have more than 100000 items.");
            assert_eq!(response.status, 422, "{method} {path} {element}: {}", response.text);
            assert_eq!(response.json(), json!({"message": message, "errors": {list: [message]}}));
            assert_eq!(response.header("retry-after"), None);
        }
    }
    // The maximum number of items needs more memory than the company can ever reserve.
    let body = format!(r#"{{"affiliates":[{{}}{}]}}"#, ",{}".repeat(99_999));
    let response = gateway.post("/api/affiliates", body).await;
    assert_eq!((response.status, response.header("retry-after")), (413, None), "{}", response.text);
}

#[tokio::test]
async fn latin1_bodies_return_utf8_error() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    let body = b"{\"client_affiliate_id\":\"1\",\"affiliate_name\":\"J\xfcrgen\"}".to_vec();
    let response = gateway.post("/api/affiliates", body).await;
    let message = "The body must be UTF-8. Byte 47 is not.";
    assert_eq!((response.status, response.json()), (422, json!({"message": message, "errors": {"body": [message]}})));
}

#[tokio::test]
async fn incomplete_bodies_time_out_with_504() {
    let settings = Settings { body_timeout: Duration::from_millis(200), ..Settings::default() };
    let gateway = Gateway::start(in_process(&Fake::default()), settings).await;
    let request = format!(
        "POST /api/urls HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\nauthorization: Bearer {}\r\n\r\n{{",
        gateway.token
    );
    let response = crate::connections::exchange(gateway.addr, request.as_bytes()).await;
    assert!(response.starts_with("HTTP/1.1 504 "), "{response}");
}

/// Starts a request whose announced body never arrives. Returns once the gateway has reserved memory for it.
async fn unfinished_body(gateway: &Gateway, company: i64, bytes: usize) -> tokio::net::TcpStream {
    let token = test_support::token(company);
    let request = format!(
        "POST /api/urls HTTP/1.1\r\nhost: a\r\ncontent-length: {bytes}\r\nexpect: 100-continue\r\n\
         authorization: Bearer {token}\r\n\r\n"
    );
    let mut stream = tokio::net::TcpStream::connect(gateway.addr).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
    // The gateway asks for the body after it reserves the memory.
    let mut response = [0; 12];
    tokio::io::AsyncReadExt::read_exact(&mut stream, &mut response).await.unwrap();
    assert_eq!(&response, b"HTTP/1.1 100");
    stream
}

#[tokio::test]
async fn bodies_share_one_memory_limit() {
    let settings = Settings { body_limit: 1 << 20, body_memory: 1 << 20, ..Settings::default() };
    let gateway = Gateway::start(in_process(&Fake::default()), settings).await;
    let body = || Body::from(vec![b' '; 400_000]);
    let post = async |company| {
        let client = gateway.client.with_token(Some(test_support::token(company)));
        RestResponse::of(client.request_to("POST", "/api/urls").body(body())).await
    };
    let first = unfinished_body(&gateway, 7, 400_000).await;
    // A company can reserve half of the memory.
    let response = post(7).await;
    assert_eq!((response.status, response.header("retry-after")), (429, Some("1")), "{}", response.text);
    // Another company can reserve half of the remaining memory.
    let _second = unfinished_body(&gateway, 8, 300_000).await;
    let response = post(9).await;
    assert_eq!((response.status, response.header("retry-after")), (503, Some("1")), "{}", response.text);
    // Small bodies are still accepted.
    assert_eq!(gateway.post("/api/urls", r#"{"urls":[{"url":"http://a/"}]}"#).await.status, 201);
    drop(first);
}

#[tokio::test]
async fn first_ten_thousand_violations_are_reported() {
    let fake = Fake::default();
    let gateway = Gateway::with_core(&fake).await;
    // Empty elements lack two fields. In the second round, every other element contains wrong types, which the gateway must find.
    let elements = [r"{}", r#"{"city":5,"affiliate_name":7}"#];
    for elements in [[elements[0], elements[0]], elements] {
        let body = format!(r#"{{"affiliates":[{}]}}"#, elements.repeat(20_000).join(","));
        let response = gateway.post("/api/affiliates", body).await;
        assert_eq!(response.status, 422);
        let per_pair = if elements[0] == elements[1] { 4 } else { 5 };
        let message = response.json()["message"].as_str().unwrap().to_owned();
        assert!(message.ends_with(&format!("(and {} more errors)", 20_000 * per_pair - 1)), "{message}");
        let paths = response.paths();
        assert_eq!(paths.len(), 10_000);
        let last = (10_000 - 1) / per_pair * 2;
        assert!(paths.iter().any(|path| path.starts_with(&format!("affiliates.{last}."))), "{last}");
    }
    assert_eq!(fake.calls(), ["check_access"; 2]);
}

#[tokio::test]
async fn leading_byte_order_mark_is_ignored() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    let body = b"\xef\xbb\xbf{\"urls\":[{\"url\":\"http://a/\"}]}";
    assert_eq!(gateway.post("/api/urls", body.to_vec()).await.status, 201);
    let twice = b"\xef\xbb\xbf\xef\xbb\xbf{}".to_vec();
    assert_eq!(gateway.post("/api/urls", twice).await.paths(), ["body"]);
}

#[tokio::test]
async fn requests_need_one_host_and_valid_expect() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    let get = async |headers: &str| {
        let request =
            format!("GET /api/affiliates/7 HTTP/1.1\r\n{headers}authorization: Bearer {}\r\n\r\n", gateway.token);
        crate::connections::exchange(gateway.addr, request.as_bytes()).await
    };
    assert!(get("host: a\r\nexpect: 100-Continue\r\n").await.contains("HTTP/1.1 200"));
    for (headers, status, code) in [
        ("", "400 Bad Request", r#"{"code":"400","status":"error""#),
        ("host: a\r\nHost: b\r\n", "400 Bad Request", r#"{"code":"400","status":"error""#),
        ("host: a\r\nexpect: 200-ok\r\n", "417 Expectation Failed", r#"{"code":"417","status":"error""#),
    ] {
        let response = get(headers).await;
        assert!(response.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{headers:?}: {response}");
        assert!(response.contains(code) && response.contains("x-request-id: "), "{headers:?}: {response}");
    }
}
