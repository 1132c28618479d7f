//! Tests that a company's concurrent syncs create each new identifier once.

use std::{collections::BTreeMap, time::Duration};

use compliance_api::v1::{
    AffiliateInput, AffiliateSync, BatchSyncAffiliatesRequest, ListAffiliatesRequest, SyncOutcome,
};
use futures::future::join_all;
use sqlx::{Connection as _, PgConnection};
use test_support::{TestCore, fresh_database, new_company};
use tokio::time::{sleep, timeout};
use tokio_stream::StreamExt as _;

const SYNCS: usize = 6;
const ITEMS: usize = 120;

fn item(identifier: &str, name: String) -> AffiliateSync {
    AffiliateSync {
        affiliate: Some(AffiliateInput {
            client_affiliate_id: Some(identifier.to_owned()),
            affiliate_name: Some(name),
            ..AffiliateInput::default()
        }),
        update_mask: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_syncs_create_each_identifier_once() {
    let core = TestCore::start().await;
    let company = new_company();
    let sync = async |number: usize| {
        // Each sync uses different names, so the syncs do not wait for names.
        let item = |index: usize| item(&format!("I{index}"), format!("{index} in {number}"));
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

/// A sync cannot see the identifiers and names of an uncommitted sync.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn syncs_wait_for_uncommitted_syncs() {
    let database = fresh_database().await;
    let core = TestCore::over(database.options.clone(), 4).await;
    let company = new_company();
    let mut other = PgConnection::connect_with(&database.options).await.unwrap();
    let mut transaction = other.begin().await.unwrap();
    let create = "with locked as materialized (select pg_advisory_xact_lock($1 << 2))
        insert into affiliates (company_id, client_affiliate_id, affiliate_name) select $1, 'I', 'Other' from locked";
    sqlx::query(create).bind(company).execute(&mut *transaction).await.unwrap();

    let request = BatchSyncAffiliatesRequest {
        affiliates: vec![item("I", "N".to_owned())],
        ..BatchSyncAffiliatesRequest::default()
    };
    let mut clients = core.company(company);
    let sync = clients.syncs.batch_sync_affiliates(request);
    let commit = async {
        let waits = "select exists (select from pg_locks where locktype = 'advisory' and not granted)";
        while !sqlx::query_scalar::<_, bool>(waits).fetch_one(&core.pool).await.unwrap() {
            sleep(Duration::from_millis(2)).await;
        }
        transaction.commit().await.unwrap();
    };
    let (synced, waited) = futures::join!(sync, timeout(Duration::from_mins(1), commit));
    waited.expect("the sync did not wait");
    assert_ne!(synced.unwrap().into_inner().results[0].outcome(), SyncOutcome::Created);
    let found = "select count(*) from affiliates where company_id = $1 and client_affiliate_id = 'I'";
    let found: i64 = sqlx::query_scalar(found).bind(company).fetch_one(&core.pool).await.unwrap();
    assert_eq!(found, 1);
}
