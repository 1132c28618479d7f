//! A core that is reached over a socket.

use std::time::Duration;

use rest_gateway::{Settings, remote};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;

use crate::{
    fake::{Fake, Step},
    harness::Gateway,
};

#[tokio::test]
async fn a_remote_core_behaves_like_a_local_one_until_it_stops() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let fake = Fake::listing(&[Step::Records(500); 20]);
    let shutdown = CancellationToken::new();
    let core = Server::builder().add_routes(fake.routes());
    let core = core.serve_with_incoming_shutdown(TcpListenerStream::new(listener), shutdown.clone().cancelled_owned());
    let core = tokio::spawn(core);
    let settings = Settings { connect_timeout: Duration::from_millis(300), ..Settings::default() };
    let gateway = Gateway::start(remote(&url, &settings).unwrap(), settings).await;

    assert_eq!(gateway.get("/api/affiliates/7").await.status, 200);
    assert_eq!(gateway.get("/readyz").await.status, 200);
    let response = gateway.get("/api/affiliates/404").await;
    assert_eq!((response.status, response.header("x-ratelimit-limit")), (404, Some("1000")));
    assert_eq!(gateway.get("/api/affiliates").await.json()["data"].as_array().unwrap().len(), 10_000);
    let body = json!({ "affiliates": vec![json!({"zip": "x".repeat(100)}); 3000] }).to_string();
    assert_eq!(gateway.post("/api/affiliates", body).await.paths().len(), 9000);

    shutdown.cancel();
    core.await.unwrap().unwrap();
    let gone = gateway.get("/api/affiliates/7").await;
    assert_eq!((gone.status, &gone.json()["code"]), (503, &json!("503")));
    assert_eq!(gone.header("retry-after"), Some("1"));
    assert_eq!(gateway.get("/readyz").await.status, 503);
    assert_eq!(gateway.get("/livez").await.status, 200);
}
