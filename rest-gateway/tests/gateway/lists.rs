//! Tests streamed lists.

use std::time::{Duration, Instant};

use reqwest::Method;
use rest_gateway::{RestConnections, Settings};

use crate::{
    fake::{Fake, Step},
    harness::{Gateway, in_process},
};

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
