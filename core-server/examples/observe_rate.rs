//! Measures how many observations per second `StreamUrlObservations` saves on this machine, into its own durable database:
//! `cargo run --release -p core-server --example observe_rate -- --urls 200000 --chunk 1000 --streams 2`
#![allow(clippy::unwrap_used, reason = "a failed measurement panics")]
#![allow(clippy::disallowed_methods, reason = "tasks end with the program")]

use std::{
    sync::Arc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use clap::Parser;
use compliance_api::{
    json::records::timestamp_of_text,
    token::{Claims, KeySource, SCOPE_MONITOR, Secret, Verifier, issue},
    v1::{
        InfractionInput, StreamUrlObservationsRequest, UrlObservation,
        monitoring_service_client::MonitoringServiceClient,
    },
};
use core_server::{Core, CoreSettings, database};
use embedded_postgres::{Cluster, ClusterOptions, OWNER_ROLE};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::metadata::{Ascii, MetadataValue};

#[derive(Parser)]
struct Args {
    /// Number of URLs to observe, twice: when they are new, and when they are known.
    #[arg(long, default_value_t = 100_000)]
    urls: usize,
    /// Number of observations per message.
    #[arg(long, default_value_t = 1000)]
    chunk: usize,
    /// Number of concurrent streams.
    #[arg(long, default_value_t = 2)]
    streams: usize,
    /// Number of database connections.
    #[arg(long, default_value_t = 16)]
    database_connections: u32,
}

#[tokio::main]
async fn main() {
    let args = Args::parse();
    let cluster =
        Cluster::start(ClusterOptions { shared_buffers_mib: 256, durable: true, ..ClusterOptions::temporary() });
    let cluster = cluster.await.unwrap();
    cluster.endpoint().create_database("rate").await.unwrap();
    let pool =
        database::connect(cluster.endpoint().options(OWNER_ROLE, "rate"), args.database_connections).await.unwrap();
    database::migrate(&pool).await.unwrap();
    let secret = Secret::new(vec![7; 32]).unwrap();
    let source = KeySource { secret: Some(secret.clone()), ..KeySource::default() };
    let core =
        Core::new(&pool, Arc::new(Verifier::new(source, None).await.unwrap()), &CoreSettings::default()).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let shutdown = CancellationToken::new();
    let end = shutdown.clone();
    let server = tokio::spawn(async move { core.serve(listener, end).await });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    let claims = Claims { scope: Some(SCOPE_MONITOR.to_owned()), ..Claims::new(1, now, 3600) };
    let bearer: MetadataValue<Ascii> = format!("Bearer {}", issue(&secret, &claims).unwrap()).parse().unwrap();

    for (round, name) in ["new URLs", "known URLs", "known URLs, once more"].into_iter().enumerate() {
        let start = Instant::now();
        let mut streams = tokio::task::JoinSet::new();
        for stream in 0..args.streams {
            let (address, bearer) = (address.clone(), bearer.clone());
            let (urls, chunk) = (args.urls / args.streams, args.chunk);
            streams.spawn(async move {
                let chunks = (0..urls.div_ceil(chunk)).map(move |nth| StreamUrlObservationsRequest {
                    observations: (nth * chunk..urls.min((nth + 1) * chunk))
                        .map(|nth| observation(stream * urls + nth, round))
                        .collect(),
                });
                let mut client = MonitoringServiceClient::connect(address).await.unwrap();
                let mut request = tonic::Request::new(tokio_stream::iter(chunks));
                request.metadata_mut().insert("authorization", bearer);
                let mut acknowledgements = client.stream_url_observations(request).await.unwrap().into_inner();
                let mut saved = 0;
                while let Some(acknowledgement) = acknowledgements.message().await.unwrap() {
                    saved += acknowledgement.results.iter().filter(|result| result.code == 1020).count();
                }
                saved
            });
        }
        let saved: usize = streams.join_all().await.into_iter().sum();
        let seconds = start.elapsed().as_secs_f64();
        println!("{name}: {saved} in {seconds:.1} s, {:.0}/s", saved as f64 / seconds);
    }
    shutdown.cancel();
    server.await.unwrap().unwrap();
    pool.close().await;
    cluster.stop().await.unwrap();
}

fn observation(nth: usize, round: usize) -> UrlObservation {
    // A crawl's URLs arrive in no particular order.
    let scattered = (nth as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut seen = timestamp_of_text("2024-01-01 00:00:00").unwrap();
    seen.seconds += (nth % 1000) as i64 * 86_400 + round as i64 * 3600;
    UrlObservation {
        url: Some(format!("https://host{}.example.com/path/{scattered:016x}?campaign={nth}", nth % 5000)),
        incident_status: Some(["New", "Open", "In Violation"][nth % 3].to_owned()),
        country: Some("US".to_owned()),
        discovery_date: (round == 0).then_some(seen),
        last_crawl_date: Some(seen),
        last_seen: Some(seen),
        note: Some(format!("seen in round {round}")),
        infractions: nth
            .is_multiple_of(4)
            .then(|| InfractionInput {
                infraction_type: Some("Health Claim".to_owned()),
                infraction_name: Some("weight loss".to_owned()),
                created_date: None,
            })
            .into_iter()
            .collect(),
        ..UrlObservation::default()
    }
}
