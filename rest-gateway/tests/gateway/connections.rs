//! Connections: their limits, and the end of the service under load.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use reqwest::Method;
use rest_gateway::Settings;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, timeout},
};

use crate::{
    fake::{Fake, Step},
    harness::{Gateway, in_process},
};

/// Sends bytes and reads what comes until the other side closes or pauses.
pub(crate) async fn exchange(addr: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(Ok(read @ 1..)) = timeout(Duration::from_secs(10), stream.read(&mut buffer)).await {
        answer.extend_from_slice(&buffer[..read]);
        if answer.ends_with(b"}") {
            break;
        }
    }
    String::from_utf8(answer).unwrap()
}

/// How long the other side keeps a connection on which `sent` was sent.
async fn kept(addr: SocketAddr, sent: &[u8]) -> Duration {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(sent).await.unwrap();
    let started = Instant::now();
    let mut rest = Vec::new();
    let _ = timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await.unwrap();
    started.elapsed()
}

#[tokio::test]
async fn silent_slow_and_idle_connections_are_closed() {
    let second = Duration::from_secs(1);
    let settings = Settings { header_timeout: second, idle_timeout: second, ..Settings::default() };
    let gateway = Gateway::start(in_process(&Fake::default()), settings).await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    for sent in [&b""[..], b"GET /livez HT", b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n", preface] {
        let kept = kept(gateway.addr, sent).await;
        assert!(kept > second / 2 && kept < second * 5, "{:?}: {kept:?}", String::from_utf8_lossy(sent));
    }
}

#[tokio::test]
async fn more_connections_than_allowed_wait() {
    let settings = Settings { max_connections: 2, ..Settings::default() };
    let gateway = Gateway::start(in_process(&Fake::default()), settings).await;
    let get = b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n";
    let first = TcpStream::connect(gateway.addr).await.unwrap();
    let _second = TcpStream::connect(gateway.addr).await.unwrap();
    let addr = gateway.addr;
    let third = tokio::spawn(async move { exchange(addr, get).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!third.is_finished());
    drop(first);
    assert!(third.await.unwrap().starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn a_core_that_does_not_answer_is_not_waited_for() {
    let settings = Settings { request_timeout: Duration::from_millis(200), ..Settings::default() };
    let gateway = Gateway::start(in_process(&Fake::default()), settings).await;
    let answer = gateway.get("/api/affiliates/504").await;
    assert_eq!(answer.status, 504);
    assert_eq!(answer.json()["code"], "504");
}

#[tokio::test]
async fn health() {
    let gateway = Gateway::before(&Fake::default()).await;
    for path in ["/livez", "/readyz"] {
        assert_eq!(gateway.bare(Method::GET, path).send().await.unwrap().status(), 200, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_under_load_fails_no_accepted_request() {
    let fake = Fake::default();
    let gateway = Gateway::before(&fake).await;
    // One that takes long, on its way before the others, so that none of them is read together with it.
    let slow = tokio::spawn(gateway.request(Method::GET, "/api/affiliates/2500").send());
    while fake.calls().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let request =
        format!("GET /api/affiliates/1005 HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\r\n", gateway.token);
    let request: Arc<[u8]> = request.into_bytes().into();
    let mut clients = Vec::new();
    for _ in 0..64 {
        let (request, addr) = (Arc::clone(&request), gateway.addr);
        clients.push(tokio::spawn(async move {
            let mut answered = 0;
            // Until nobody accepts any more, every request on an open connection is answered.
            while let Ok(mut stream) = TcpStream::connect(addr).await {
                loop {
                    stream.write_all(&request).await.expect("an accepted connection takes a request");
                    let answer = one_answer(&mut stream).await;
                    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer:?}");
                    answered += 1;
                    if answer.contains("connection: close") {
                        break;
                    }
                }
            }
            answered
        }));
    }
    let ((), slow) = tokio::join!(
        async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            gateway.shutdown.cancel();
        },
        slow
    );
    assert_eq!(slow.unwrap().unwrap().status(), 200);
    let mut answered = 0;
    for client in clients {
        answered += client.await.unwrap();
    }
    assert!(answered > 500, "{answered}");
    timeout(Duration::from_secs(5), gateway.served).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn http2_is_served_to_its_end() {
    let gateway = Gateway::before(&Fake::listing(&[Step::Records(5), Step::Fail])).await;
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
    assert!(list.into_body().collect().await.is_err(), "a list that breaks off is reset");

    let slow = client.send_request(request("/api/affiliates/1300"));
    gateway.shutdown.cancel();
    assert_eq!(slow.await.unwrap().status(), 200);
    timeout(Duration::from_secs(5), connection).await.unwrap().unwrap().unwrap();
    timeout(Duration::from_secs(5), gateway.served).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_list_that_is_being_read_is_finished() {
    let gateway = Gateway::before(&Fake::listing(&[Step::Records(500); 100])).await;
    let mut response = gateway.request(Method::GET, "/api/affiliates").send().await.unwrap();
    response.chunk().await.unwrap();
    gateway.shutdown.cancel();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut last = Vec::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        last = chunk.to_vec();
    }
    assert!(last.ends_with(b"]}"));
    timeout(Duration::from_secs(5), gateway.served).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn the_grace_is_bounded() {
    let settings = Settings { shutdown_grace: Duration::from_millis(300), ..Settings::default() };
    let gateway = Gateway::start(in_process(&Fake::default()), settings).await;
    let hanging = tokio::spawn(gateway.request(Method::GET, "/api/affiliates/504").send());
    tokio::time::sleep(Duration::from_millis(200)).await;
    gateway.shutdown.cancel();
    timeout(Duration::from_secs(3), gateway.served).await.unwrap().unwrap().unwrap();
    assert!(hanging.await.unwrap().is_err());
}

/// Reads one answer with a `content-length`.
async fn one_answer(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await.expect("an accepted request is answered");
        answer.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&answer).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()).unwrap_or("0");
            if body.len() >= length.parse().unwrap() {
                return text;
            }
        }
        assert_ne!(read, 0, "an accepted request is answered: {text:?}");
    }
}
