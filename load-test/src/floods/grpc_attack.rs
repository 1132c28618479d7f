//! Floods of streams over gRPC.

use std::time::Duration;

use compliance_api::v1::{
    ExportUrlsRequest, StreamUrlObservationsRequest, UrlObservation, monitoring_service_client::MonitoringServiceClient,
};
use futures::{StreamExt as _, stream};
use load_test::target::Target;
use tonic::{
    Code, Request, Status,
    transport::{Channel, Endpoint},
};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use super::attack::{Flood, Outcomes, World};

/// Observations of a chunk.
const CHUNK: u64 = 1000;
/// Watches that a client opens at once, and how long it leaves them open.
const WATCHES: usize = 100;
const WATCHED: Duration = Duration::from_millis(100);

/// Calls of one connection, one after the other, until it breaks.
pub(super) async fn run(flood: Flood, world: &World, client: u32, outcomes: &Outcomes) -> anyhow::Result<()> {
    let channel = connect(&world.grpc).await?;
    for number in 0.. {
        match flood {
            Flood::Exports => export(world, channel.clone(), outcomes).await?,
            Flood::Observations => observe(world, channel.clone(), (client, number), outcomes).await?,
            _ => watch(channel.clone(), outcomes).await?,
        }
    }
    Ok(())
}

/// Opens a connection. Clones of the channel share it.
async fn connect(target: &Target) -> anyhow::Result<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", target.authority))?;
    Ok(endpoint.connect_timeout(Duration::from_secs(5)).tcp_nodelay(true).connect().await?)
}

fn request<T>(world: &World, message: T) -> anyhow::Result<Request<T>> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {}", world.monitoring_token).parse()?);
    Ok(request)
}

/// Counts a refusal; any other error ends the connection.
fn refused(status: Status, outcomes: &Outcomes) -> anyhow::Result<()> {
    if !matches!(status.code(), Code::ResourceExhausted | Code::Unavailable) {
        return Err(status.into());
    }
    outcomes.refused.add();
    Ok(())
}

async fn export(world: &World, channel: Channel, outcomes: &Outcomes) -> anyhow::Result<()> {
    let mut client = MonitoringServiceClient::new(channel);
    let read = async {
        let mut messages = client
            .export_urls(request(world, ExportUrlsRequest::default()).map_err(|_| Status::internal("token"))?)
            .await?
            .into_inner();
        while messages.message().await?.is_some() {}
        Ok::<_, Status>(())
    };
    match read.await {
        Ok(()) => outcomes.done.add(),
        Err(status) => refused(status, outcomes)?,
    }
    Ok(())
}

/// A stream of ten chunks, each sent without waiting for what came of the last one.
async fn observe(
    world: &World,
    channel: Channel,
    (client, number): (u32, u64),
    outcomes: &Outcomes,
) -> anyhow::Result<()> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_millis();
    let chunk = move |chunk: u64| StreamUrlObservationsRequest {
        observations: (0..CHUNK)
            .map(|item| UrlObservation {
                url: Some(format!("https://flood.example/{since:x}/{client}/{number}/{chunk}/{item}")),
                ..UrlObservation::default()
            })
            .collect(),
    };
    let mut service = MonitoringServiceClient::new(channel);
    let sent = service.stream_url_observations(request(world, stream::iter(0..10).map(chunk))?).await;
    let mut results = match sent {
        Ok(response) => response.into_inner(),
        Err(status) => return refused(status, outcomes),
    };
    loop {
        match results.message().await {
            Ok(Some(_)) => outcomes.done.add(),
            Ok(None) => return Ok(()),
            Err(status) => return refused(status, outcomes),
        }
    }
}

async fn watch(channel: Channel, outcomes: &Outcomes) -> anyhow::Result<()> {
    let mut open = Vec::with_capacity(WATCHES);
    for _ in 0..WATCHES {
        let request = HealthCheckRequest::default();
        match HealthClient::new(channel.clone()).watch(request).await {
            Ok(stream) => {
                outcomes.done.add();
                open.push(stream);
            }
            Err(status) => refused(status, outcomes)?,
        }
    }
    tokio::time::sleep(WATCHED).await;
    Ok(())
}
