//! Checks that every stream that breaks in the middle ends with an error.
//!
//! The operations come from the descriptor set. The suite fails if a new stream has no case.

use std::collections::BTreeSet;

use compliance_api::{
    FILE_DESCRIPTOR_SET,
    v1::{
        AffiliateInput, AffiliateSync, ExportCasesRequest, ExportUrlsRequest, ListAffiliatesRequest,
        ListAllComplianceCasesRequest, ListAllComplianceUrlsRequest, OpenCaseRequest, StreamUrlObservationsRequest,
        SyncAffiliatesRequest, UrlObservation,
    },
};
use futures::{StreamExt as _, future::LocalBoxFuture, stream};
use prost_reflect::DescriptorPool;
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{GrpcClients, TestService, new_company, reason_of};
use tonic::{Status, Streaming};

const RECORDS: i64 = 3000;

/// The operation, its table, and a function that breaks the table after the first message and counts the records.
type Case = (&'static str, &'static str, for<'a> fn(&'a mut GrpcClients, &'a PgPool) -> LocalBoxFuture<'a, Ended>);

/// How a stream ended: the number of records and the error, if any.
struct Ended {
    records: usize,
    error: Option<Status>,
}

const CASES: &[Case] = &[
    ("AffiliateService/ListAffiliates", "affiliates", |grpc, pool| {
        Box::pin(async move {
            let list = grpc.affiliates.list_affiliates(ListAffiliatesRequest::default()).await.unwrap().into_inner();
            read(list, |message| message.affiliates.len(), pool, "affiliates").await
        })
    }),
    ("ComplianceUrlService/ListAllComplianceUrls", "compliance_urls", |grpc, pool| {
        Box::pin(async move {
            let request = ListAllComplianceUrlsRequest::default();
            let list = grpc.urls.list_all_compliance_urls(request).await.unwrap().into_inner();
            read(list, |message| message.urls.len(), pool, "compliance_urls").await
        })
    }),
    ("ComplianceCaseService/ListAllComplianceCases", "compliance_cases", |grpc, pool| {
        Box::pin(async move {
            let request = ListAllComplianceCasesRequest::default();
            let list = grpc.cases.list_all_compliance_cases(request).await.unwrap().into_inner();
            read(list, |message| message.cases.len(), pool, "compliance_cases").await
        })
    }),
    ("MonitoringService/ExportUrls", "compliance_urls", |grpc, pool| {
        Box::pin(async move {
            let list = grpc.monitoring.export_urls(ExportUrlsRequest::default()).await.unwrap().into_inner();
            read(list, |message| message.observations.len(), pool, "compliance_urls").await
        })
    }),
    ("MonitoringService/ExportCases", "compliance_cases", |grpc, pool| {
        Box::pin(async move {
            let list = grpc.monitoring.export_cases(ExportCasesRequest::default()).await.unwrap().into_inner();
            read(list, |message| message.cases.len(), pool, "compliance_cases").await
        })
    }),
    ("MonitoringService/StreamUrlObservations", "compliance_urls", |grpc, pool| {
        Box::pin(async move {
            let chunk = |number: i64| {
                let url = Some(format!("https://new.example/{number}"));
                StreamUrlObservationsRequest { observations: vec![UrlObservation { url, ..UrlObservation::default() }] }
            };
            // The chunks never end, so only the service can end the stream.
            let chunks = stream::iter(0..RECORDS).map(chunk).chain(stream::pending());
            let list = grpc.monitoring.stream_url_observations(chunks).await.unwrap().into_inner();
            read(list, |message| message.results.len(), pool, "compliance_urls").await
        })
    }),
    ("AffiliateRosterService/SyncAffiliates", "affiliates", |grpc, pool| {
        Box::pin(async move {
            let chunk = |number: i64| {
                let (identifier, city) = (Some((number + 1).to_string()), Some("Oslo".to_owned()));
                let fields = AffiliateInput { client_affiliate_id: identifier, city, ..AffiliateInput::default() };
                let affiliate = AffiliateSync { affiliate: Some(fields), ..AffiliateSync::default() };
                SyncAffiliatesRequest { affiliates: vec![affiliate], ..SyncAffiliatesRequest::default() }
            };
            let chunks = stream::iter(0..RECORDS).map(chunk).chain(stream::pending());
            let list = grpc.rosters.sync_affiliates(chunks).await.unwrap().into_inner();
            read(list, |message| message.results.len(), pool, "affiliates").await
        })
    }),
];

/// Streams with their own tests:
///
/// - Each batched read has its own result (`batch_read`).
/// - A page of URLs is one statement (`bounds::pages`).
/// - A watch is endless (`watch`).
const OTHERS: [&str; 3] =
    ["ReadService/BatchRead", "ComplianceUrlService/StreamComplianceUrls", "ChangeService/WatchChanges"];

/// Renames a table. Statements on the table fail until it gets its old name back.
async fn rename(pool: &PgPool, from: &str, to: &str) {
    sqlx::raw_sql(AssertSqlSafe(format!("alter table {from} rename to {to}"))).execute(pool).await.unwrap();
}

