//! Kills the service during a streamed sync of a full list.

use std::collections::BTreeMap;

use compliance_api::v1::{AffiliateInput, AffiliateSync, AffiliateSyncResult, SyncAffiliatesRequest, SyncOutcome};
use futures::stream;
use nix::sys::signal::Signal;
use test_support::GrpcClients;

use crate::common::{Service, migrated, start, token};

const COMPANY: i64 = 7;
const CHUNKS: usize = 60;
const CHUNK: usize = 200;
/// Number of acknowledged chunks before the test kills the service.
const ENOUGH: usize = 7;

fn roster() -> Vec<SyncAffiliatesRequest> {
    let item = |number: usize| AffiliateSync {
        affiliate: Some(AffiliateInput {
            client_affiliate_id: Some(format!("I{number}")),
            affiliate_name: Some(format!("N{number}")),
            ..AffiliateInput::default()
        }),
        update_mask: None,
    };
    let chunk = |chunk: usize| SyncAffiliatesRequest {
        affiliates: (chunk * CHUNK..(chunk + 1) * CHUNK).map(item).collect(),
        ..SyncAffiliatesRequest::default()
    };
    (0..CHUNKS).map(chunk).collect()
}

/// Syncs the list. Returns the outcomes of the acknowledged items. `after` runs after each chunk.
async fn sync(service: &Service, token: &str, after: impl Fn(usize)) -> Vec<SyncOutcome> {
    let mut grpc = GrpcClients::connect(service.grpc, token).await;
    let mut outcomes = Vec::new();
    let Ok(answers) = grpc.rosters.sync_affiliates(stream::iter(roster())).await else { return outcomes };
    let mut answers = answers.into_inner();
    while let Ok(Some(answer)) = answers.message().await {
        outcomes.extend(answer.results.iter().map(AffiliateSyncResult::outcome));
        after(outcomes.len() / CHUNK);
    }
    outcomes
}

/// Returns the number of affiliates per identifier.
fn identifiers(service: &Service, token: &str) -> BTreeMap<String, usize> {
    let affiliates = service.get("/api/affiliates", token);
    let mut found = BTreeMap::new();
    for affiliate in affiliates["data"].as_array().unwrap() {
        *found.entry(affiliate["client_distributor_id"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    found
}

#[test]
fn killed_sync_keeps_acknowledged_chunks() {
    let data = migrated();
    let token = token(&data, COMPANY);
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let killed = start(&data, &["serve", "--rate-limit", "off"]);
    let kill = |chunks| {
        if chunks == ENOUGH {
            killed.signal(Signal::SIGKILL);
        }
    };
    let acknowledged = threads.block_on(sync(&killed, &token, kill)).len();
    assert!((ENOUGH * CHUNK..CHUNKS * CHUNK).contains(&acknowledged), "{acknowledged}");
    assert!(!killed.end().success());

    let service = start(&data, &["serve", "--rate-limit", "off"]);
    let found = identifiers(&service, &token);
    let lost: Vec<_> = (0..acknowledged).filter(|number| !found.contains_key(&format!("I{number}"))).collect();
    assert!(lost.is_empty(), "{lost:?}");
    let again = threads.block_on(sync(&service, &token, |_| ()));
    let created = again.iter().filter(|outcome| **outcome == SyncOutcome::Created).count();
    assert_eq!((again.len(), created), (CHUNKS * CHUNK, CHUNKS * CHUNK - found.len()));
    let found = identifiers(&service, &token);
    assert!(found.len() == CHUNKS * CHUNK && found.values().all(|count| *count == 1), "{found:?}");
    let changes = service.get("/api/changes", &token);
    let once_more = threads.block_on(sync(&service, &token, |_| ()));
    assert!(once_more.len() == CHUNKS * CHUNK && once_more.iter().all(|outcome| *outcome == SyncOutcome::Unchanged));
    assert_eq!(service.get("/api/changes", &token), changes);
}
