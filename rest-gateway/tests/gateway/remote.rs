//! Tests remote cores.

use std::{net::SocketAddr, sync::atomic::Ordering, time::Duration};

use rest_gateway::{Settings, remote};
use serde_json::json;
use test_support::{Proxy, RestResponse};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::{service::Routes, transport::Server};
use tonic_health::ServingStatus;

use crate::{
    fake::{Fake, Step},
    harness::Gateway,
};

#[tokio::test]
async fn stopped_core_returns_503() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let shutdown = CancellationToken::new();
    let core = Server::builder().add_routes(Fake::default().routes());
    let core = core.serve_with_incoming_shutdown(TcpListenerStream::new(listener), shutdown.clone().cancelled_owned());
    let core = tokio::spawn(core);
    let settings = Settings { connect_timeout: Duration::from_secs(10), ..Settings::default() };
    let gateway = Gateway::start(remote(&url, &settings).unwrap(), settings).await;
    for path in ["/api/affiliates/7", "/readyz"] {
        assert_eq!(gateway.get(path).await.status, 200, "{path}");
    }

    shutdown.cancel();
    core.await.unwrap().unwrap();
    let gone = gateway.get("/api/affiliates/7").await;
    assert_eq!((gone.status, &gone.json()["code"]), (503, &json!("503")));
    assert_eq!(gone.header("retry-after"), Some("1"));
    assert_eq!(gateway.get("/readyz").await.status, 503);
    assert_eq!(gateway.get("/livez").await.status, 200);
}

/// Serves a core until the test ends.
async fn serve(routes: Routes) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(Server::builder().add_routes(routes).serve_with_incoming(TcpListenerStream::new(listener)));
    address
}

/// The core could have committed the write, so the partner decides whether to retry. This applies to every operation and size.
#[tokio::test]
async fn writes_are_not_resent_after_connection_loss() {
    let fake = Fake::default();
    let proxy = Proxy::tcp(serve(fake.routes()).await).await;
    let settings = Settings::default();
    let gateway = Gateway::start(remote(&format!("http://{}", proxy.address()), &settings).unwrap(), settings).await;
    let affiliate = json!({"client_affiliate_id": "C", "affiliate_name": "N", "notes": "n".repeat(2000)});
    let update = json!({"id": 7, "notes": "n".repeat(2000)});
    for (method, path, body, operation) in [
        ("POST", "affiliates", affiliate.clone(), "create_affiliate"),
        ("POST", "affiliates", json!({"affiliates": [affiliate]}), "batch_create_affiliates"),
        ("POST", "affiliates", json!({"affiliates": vec![&affiliate; 1000]}), "batch_create_affiliates"),
        ("PUT", "affiliates/7", update.clone(), "update_affiliate"),
        ("PUT", "affiliates/7", json!({"affiliates": [update]}), "batch_update_affiliates"),
        ("PUT", "affiliates/7", json!({"affiliates": vec![&update; 1000]}), "batch_update_affiliates"),
        ("POST", "urls", json!({"urls": [{"url": "http://a/"}]}), "add_compliance_urls"),
        ("POST", "urls", json!({"urls": vec![json!({"url": "http://a/"}); 10_000]}), "add_compliance_urls"),
    ] {
        fake.0.hangs.store(true, Ordering::Relaxed);
        let request = gateway.client.request(method, &format!("/{path}")).body(body.to_string());
        let cut = async {
            let start = Instant::now();
            while fake.0.hangs.load(Ordering::Relaxed) {
                assert!(start.elapsed() < Duration::from_mins(1), "the core did not receive {operation}");
                sleep(Duration::from_millis(1)).await;
            }
            proxy.cut();
        };
        let (response, ()) = tokio::join!(RestResponse::of(request), cut);
        assert_eq!((response.status, fake.calls()), (503, vec![operation]), "{}", response.text);
        // The next call uses a new connection.
        assert_eq!(gateway.get("/api/affiliates/7").await.status, 200);
        assert_eq!(fake.calls(), ["get_affiliate"]);
    }
}

#[tokio::test]
async fn concurrent_reads_share_a_batch() {
    let fake = Fake::default();
    let url = format!("http://{}", serve(fake.routes()).await);
    let settings = Settings::default();
    let gateway = Gateway::start(remote(&url, &settings).unwrap(), settings).await;
    let batches = || fake.0.batches.load(Ordering::Relaxed);
    for _ in 0..2 {
        assert_eq!((gateway.get("/api/affiliates/7").await.status, batches()), (200, 0));
        fake.called().await;
    }
    let others = async {
        fake.called().await;
        for expected in 1..=2 {
            assert_eq!((gateway.get("/api/affiliates/7").await.status, batches()), (200, expected));
        }
        fake.release();
    };
    let (first, ()) = tokio::join!(gateway.get("/api/affiliates/202"), others);
    assert_eq!(first.status, 200);
    assert_eq!((gateway.get("/api/affiliates/7").await.status, batches()), (200, 2));
}

