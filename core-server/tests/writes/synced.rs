//! Syncs of one company at once: an identifier that is new in several of them is created once.

use std::collections::BTreeMap;

use compliance_api::v1::{
    AffiliateInput, AffiliateSync, BatchSyncAffiliatesRequest, ListAffiliatesRequest, SyncOutcome,
};
use futures::future::join_all;
use test_support::{TestCore, new_company, tests};
use tokio_stream::StreamExt as _;

tests![syncs_at_once_create_an_identifier_once];

const SYNCS: usize = 6;
const ITEMS: usize = 120;

async fn syncs_at_once_create_an_identifier_once() {
    let core = TestCore::start().await;
    let company = new_company();
    let sync = async |number: usize| {
        // Names do not keep them from each other: in every roster, each affiliate has one of its own.
        let item = |index: usize| AffiliateSync {
            affiliate: Some(AffiliateInput {
                client_affiliate_id: Some(format!("I{index}")),
                affiliate_name: Some(format!("{index} in {number}")),
                ..AffiliateInput::default()
            }),
            update_mask: None,
        };
        let affiliates = (0..ITEMS).map(|index| item((index * 7 + number) % ITEMS)).collect();
        let request = BatchSyncAffiliatesRequest { affiliates, ..BatchSyncAffiliatesRequest::default() };
        let synced = core.company(company).syncs.batch_sync_affiliates(request).await.unwrap().into_inner();
        synced.results.iter().filter(|result| result.outcome() == SyncOutcome::Created).count()
    };
    let created: usize = join_all((0..SYNCS).map(sync)).await.into_iter().sum();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let request = ListAffiliatesRequest::default();
    let mut pages = core.company(company).affiliates.list_affiliates(request).await.unwrap().into_inner();
    while let Some(page) = pages.next().await {
        for affiliate in page.unwrap().affiliates {
            *found.entry(affiliate.client_distributor_id.unwrap()).or_default() += 1;
        }
    }
    assert_eq!((found.len(), created), (ITEMS, ITEMS));
    assert!(found.values().all(|count| *count == 1), "{found:?}");
}
