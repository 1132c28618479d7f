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

#[tokio::test]
async fn hostile_bodies_return_documented_responses() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    let brackets = "[".repeat(200_000);
    let braces = r#"{"affiliates":"#.repeat(200_000);
    let bodies: Vec<(Vec<u8>, u16)> = vec![
        (Vec::new(), 422),
        (b"null".to_vec(), 422),
        (b"[]".to_vec(), 422),
        (brackets.clone().into_bytes(), 422),
        (format!("{brackets}{}", "]".repeat(200_000)).into_bytes(), 422),
        (braces.into_bytes(), 422),
        (format!(r#"{{"affiliates":{brackets}{}}}"#, "]".repeat(200_000)).into_bytes(), 422),
        (format!(r#"{{"affiliates":[{brackets}{}]}}"#, "]".repeat(200_000)).into_bytes(), 422),
        (br#"{"client_affiliate_id":"a","affiliate_name":"b","x":1e400}"#.to_vec(), 201),
        (br#"{"client_affiliate_id":"a","affiliate_name":1e400}"#.to_vec(), 422),
        (br#"{"client_affiliate_id":"a","affiliate_name":"\ud800"}"#.to_vec(), 422),
        (br#"{"client_affiliate_id":"a","affiliate_name":"a\u0000b"}"#.to_vec(), 422),
        (b"{\"client_affiliate_id\":\"a\",\"affiliate_name\":\"\xff\"}".to_vec(), 422),
        (b"{\"client_affiliate_id\":\"a\",\"affiliate_name\":\"a\0b\"}".to_vec(), 422),
        (br#"{"client_affiliate_id":1,"client_affiliate_id":"a","affiliate_name":"b"}"#.to_vec(), 201),
        (br#"{"client_affiliate_id":"a","affiliate_name":"b"}}"#.to_vec(), 422),
    ];
    for (body, status) in bodies {
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        let response = gateway.post("/api/affiliates", body.clone()).await;
        assert_eq!(response.status, status, "{shown}: {}", response.text);
        let response = gateway.put("/api/affiliates/7", body.clone()).await;
        assert_eq!(response.status, 422, "{shown}: {}", response.text);
        let response = gateway.post("/api/urls", body).await;
        assert_eq!(response.status, 422, "{shown}: {}", response.text);
    }
    assert_eq!(gateway.get("/api/affiliates/7").await.status, 200);
}

#[tokio::test]
async fn oversized_bodies_are_rejected() {
    let fake = Fake::default();
    let settings = Settings { body_limit: 1 << 20, ..Settings::default() };
    let gateway = Gateway::start(in_process(&fake), settings).await;
    let announced = gateway.post("/api/urls", vec![b' '; (1 << 20) + 1]).await;
    assert_eq!((announced.status, &announced.json()["code"]), (413, &json!("413")));
    assert_eq!(announced.header("x-ratelimit-limit"), Some("1000"));
    assert_eq!(fake.calls(), ["check_access"]);

    // Chunked, without a length.
    let mut request =
        b"POST /api/urls HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\nauthorization: Bearer ".to_vec();
    request.extend_from_slice(gateway.token.as_bytes());
    request.extend_from_slice(b"\r\nconnection: close\r\n\r\n");
    for _ in 0..20 {
        request.extend_from_slice(format!("{:x}\r\n{}\r\n", 1 << 16, " ".repeat(1 << 16)).as_bytes());
    }
    request.extend_from_slice(b"0\r\n\r\n");
    let response = crate::connections::exchange(gateway.addr, &request).await;
    assert!(response.starts_with("HTTP/1.1 413 "), "{response}");

    // A small body that needs a lot of memory once decoded.
    let response = gateway.post("/api/affiliates", format!(r#"{{"affiliates":[{}{{}}]}}"#, "{},".repeat(90_000))).await;
    assert_eq!(response.status, 413);
    let fits = format!(r#"{{"urls":[{{"url":"http://a/"}}]}}{}"#, " ".repeat((1 << 20) - 100));
    assert_eq!(gateway.post("/api/urls", fits).await.status, 201);
}

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
async fn large_unauthenticated_bodies_return_401() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    let request = gateway.bare(Method::POST, "/api/urls").body(vec![b' '; 20 << 20]);
    assert_eq!(RestResponse::of(request).await.status, 401);
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
async fn oversized_lists_are_rejected_by_name() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    for (path, list) in [("/api/affiliates", "affiliates"), ("/api/urls", "urls")] {
        for element in ["{}", "5", r#"{"url":"http://a/"}"#] {
            let body = format!(r#"{{"{list}":[{}{element}]}}"#, format!("{element},").repeat(100_000));
            let response = gateway.post(path, body).await;
            assert_eq!(response.status, 422);
            let message = format!("The {list} field must not have more than 100000 items.");
            assert_eq!(response.json(), json!({"message": message, "errors": {list: [message]}}));
        }
    }
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
