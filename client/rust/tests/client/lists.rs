//! Tests lists over broken connections.

use std::{collections::BTreeSet, pin::pin, time::Duration};

use compliance_client::{
    Error, List, Retries,
    v1::{
        AffiliateInput, BatchCreateAffiliatesRequest, CaseInput, CreateAffiliateRequest, ExportUrlsRequest,
        ListAffiliatesRequest, ListAllComplianceCasesRequest, ListAllComplianceUrlsRequest, OpenCaseRequest, Reason,
        ResolveCaseRequest, ResultCode, WatchChangesRequest,
    },
};
use core_server::{CoreSettings, access::RateLimit};
use futures::{StreamExt as _, TryStreamExt as _, stream::iter};
use test_support::Proxy;
use tokio::time::sleep;

use crate::{Service, observations};

const RECORDS: usize = 3000;

/// Reads a list through a proxy that cuts the connection after 100 and 1,500 records.
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
async fn broken_url_lists_resume_after_last_record() {
    let service = Service::start().await;
    let saved = service.client().call(observations(RECORDS, 4000)).await.unwrap();
    let urls = read_broken(&service, ExportUrlsRequest::default()).await;
    let unique: BTreeSet<_> = urls.iter().map(|observation| observation.url.clone()).collect();
    assert_eq!((urls.len(), unique.len()), (RECORDS, RECORDS));
    let urls = read_broken(&service, ListAllComplianceUrlsRequest::default()).await;
    assert!(urls.is_sorted_by(|a, b| a.id < b.id) && urls.len() == RECORDS, "{}", urls.len());

    // A list can start after a record.
    let after_url_id = saved.results[RECORDS - 11].url_id;
    let rest = service.client().list(ExportUrlsRequest { after_url_id, changed_after: None });
    assert_eq!(rest.try_collect::<Vec<_>>().await.unwrap().len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_affiliate_list_resumes_after_last_record() {
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
    let affiliates = read_broken(&service, ListAffiliatesRequest::default()).await;
    assert!(affiliates.is_sorted_by(|a, b| a.id < b.id) && affiliates.len() == RECORDS, "{}", affiliates.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_list_filters_by_status() {
    let service = Service::start().await;
    let client = service.client();
    let affiliate = AffiliateInput {
        client_affiliate_id: Some("A-1".to_owned()),
        affiliate_name: Some("Ann".to_owned()),
        ..AffiliateInput::default()
    };
    let affiliate = client.call(CreateAffiliateRequest { affiliate: Some(affiliate) }).await.unwrap().affiliate_id;
    let mut opened = Vec::new();
    for number in 0..3 {
        let fields = CaseInput { affiliate_id: Some(affiliate), ..CaseInput::default() };
        let request_id = format!("lead {number}");
        let case = OpenCaseRequest { request_id: Some(request_id), case: Some(fields), ..OpenCaseRequest::default() };
        opened.push(client.call(case).await.unwrap().case_id);
    }
    client.call(ResolveCaseRequest { id: opened[1], ..Default::default() }).await.unwrap();
    let new = ListAllComplianceCasesRequest { case_status_id: Some(1), ..Default::default() };
    let cases: Vec<_> = client.list(new).map_ok(|case| case.case_id).try_collect().await.unwrap();
    assert_eq!(cases, [opened[0], opened[2]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observations_survive_broken_connections() {
    let service = Service::start().await;
    let proxy = Proxy::tcp(service.address).await;
    let client = service.client_at(proxy.address()).build().unwrap();
    let mut seen = observations(RECORDS, 100).observations;
    seen[1700].country = Some("ZZ".to_owned());
    let mut results = pin!(client.observe(iter(seen)));
    let mut codes = Vec::new();
    while let Some(result) = results.try_next().await.unwrap() {
        codes.push(result.code());
        if codes.len() == 1 {
            proxy.cut();
        }
    }
    assert_eq!(codes.len(), RECORDS);
    let refused: Vec<_> = (0..RECORDS).filter(|&index| codes[index] != ResultCode::Saved).collect();
    assert_eq!(refused, [1700]);
    assert!(proxy.connections() >= 2, "{} connections", proxy.connections());

    // Without a valid token, one error ends the stream.
    let refused = service.client_at(service.address).token("t").build().unwrap();
    let mut results = pin!(refused.observe(iter(observations(RECORDS, 10).observations)));
    assert!(matches!(results.next().await, Some(Err(Error::Unauthenticated { .. }))));
    assert!(results.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_observations_are_sent_in_smaller_batches() {
    let limited = CoreSettings { rate_limit: RateLimit::Off, message_limit: 5 << 20, ..CoreSettings::default() };
    let service = Service::with(limited).await;
    let client = service.client();
    let error = client.call(observations(1000, 8000)).await.unwrap_err();
    assert_eq!(error.reason(), Some(Reason::BodyTooLarge), "{error:?}");
    let results: Vec<_> = client.observe(iter(observations(1000, 8000).observations)).try_collect().await.unwrap();
    assert!(results.len() == 1000 && results.iter().all(|it| it.code() == ResultCode::Saved));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn export_resumes_after_the_services_time_limit() {
    let service = Service::with(CoreSettings {
        rate_limit: RateLimit::Off,
        list_timeout: Duration::from_millis(1500),
        ..CoreSettings::default()
    })
    .await;
    service.client().call(observations(RECORDS, 4000)).await.unwrap();
    let mut urls = pin!(service.client().list(ExportUrlsRequest::default()));
    let mut read = 0;
    while urls.try_next().await.unwrap().is_some() {
        read += 1;
        if read == 1 {
            sleep(Duration::from_secs(2)).await;
        }
    }
    assert_eq!(read, RECORDS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_list_fails_at_its_deadline() {
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

    // Service errors end the list.
    let error = service.client_at(service.address).token("t").build().unwrap();
    let error = pin!(error.list(ListAffiliatesRequest::default())).try_next().await.unwrap_err();
    assert_eq!(error.reason(), Some(Reason::TokenInvalid));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_watch_resumes_after_last_page() {
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
