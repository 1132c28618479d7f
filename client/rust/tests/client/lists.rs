//! Lists that are read over connections that break.

use std::{collections::BTreeSet, pin::pin, time::Duration};

use compliance_client::{
    Error, List, Retries,
    v1::{
        AffiliateInput, BatchCreateAffiliatesRequest, ExportUrlsRequest, ListAffiliatesRequest, Reason,
        WatchChangesRequest,
    },
};
use futures::{StreamExt as _, TryStreamExt as _};
use test_support::Proxy;

use crate::{Service, observations};

const RECORDS: usize = 3000;

/// Reads a list through a proxy that cuts its connection after some records, and again after some more.
async fn read_broken<L: List>(service: &Service, request: L) -> Vec<L::Record> {
    let proxy = Proxy::tcp(service.address).await;
    let client = service.client_at(proxy.address()).build().unwrap();
    let mut records = Vec::new();
    let mut stream = pin!(client.list(request));
    while let Some(record) = stream.try_next().await.unwrap() {
        records.push(record);
        if [100, 1500].contains(&records.len()) {
            proxy.cut();
        }
    }
    assert!(proxy.connections() >= 3, "{} connections", proxy.connections());
    records
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_resumes_after_the_last_record() {
    let service = Service::start().await;
    service.client().call(observations(RECORDS, 4000)).await.unwrap();
    let urls = read_broken(&service, ExportUrlsRequest::default()).await;
    let unique: BTreeSet<_> = urls.iter().map(|observation| observation.url.clone()).collect();
    assert_eq!((urls.len(), unique.len()), (RECORDS, RECORDS));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_resumes_after_the_last_record() {
    let service = Service::start().await;
    let affiliate = |number| AffiliateInput {
        client_affiliate_id: Some("A".to_owned()),
        affiliate_name: Some(format!("Affiliate {number}")),
        notes: Some("x".repeat(2000)),
        address: Some("x".repeat(500)),
        ..AffiliateInput::default()
    };
    let affiliates = (0..RECORDS).map(affiliate).collect();
    service.client().call(BatchCreateAffiliatesRequest { affiliates, validate_only: false }).await.unwrap();
    let affiliates = read_broken(&service, ListAffiliatesRequest { changed_after: None }).await;
    assert!(affiliates.is_sorted_by(|a, b| a.id < b.id) && affiliates.len() == RECORDS, "{}", affiliates.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_continues_after_an_id() {
    let service = Service::start().await;
    let client = service.client();
    let saved = client.call(observations(100, 10)).await.unwrap();
    let after_url_id = saved.results[89].url_id;
    let rest: Vec<_> =
        client.list(ExportUrlsRequest { after_url_id, changed_after: None }).try_collect().await.unwrap();
    assert_eq!(rest.len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_goes_silent_ends() {
    let service = Service::start().await;
    service.client().call(observations(RECORDS, 4000)).await.unwrap();
    let proxy = Proxy::tcp(service.address).await;
    let hasty = service.client_at(proxy.address()).deadline(Duration::from_secs(5)).retries(Retries::none());
    let client = hasty.build().unwrap();
    let mut urls = pin!(client.list(ExportUrlsRequest::default()));
    urls.next().await.unwrap().unwrap();
    proxy.silence(false);
    let end = loop {
        match urls.next().await {
            Some(Ok(_)) => {}
            other => break other,
        }
    };
    assert!(matches!(end, Some(Err(Error::DeadlineExceeded))), "{end:?}");
    assert!(urls.next().await.is_none());

    // A client that is refused reports it.
    let error = service.client_at(service.address).token("t").build().unwrap();
    let error = pin!(error.list(ListAffiliatesRequest { changed_after: None })).try_next().await.unwrap_err();
    assert_eq!(error.reason(), Some(Reason::TokenInvalid));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_resumes_after_the_last_page() {
    let service = Service::start().await;
    let proxy = Proxy::tcp(service.address).await;
    let client = service.client_at(proxy.address()).build().unwrap();
    let mut watch = pin!(client.watch(WatchChangesRequest::default()));
    assert_eq!(watch.try_next().await.unwrap().unwrap().position, 0);
    let mut positions = Vec::new();
    while positions.len() < RECORDS {
        if positions.is_empty() {
            service.client().call(observations(RECORDS, 4000)).await.unwrap();
        }
        let page = watch.try_next().await.unwrap().unwrap();
        positions.extend(page.changes.iter().map(|change| change.position));
        if proxy.connections() < 3 {
            proxy.cut();
        }
    }
    assert_eq!(positions, (1..=RECORDS as i64).collect::<Vec<_>>());
    assert!(proxy.connections() >= 3, "{} connections", proxy.connections());
}