/// Reads a stream's first message, breaks the table, and reads to the end.
async fn read<M>(mut messages: Streaming<M>, count: fn(&M) -> usize, pool: &PgPool, table: &str) -> Ended {
    let mut records = count(&messages.message().await.unwrap().unwrap());
    rename(pool, table, "broken").await;
    let error = loop {
        match messages.message().await {
            Ok(Some(message)) => records += count(&message),
            Ok(None) => break None,
            Err(status) => break Some(status),
        }
    };
    rename(pool, "broken", table).await;
    Ended { records, error }
}

async fn fill(pool: &PgPool, company: i64) {
    let statements = format!(
        "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name, notes)
            select {company}, n, n::text, n::text, repeat('x', 2000) from generate_series(1, {RECORDS}) n;
        insert into compliance_urls (company_id, id, url, url_hash, note)
            select {company}, n * 3, u, sha256(u::bytea), repeat('x', 2000)
            from generate_series(1, {RECORDS}) n, lateral (select 'https://h.example/' || n) t (u);
        insert into compliance_cases (company_id, id, affiliate_id, request_id, case_worker)
            select {company}, n * 3, n, n::text, repeat('x', 2000) from generate_series(1, {RECORDS}) n;"
    );
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(pool).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_streams_end_with_an_error() {
    let contract = DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
    let methods = contract.services().flat_map(|service| service.methods().collect::<Vec<_>>());
    let streams: BTreeSet<String> = methods
        .filter(prost_reflect::MethodDescriptor::is_server_streaming)
        .map(|method| format!("{}/{}", method.parent_service().name(), method.name()))
        .collect();
    let cases = CASES.iter().map(|(operation, ..)| (*operation).to_owned()).chain(OTHERS.map(str::to_owned));
    assert_eq!(cases.collect::<BTreeSet<_>>(), streams);

    let service = TestService::start().await;
    let company = new_company();
    fill(&service.pool, company).await;
    for (operation, _, call) in CASES {
        let Ended { records, error } = call(&mut service.grpc(company).await, &service.pool).await;
        assert!(records > 0 && records < RECORDS as usize, "{operation}: {records} records");
        let error = error.unwrap_or_else(|| panic!("{operation} ended after {records} records without an error"));
        assert_eq!(reason_of(&error), "INTERNAL", "{operation}: {error:?}");
    }
    // REST lists from both gateways end abruptly.
    for rest in [service.rest(company), service.rest_remote(company)] {
        let mut response = rest.request("GET", "/affiliates").send().await.unwrap();
        let mut bytes = response.chunk().await.unwrap().unwrap().len();
        rename(&service.pool, "affiliates", "broken").await;
        let broken = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => bytes += chunk.len(),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        rename(&service.pool, "broken", "affiliates").await;
        assert!(broken, "the list ended after {bytes} bytes without an error");
    }
}

/// An export that resumes after any message returns each remaining record once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exports_can_resume_after_any_message() {
    let service = TestService::start().await;
    let company = new_company();
    fill(&service.pool, company).await;
    let mut grpc = service.grpc(company).await;
    let (mut urls, mut cases) = (Vec::new(), Vec::new());
    let mut pages = grpc.monitoring.export_urls(ExportUrlsRequest::default()).await.unwrap().into_inner();
    while let Some(page) = pages.message().await.unwrap() {
        urls.push(page);
    }
    let mut pages = grpc.monitoring.export_cases(ExportCasesRequest::default()).await.unwrap().into_inner();
    while let Some(page) = pages.message().await.unwrap() {
        cases.push(page);
    }
    assert!(urls.len() > 20 && cases.len() > 20, "{} and {} messages", urls.len(), cases.len());
    for (sent, page) in urls.iter().enumerate().step_by(11).chain(urls.iter().enumerate().next_back()) {
        let request = ExportUrlsRequest { after_url_id: Some(page.last_url_id), changed_after: None };
        let mut pages = grpc.monitoring.export_urls(request).await.unwrap().into_inner();
        let next = pages.message().await.unwrap().map(|page| page.observations[0].clone());
        assert_eq!(next.as_ref(), urls.get(sent + 1).map(|page| &page.observations[0]), "after message {sent}");
    }
    for (sent, page) in cases.iter().enumerate().step_by(11).chain(cases.iter().enumerate().next_back()) {
        let request = ExportCasesRequest { after_case_id: Some(page.last_case_id), changed_after: None };
        let mut pages = grpc.monitoring.export_cases(request).await.unwrap().into_inner();
        let next = pages.message().await.unwrap().map(|page| page.cases[0].clone());
        assert_eq!(next.as_ref(), cases.get(sent + 1).map(|page| &page.cases[0]), "after message {sent}");
    }
    let seen: BTreeSet<&str> = urls.iter().flat_map(|page| page.observations.iter().map(UrlObservation::url)).collect();
    assert_eq!(seen.len(), RECORDS as usize);
    let seen: BTreeSet<&str> =
        cases.iter().flat_map(|page| page.cases.iter().map(OpenCaseRequest::request_id)).collect();
    assert_eq!(seen.len(), RECORDS as usize);
}
