//! Tests the limit for unauthenticated streams. Health checks still succeed.

use std::time::Duration;

use core_server::CoreSettings;
use futures::{StreamExt as _, future::join_all, stream};
use test_support::{TestCore, fresh_database, reason_of};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::{
    Code, Status,
    transport::{Channel, Endpoint},
};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest,
};

async fn watch(channel: &Channel) -> Result<tonic::Streaming<tonic_health::pb::HealthCheckResponse>, Status> {
    let mut health = HealthClient::new(channel.clone()).watch(HealthCheckRequest::default()).await?.into_inner();
    health.message().await?;
    Ok(health)
}

/// Opens a reflection stream that the client never ends.
async fn reflect(channel: &Channel) -> Result<impl Sized + use<>, Status> {
    let message_request = Some(MessageRequest::ListServices(String::new()));
    let request = ServerReflectionRequest { host: String::new(), message_request };
    let requests = stream::iter([request]).chain(stream::pending());
    let answers = ServerReflectionClient::new(channel.clone()).server_reflection_info(requests).await?;
    let mut answers = answers.into_inner();
    answers.message().await?;
    Ok(answers)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unauthenticated_streams_are_limited() {
    let mut settings = CoreSettings::default();
    settings.connections.shutdown_delay = Duration::ZERO;
    let TestCore { core, .. } = TestCore::with_settings(fresh_database().await.options, 4, settings).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint::from_shared(format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let shutdown = CancellationToken::new();
    let most = core_server::limits::OPEN_STREAMS;
    let clients = async {
        // The limit covers all connections and services together.
        let (first, second) = (endpoint.connect().await.unwrap(), endpoint.connect().await.unwrap());
        let reflections: Vec<_> = join_all((0..most / 2).map(|_| reflect(&first))).await;
        let mut watches: Vec<_> = join_all((most / 2..most).map(|_| watch(&second))).await;
        assert!(reflections.iter().all(Result::is_ok) && watches.iter().all(Result::is_ok));
        let refused = watch(&first).await.expect_err("the core accepted too many streams");
        assert_eq!((refused.code(), &*reason_of(&refused)), (Code::ResourceExhausted, "RATE_LIMITED"), "{refused:?}");
        let expected = format!("This instance has reached its limit of open health and reflection streams: {most}.");
        assert_eq!(refused.message(), expected);
        assert_eq!(reflect(&second).await.err().map(|status| status.code()), Some(Code::ResourceExhausted));

        let check = HealthClient::new(second.clone()).check(HealthCheckRequest::default()).await.unwrap();
        assert_eq!(check.into_inner().status(), ServingStatus::Serving);

        // The service counts a stream until it receives the client's reset.
        drop(watches.pop());
        let mut again = watch(&first).await;
        while again.is_err() {
            tokio::task::yield_now().await;
            again = watch(&first).await;
        }
        drop((again, watches, reflections));
        shutdown.cancel();
    };
    tokio::join!(core.serve(listener, shutdown.clone()), clients).0.unwrap();
}
