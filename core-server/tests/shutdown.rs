//! Tests that endless streams do not delay server shutdown.

use std::time::Duration;

use compliance_api::v1::WatchChangesRequest;
use core_server::CoreSettings;
use test_support::{GrpcClients, TestCore, fresh_database, new_company, reason_of, token};
use tokio::{net::TcpListener, time::timeout};
use tokio_util::sync::CancellationToken;
use tonic::{Code, transport::Endpoint};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

const PATIENCE: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_notifies_health_watchers() {
    // Longer than the test waits for the shutdown.
    let mut settings = CoreSettings::default();
    settings.connections.shutdown_grace = 10 * PATIENCE;
    settings.connections.shutdown_delay = Duration::from_secs(3);
    let TestCore { core, .. } = TestCore::with_settings(fresh_database().await.options, 4, settings).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint::from_shared(format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let shutdown = CancellationToken::new();
    let watcher = async {
        let mut client = HealthClient::new(endpoint.connect().await.unwrap());
        let mut health = client.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
        while health.message().await.unwrap().unwrap().status() != ServingStatus::Serving {}
        shutdown.cancel();
        while health.message().await.unwrap().unwrap().status() != ServingStatus::NotServing {}
        // Load balancers need time to notice the shutdown, so connections still succeed.
        endpoint.connect().await.unwrap();
        while health.message().await.unwrap().is_some() {}
        endpoint.connect().await.unwrap_err();
    };
    let served = async { tokio::join!(core.serve(listener, shutdown.clone()), watcher).0 };
    timeout(PATIENCE, served).await.expect("the shutdown waited for the watcher").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_ends_change_watches() {
    let mut settings = CoreSettings::default();
    settings.connections.shutdown_grace = 10 * PATIENCE;
    settings.connections.shutdown_delay = Duration::ZERO;
    let TestCore { core, .. } = TestCore::with_settings(fresh_database().await.options, 4, settings).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let watcher = async {
        let mut grpc = GrpcClients::connect(address, &token(new_company())).await;
        let mut watch = grpc.changes.watch_changes(WatchChangesRequest::default()).await.unwrap().into_inner();
        watch.message().await.unwrap().unwrap();
        shutdown.cancel();
        let ended = watch.message().await.unwrap_err();
        assert_eq!((ended.code(), &*reason_of(&ended)), (Code::Unavailable, "CORE_UNAVAILABLE"), "{ended:?}");
    };
    let served = async { tokio::join!(core.serve(listener, shutdown.clone()), watcher).0 };
    timeout(PATIENCE, served).await.expect("the shutdown waited for the watch").unwrap();
}
