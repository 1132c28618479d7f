//! How many affiliates a second `SyncAffiliates` compares and writes, on this machine, with a durable database of its own:
//! `cargo run --release -p core-server --example sync_rate -- --affiliates 1000000 --chunk 2000`
#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on ends")]

use std::{
    sync::Arc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use clap::Parser;
use compliance_api::{
    token::{Claims, KeySource, Secret, Verifier, issue},
    v1::{
        AffiliateInput, AffiliateSync, SyncAffiliatesRequest, SyncOutcome,
        affiliate_roster_service_client::AffiliateRosterServiceClient,
    },
};
use core_server::{Core, CoreSettings, database};
use embedded_postgres::{Cluster, ClusterOptions, OWNER_ROLE};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::metadata::{Ascii, MetadataValue};

#[derive(Parser)]
struct Args {
    /// Affiliates of the roster.
    #[arg(long, default_value_t = 1_000_000)]
    affiliates: usize,
    /// Items of a message.
    #[arg(long, default_value_t = 2000)]
    chunk: usize,
}

/// The rounds: their names, and how the roster differs from that of the round before.
const ROUNDS: [(&str, usize); 4] =
    [("new", 0), ("the same once more", 0), ("every tenth changed", 10), ("that once more", 10)];

#[tokio::main]
async fn main() {
    let args = Args::parse();
    let cluster =
        Cluster::start(ClusterOptions { shared_buffers_mib: 1024, durable: true, ..ClusterOptions::temporary() });
    let cluster = cluster.await.unwrap();
    cluster.endpoint().create_database("rate").await.unwrap();
    let pool = database::connect(cluster.endpoint().options(OWNER_ROLE, "rate"), 16).await.unwrap();
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
    let bearer = format!("Bearer {}", issue(&secret, &Claims::new(1, now, 3600)).unwrap());
    let bearer: MetadataValue<Ascii> = bearer.parse().unwrap();

    for (name, changed) in ROUNDS {
        let start = Instant::now();
        let chunks = (0..args.affiliates.div_ceil(args.chunk)).map(move |nth| SyncAffiliatesRequest {
            affiliates: (nth * args.chunk..args.affiliates.min((nth + 1) * args.chunk))
                .map(|nth| affiliate(nth, changed))
                .collect(),
            ..SyncAffiliatesRequest::default()
        });
        let mut client = AffiliateRosterServiceClient::connect(address.clone()).await.unwrap();
        let mut request = tonic::Request::new(tokio_stream::iter(chunks));
        request.metadata_mut().insert("authorization", bearer.clone());
        let mut acknowledgements = client.sync_affiliates(request).await.unwrap().into_inner();
        let mut outcomes = [0; 5];
        while let Some(acknowledgement) = acknowledgements.message().await.unwrap() {
            for result in acknowledgement.results {
                outcomes[result.outcome as usize] += 1;
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let of = |outcome: SyncOutcome| outcomes[outcome as usize];
        println!(
            "{name}: {} created, {} updated, {} unchanged, {} refused in {seconds:.1} s, {:.0}/s",
            of(SyncOutcome::Created),
            of(SyncOutcome::Updated),
            of(SyncOutcome::Unchanged),
            of(SyncOutcome::Refused),
            args.affiliates as f64 / seconds
        );
        if changed == 0 {
            sqlx::raw_sql("vacuum analyze affiliates").execute(&pool).await.unwrap();
        }
    }
    shutdown.cancel();
    server.await.unwrap().unwrap();
    pool.close().await;
    cluster.stop().await.unwrap();
}

/// An affiliate with as many fields as most have; with `changed`, another city for each that is divisible by it.
fn affiliate(nth: usize, changed: usize) -> AffiliateSync {
    let text = |text: String| Some(text);
    let is_changed = changed > 0 && nth.is_multiple_of(changed);
    let affiliate = AffiliateInput {
        client_affiliate_id: text(format!("A-{nth:08}")),
        affiliate_name: text(format!("Affiliate number {nth}")),
        email_one: text(format!("affiliate{nth}@example.org")),
        phone_one: text(format!("+49 30 {nth}")),
        country: text("DE".to_owned()),
        first_name: text("Ann".to_owned()),
        last_name: text(format!("Example {nth}")),
        address: text(format!("Street {nth}")),
        city: text(if is_changed { format!("City {nth}") } else { "Berlin".to_owned() }),
        zip: text(format!("{:05}", nth % 100_000)),
        replicated_website: text(format!("https://a{nth}.example.org/")),
        status: text("active".to_owned()),
        start_date: text("2024-01-31".to_owned()),
        sponsor_id: text(format!("A-{:08}", nth / 10)),
        pay_rank: text("Gold".to_owned()),
        ..AffiliateInput::default()
    };
    AffiliateSync { affiliate: Some(affiliate), update_mask: None }
}
