//! Tests streamed lists.

use std::time::{Duration, Instant};

use reqwest::Method;
use rest_gateway::{RestConnections, Settings};

use crate::{
    fake::{Fake, Step},
    harness::{Gateway, in_process},
};

#[tokio::test]
async fn list_streams_as_one_envelope() {
    let fake = Fake::listing(&[Step::Records(2), Step::Records(0), Step::Records(3)]);
    let gateway = Gateway::with_core(&fake).await;
    let response = gateway.get("/api/affiliates").await;
    assert_eq!((response.status, response.header("x-ratelimit-limit")), (200, Some("1000")));
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert!(
        response
            .text
            .starts_with(r#"{"code":"1026","status":"ok","detail":{"msg":"Affiliates found"},"data":[{"id":1,"#)
    );
    let ids: Vec<_> = response.json()["data"].as_array().unwrap().iter().map(|it| it["id"].as_i64().unwrap()).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5]);
    // The core receives the list timeout as its deadline.
    assert_eq!(fake.metadata("grpc-timeout").as_deref(), Some("600000m"));
}

#[tokio::test]
async fn empty_list_returns_an_empty_array() {
    for steps in [&[][..], &[Step::Records(0)]] {
        let gateway = Gateway::with_core(&Fake::listing(steps)).await;
        let expected = r#"{"code":"1026","status":"ok","detail":{"msg":"Affiliates found"},"data":[]}"#;
        assert_eq!(gateway.get("/api/affiliates").await.text, expected);
    }
}

#[tokio::test]
async fn early_stream_failure_returns_its_status() {
    let fake = Fake::listing(&[Step::Fail]);
    let gateway = Gateway::with_core(&fake).await;
    fake.release();
    let response = gateway.get("/api/affiliates").await;
    assert_eq!(response.status, 503);
    assert_eq!(response.header("x-ratelimit-limit"), Some("1000"));
}

#[tokio::test]
async fn mid_stream_failure_aborts_the_transfer() {
    for accept in ["application/json", "application/x-ndjson", "text/csv"] {
        assert_aborted(accept).await;
    }
}

async fn assert_aborted(accept: &str) {
    let fake = Fake::listing(&[Step::Records(5), Step::Records(5), Step::Fail]);
    let gateway = Gateway::with_core(&fake).await;
    let request = gateway.request(Method::GET, "/api/affiliates").header("accept", accept);
    let mut response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with(accept));
    fake.release();
    let mut received = Vec::new();
    let failure = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => received.extend_from_slice(&chunk),
            Ok(None) => panic!("the transfer ended as if the list were complete"),
            Err(error) => break error,
        }
    };
    assert!(failure.is_body() || failure.is_decode() || failure.is_request(), "{failure:?}");
    assert!(serde_json::from_slice::<serde_json::Value>(&received).is_err());
}

#[tokio::test]
async fn streaming_connections_do_not_idle_out() {
    let fake = Fake::listing(&[Step::Records(5), Step::Hang]);
    let list_timeout = Duration::from_secs(3);
    let idle = list_timeout / 6;
    let connections = RestConnections { header_timeout: idle, idle_timeout: idle, ..RestConnections::default() };
    let settings = Settings { list_timeout, connections, ..Settings::default() };
    let gateway = Gateway::start(in_process(&fake), settings).await;
    let started = Instant::now();
    let response = gateway.request(Method::GET, "/api/affiliates").send().await.unwrap();
    assert!(response.text().await.is_err());
    assert!(started.elapsed() >= list_timeout, "{:?}", started.elapsed());
}

#[tokio::test]
async fn hanging_lists_time_out() {
    let fake = Fake::listing(&[Step::Records(5), Step::Hang]);
    let settings = Settings { list_timeout: Duration::from_secs(2), ..Settings::default() };
    let gateway = Gateway::start(in_process(&fake), settings).await;
    let response = gateway.request(Method::GET, "/api/affiliates").send().await.unwrap();
    assert!(response.text().await.is_err());
}

/// Returns how many messages the gateway reads while the client reads nothing.
///
/// All tasks run on this thread, so they are blocked if nothing changes for many rounds.
async fn messages_read_without_reader(fake: &Fake) -> usize {
    let (mut read, mut rounds) = (0, 0);
    while rounds < 10_000 {
        tokio::task::yield_now().await;
        let now = *fake.0.messages_read.lock().unwrap();
        rounds = if now == read { rounds + 1 } else { 0 };
        read = now;
    }
    read
}

#[tokio::test]
async fn unread_responses_apply_backpressure() {
    let steps = vec![Step::Records(200); 300];
    let fake = Fake::listing(&steps);
    let gateway = Gateway::with_core(&fake).await;
    let mut response = gateway.request(Method::GET, "/api/affiliates").send().await.unwrap();
    response.chunk().await.unwrap();
    let read = messages_read_without_reader(&fake).await;
    assert!(read < 100, "{read} of 300 messages were read for a client that reads nothing");
    let mut length = 0;
    while let Some(chunk) = response.chunk().await.unwrap() {
        length += chunk.len();
    }
    assert!(length > 50 << 20, "{length}");
}
