//! Hostile bodies: each gets a documented response, and the service keeps running.

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
async fn every_body_gets_a_documented_response() {
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
async fn a_body_that_is_too_large_is_refused() {
    let fake = Fake::default();
    let settings = Settings { body_limit: 1 << 20, ..Settings::default() };
    let gateway = Gateway::start(in_process(&fake), settings).await;
    let announced = gateway.post("/api/urls", vec![b' '; (1 << 20) + 1]).await;
    assert_eq!((announced.status, &announced.json()["code"]), (413, &json!("413")));
    assert_eq!(announced.header("x-ratelimit-limit"), Some("1000"));
    assert_eq!(fake.calls(), ["check_access"]);

    // Without a length, chunk by chunk.
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

    // Few bytes that take much memory as messages.
    let response =
        gateway.post("/api/affiliates", format!(r#"{{"affiliates":[{}{{}}]}}"#, "{},".repeat(300_000))).await;
    assert_eq!(response.status, 413);
    let fits = format!(r#"{{"urls":[{{"url":"http://a/"}}]}}{}"#, " ".repeat((1 << 20) - 100));
    assert_eq!(gateway.post("/api/urls", fits).await.status, 201);
}

#[tokio::test]
async fn a_large_body_without_a_token_gets_a_response_and_no_reset() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    let request = gateway.bare(Method::POST, "/api/urls").body(vec![b' '; 20 << 20]);
    assert_eq!(RestResponse::of(request).await.status, 401);
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_a_504_after_the_timeout() {
    let settings = Settings { body_timeout: Duration::from_millis(200), ..Settings::default() };
    let gateway = Gateway::start(in_process(&Fake::default()), settings).await;
    let request = format!(
        "POST /api/urls HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\nauthorization: Bearer {}\r\n\r\n{{",
        gateway.token
    );
    let response = crate::connections::exchange(gateway.addr, request.as_bytes()).await;
    assert!(response.starts_with("HTTP/1.1 504 "), "{response}");
}

#[tokio::test]
async fn bodies_share_one_memory_limit() {
    let settings = Settings { body_limit: 1 << 20, body_memory: 1 << 20, ..Settings::default() };
    let gateway = Gateway::start(in_process(&Fake::default()), settings).await;
    // One body holds most of it and never ends.
    let mut request = format!(
        "POST /api/urls HTTP/1.1\r\nhost: a\r\ncontent-length: 900000\r\nauthorization: Bearer {}\r\n\r\n",
        gateway.token
    );
    request.push('{');
    let mut stream = tokio::net::TcpStream::connect(gateway.addr).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
    let refused = async {
        loop {
            let response = gateway.post("/api/urls", Body::from(vec![b' '; 500_000])).await;
            if response.status == 503 {
                return response;
            }
        }
    };
    let response = tokio::time::timeout(Duration::from_secs(5), refused).await.unwrap();
    assert_eq!(response.header("retry-after"), Some("1"));
    // Small bodies are still accepted.
    assert_eq!(gateway.post("/api/urls", r#"{"urls":[{"url":"http://a/"}]}"#).await.status, 201);
}
