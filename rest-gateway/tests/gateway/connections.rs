//! Tests connection limits, and shutdown under load.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use reqwest::Method;
use rest_gateway::{RestConnections, Settings};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};

use crate::{
    fake::{Fake, Step},
    harness::{Gateway, PATIENCE, in_process, patient},
};

/// Sends bytes and reads the response until the gateway closes the connection or a JSON object ends.
pub(crate) async fn exchange(addr: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut response = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(Ok(read @ 1..)) = timeout(PATIENCE, stream.read(&mut buffer)).await {
        response.extend_from_slice(&buffer[..read]);
        if response.ends_with(b"}") {
            break;
        }
    }
    String::from_utf8(response).unwrap()
}

/// Sends `sent`, and returns how long the gateway keeps the connection open.
async fn kept(addr: SocketAddr, sent: &[u8]) -> Duration {
    let started = Instant::now();
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(sent).await.unwrap();
    let mut rest = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("the gateway did not close the connection");
    started.elapsed()
}

/// Returns a connection that has received its response.
async fn idle_connection(addr: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    one_response(&mut stream).await;
    stream
}

/// Waits until the gateway closes an idle connection. On shutdown, it closes connections without requests in flight.
async fn closed(mut idle: TcpStream) {
    let mut rest = Vec::new();
    timeout(PATIENCE, idle.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert!(rest.is_empty(), "{rest:?}");
}

#[tokio::test]
async fn silent_slow_and_idle_connections_are_closed() {
    let second = Duration::from_secs(1);
    let connections = RestConnections { header_timeout: second, idle_timeout: second, ..patient().connections };
    let gateway = Gateway::start(in_process(&Fake::default()), Settings { connections, ..Settings::default() }).await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    for sent in [&b""[..], b"GET /livez HT", b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n", preface] {
        let kept = kept(gateway.addr, sent).await;
        assert!(kept > second / 2, "{:?}: {kept:?}", String::from_utf8_lossy(sent));
    }
}

#[tokio::test]
async fn connections_above_the_limit_wait() {
    let connections = RestConnections { max_connections: 2, ..RestConnections::default() };
    let gateway = Gateway::start(in_process(&Fake::default()), Settings { connections, ..Settings::default() }).await;
    let get = b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n";
    let first = idle_connection(gateway.addr).await;
    let _second = idle_connection(gateway.addr).await;
    let addr = gateway.addr;
    let mut third = tokio::spawn(async move { exchange(addr, get).await });
    assert!(timeout(Duration::from_millis(300), &mut third).await.is_err(), "the gateway served a third connection");
    drop(first);
    assert!(third.await.unwrap().starts_with("HTTP/1.1 200 OK"));
}

/// An unread response fills the system's buffers.
#[tokio::test]
async fn stalled_readers_are_disconnected() {
    let connections = RestConnections { write_timeout: Duration::from_secs(1), ..patient().connections };
    let fake = Fake::listing(&[Step::Records(500); 200]);
    let gateway = Gateway::start(in_process(&fake), Settings { connections, ..patient() }).await;
    let mut stream = TcpStream::connect(gateway.addr).await.unwrap();
    let authorization = format!("authorization: Bearer {}", gateway.token);
    let request = format!("GET /api/affiliates HTTP/1.1\r\nhost: a\r\n{authorization}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let started = Instant::now();
    while stream.write_all(b"GET / HTTP/1.1\r\n").await.is_ok() {
        assert!(started.elapsed() < PATIENCE, "the gateway did not close the connection");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn unresponsive_core_returns_504() {
    let settings = Settings { request_timeout: Duration::from_millis(200), ..Settings::default() };
    let gateway = Gateway::start(in_process(&Fake::default()), settings).await;
    let response = gateway.get("/api/affiliates/504").await;
    assert_eq!(response.status, 504);
    assert_eq!(response.json()["code"], "504");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_under_load_drops_no_accepted_requests() {
    let fake = Fake::default();
    let connections = RestConnections { shutdown_delay: Duration::from_secs(3), ..patient().connections };
    let gateway = Gateway::start(in_process(&fake), Settings { connections, ..patient() }).await;
    // A slow request is in flight before the others start.
    let slow = tokio::spawn(gateway.request(Method::GET, "/api/affiliates/202").send());
    fake.called().await;
    let idle = idle_connection(gateway.addr).await;
    let request =
        format!("GET /api/affiliates/5 HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\r\n", gateway.token);
    let request: Arc<[u8]> = request.into_bytes().into();
    let responses = Arc::new(Semaphore::new(0));
    let mut clients = Vec::new();
    for _ in 0..64 {
        let (request, addr, responses) = (Arc::clone(&request), gateway.addr, Arc::clone(&responses));
        clients.push(tokio::spawn(async move {
            // While the gateway is ready, and for some time afterward, it accepts connections and responds to every request.
            while exchange(addr, b"GET /readyz HTTP/1.1\r\nhost: a\r\n\r\n").await.starts_with("HTTP/1.1 200 OK") {
                let mut stream = TcpStream::connect(addr).await.unwrap();
                loop {
                    stream.write_all(&request).await.expect("an accepted connection should accept requests");
                    let response = one_response(&mut stream).await;
                    assert!(response.starts_with("HTTP/1.1 200 OK"), "{response:?}");
                    responses.add_permits(1);
                    if response.contains("connection: close") {
                        break;
                    }
                }
            }
        }));
    }
    let _load = responses.acquire_many(500).await.unwrap();
    gateway.shutdown.cancel();
    closed(idle).await;
    fake.release();
    assert_eq!(slow.await.unwrap().unwrap().status(), 200);
    for client in clients {
        client.await.unwrap();
    }
    timeout(PATIENCE, gateway.served).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn shutdown_finishes_http2_requests() {
    let fake = Fake::listing(&[Step::Records(5), Step::Fail]);
    let gateway = Gateway::with_core(&fake).await;
    let stream = TcpStream::connect(gateway.addr).await.unwrap();
    let http2 = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let (mut client, connection) = http2.handshake(TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = |path: &str| {
        let request = http::Request::get(format!("http://{}{path}", gateway.addr));
        request.header("authorization", format!("Bearer {}", gateway.token)).body(Empty::<Bytes>::new()).unwrap()
    };
    let list = client.send_request(request("/api/affiliates")).await.unwrap();
    assert_eq!(list.status(), 200);
    fake.called().await;
    fake.release();
    assert!(list.into_body().collect().await.is_err(), "an incomplete list must be reset");

    let idle = idle_connection(gateway.addr).await;
    let slow = client.send_request(request("/api/affiliates/202"));
    fake.called().await;
    gateway.shutdown.cancel();
    closed(idle).await;
    fake.release();
    assert_eq!(slow.await.unwrap().status(), 200);
    timeout(PATIENCE, connection).await.unwrap().unwrap().unwrap();
    timeout(PATIENCE, gateway.served).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn shutdown_finishes_open_lists() {
    let gateway = Gateway::with_core(&Fake::listing(&[Step::Records(500); 100])).await;
    let mut response = gateway.request(Method::GET, "/api/affiliates").send().await.unwrap();
    response.chunk().await.unwrap();
    let idle = idle_connection(gateway.addr).await;
    gateway.shutdown.cancel();
    closed(idle).await;
    let mut last = Vec::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        last = chunk.to_vec();
    }
    assert!(last.ends_with(b"]}"));
    timeout(PATIENCE, gateway.served).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn shutdown_ends_watches() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    let request = gateway.request(Method::GET, "/api/changes").header("Accept", "text/event-stream");
    let mut response = request.send().await.unwrap();
    let mut text = Vec::new();
    while !text.ends_with(b"\n\n") {
        text.extend(response.chunk().await.unwrap().unwrap());
    }
    gateway.shutdown.cancel();
    assert_eq!(timeout(PATIENCE, response.chunk()).await.unwrap().unwrap(), None);
    timeout(PATIENCE, gateway.served).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn shutdown_aborts_requests_after_grace_period() {
    let connections = RestConnections { shutdown_grace: Duration::from_millis(300), ..patient().connections };
    let settings = Settings { connections, request_timeout: 10 * PATIENCE, ..Settings::default() };
    let fake = Fake::default();
    let gateway = Gateway::start(in_process(&fake), settings).await;
    let hanging = tokio::spawn(gateway.request(Method::GET, "/api/affiliates/504").send());
    fake.called().await;
    gateway.shutdown.cancel();
    timeout(PATIENCE, gateway.served).await.unwrap().unwrap().unwrap();
    assert!(hanging.await.unwrap().is_err());
}

/// Reads one response with a `content-length`.
async fn one_response(stream: &mut TcpStream) -> String {
    let mut response = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await.expect("an accepted request should receive a response");
        response.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&response).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()).unwrap_or("0");
            if body.len() >= length.parse().unwrap() {
                return text;
            }
        }
        assert_ne!(read, 0, "an accepted request should receive a response: {text:?}");
    }
}
