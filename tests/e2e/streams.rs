//! Checks that every stream that breaks in the middle ends with an error.
//!
//! The operations come from the descriptor set. The suite fails if a new stream has no case.

use std::collections::BTreeSet;

use compliance_api::v1::{ExportCasesRequest, ExportUrlsRequest, OpenCaseRequest, UrlObservation};
use futures::{StreamExt as _, stream};
use prost_reflect::DynamicMessage;
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{TestService, new_company, reason_of, token};
use tonic::Status;

use crate::described::{
    calls::Core,
    json::request,
    messages::{contract, method, operations},
};

const RECORDS: i64 = 3000;

/// An operation, its table, and the chunks that it receives, if any. `<n>` is a chunk's number.
type Case = (&'static str, &'static str, Option<&'static str>);

const CASES: [Case; 7] = [
    ("AffiliateService/ListAffiliates", "affiliates", None),
    ("ComplianceUrlService/ListAllComplianceUrls", "compliance_urls", None),
    ("ComplianceCaseService/ListAllComplianceCases", "compliance_cases", None),
    ("MonitoringService/ExportUrls", "compliance_urls", None),
    ("MonitoringService/ExportCases", "compliance_cases", None),
    (
        "MonitoringService/StreamUrlObservations",
        "compliance_urls",
        Some(r#"{"observations":[{"url":"https://new.example/<n>"}]}"#),
    ),
    (
        "AffiliateRosterService/SyncAffiliates",
        "affiliates",
        Some(r#"{"affiliates":[{"client_affiliate_id":"<n>","city":"Oslo"}]}"#),
    ),
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

/// Opens a stream, reads its first message, breaks its table, and reads to the end. Returns the number of records and the error, if any.
async fn read(core: &Core, pool: &PgPool, company: i64, (operation, table, chunk): Case) -> (usize, Option<Status>) {
    let method = method(operation);
    let input = method.input();
    let chunks = match chunk {
        // The chunks never end, so only the service can end the stream.
        Some(json) => stream::iter(1..=RECORDS)
            .map(move |number| request(input.clone(), &json.replace("<n>", &number.to_string())))
            .chain(stream::pending())
            .boxed(),
        None => stream::iter([Vec::new()]).boxed(),
    };
    let count = |message: &[u8]| -> usize {
        let message = DynamicMessage::decode(method.output(), message).unwrap();
        message.fields().filter_map(|(_, value)| value.as_list().map(<[_]>::len)).sum()
    };
    let token = format!("Bearer {}", token(company));
    let mut messages = core.open(operation, &[&token], chunks, None).await.unwrap();
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
    (records, error)
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
    let streams = operations(&contract()).into_iter().filter(|(_, method)| method.is_server_streaming());
    let streams: BTreeSet<String> = streams.map(|(operation, _)| operation).collect();
    let cases = CASES.iter().map(|(operation, ..)| (*operation).to_owned()).chain(OTHERS.map(str::to_owned));
    assert_eq!(cases.collect::<BTreeSet<_>>(), streams);

    let service = TestService::start().await;
    let company = new_company();
    fill(&service.pool, company).await;
    let core = Core::connect(service.grpc).await;
    for case in CASES {
        let (operation, (records, error)) = (case.0, read(&core, &service.pool, company, case).await);
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
    let service = TestService::shared().await;
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