/// All connections to a core close at the same time. The gateway notices only when it uses them.
#[tokio::test]
async fn reads_skip_dead_connections() {
    let fake = Fake::default();
    let proxy = Proxy::tcp(serve(fake.routes()).await).await;
    let settings = Settings { core_connections: 4, ..Settings::default() };
    let gateway = Gateway::start(remote(&format!("http://{}", proxy.address()), &settings).unwrap(), settings).await;
    while proxy.connections() < 4 {
        assert_eq!(gateway.get("/api/affiliates/7").await.status, 200);
    }
    proxy.forget();
    for path in ["affiliates/7", "affiliates", "urls"] {
        assert_eq!(gateway.get(&format!("/api/{path}")).await.status, 200, "{path}");
        proxy.forget();
    }
}

/// The core has begun its response, but the caller has received nothing.
#[tokio::test]
async fn lists_lost_before_the_first_record_are_retried() {
    let fake = Fake::listing(&[Step::Hang]);
    let proxy = Proxy::tcp(serve(fake.routes()).await).await;
    let settings = Settings::default();
    let gateway = Gateway::start(remote(&format!("http://{}", proxy.address()), &settings).unwrap(), settings).await;
    let cut = async {
        while *fake.0.messages_read.lock().unwrap() == 0 {
            tokio::task::yield_now().await;
        }
        *fake.0.list.lock().unwrap() = vec![Step::Records(2)];
        // The first list's head arrives before the second list's, over the same connection.
        assert_eq!(gateway.get("/api/affiliates").await.status, 200);
        proxy.cut();
    };
    let (list, ()) = tokio::join!(gateway.get("/api/affiliates"), cut);
    assert_eq!(list.with_status(200)["data"].as_array().unwrap().len(), 2);
    assert_eq!(fake.calls(), ["list_affiliates"; 3]);
}

/// The second core responds to every call, but reports that it is not serving.
#[tokio::test]
async fn unhealthy_cores_receive_no_calls() {
    let fakes = [Fake::default(), Fake::default()];
    let (_serves, first) = fakes[0].routes_with_health();
    let (health, second) = fakes[1].routes_with_health();
    health.set_service_status("", ServingStatus::NotServing).await;
    let urls = format!("http://{},http://{}", serve(first).await, serve(second).await);
    let settings = Settings::default();
    let gateway = Gateway::start(remote(&urls, &settings).unwrap(), settings).await;
    // Returns the number of calls that the second core receives.
    let calls = async || {
        let body = json!({"client_affiliate_id": "C", "affiliate_name": "N"}).to_string();
        for _ in 0..10 {
            assert_eq!(gateway.get("/api/affiliates/7").await.status, 200);
            assert_eq!(gateway.post("/api/affiliates", body.clone()).await.status, 201);
            assert_eq!(gateway.get("/api/affiliates").await.status, 200);
        }
        fakes[1].calls().len()
    };
    let until = async |what: &str, expected: fn(usize) -> bool| {
        let start = Instant::now();
        while !expected(calls().await) {
            assert!(start.elapsed() < Duration::from_mins(1), "{what}");
            sleep(Duration::from_millis(10)).await;
        }
    };
    until("the unhealthy core still receives calls", |calls| calls == 0).await;
    assert_eq!([calls().await, calls().await], [0, 0]);
    health.set_service_status("", ServingStatus::Serving).await;
    until("the recovered core receives no calls", |calls| calls > 0).await;
    health.set_service_status("", ServingStatus::NotServing).await;
    until("the unhealthy core receives calls again", |calls| calls == 0).await;
}

/// A load balancer would otherwise find no ready gateway while one core restarts.
#[tokio::test]
async fn gateway_stays_ready_when_one_core_shuts_down() {
    let fakes = [Fake::default(), Fake::default()];
    let (first_health, first) = fakes[0].routes_with_health();
    let (second_health, second) = fakes[1].routes_with_health();
    let urls = format!("http://{},http://{}", serve(first).await, serve(second).await);
    let settings = Settings::default();
    let gateway = Gateway::start(remote(&urls, &settings).unwrap(), settings).await;
    let status = async || gateway.get("/readyz").await.status;
    for health in [&first_health, &second_health] {
        assert_eq!(status().await, 200);
        health.set_service_status("", ServingStatus::NotServing).await;
        // The gateway's own check has probably not noticed.
        for _ in 0..10 {
            assert_eq!(status().await, 200);
        }
        health.set_service_status("", ServingStatus::Serving).await;
    }
    for health in [&first_health, &second_health] {
        health.set_service_status("", ServingStatus::NotServing).await;
    }
    assert_eq!(status().await, 503);
}
