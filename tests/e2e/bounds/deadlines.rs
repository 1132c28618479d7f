//! Stream deadlines, set by the caller and by the service.

use std::time::{Duration, Instant};

use compliance_api::{
    token::SCOPE_MONITOR,
    v1::{ExportCasesRequest, ExportUrlsRequest, ListAffiliatesRequest, StreamUrlObservationsRequest, UrlObservation},
};
use futures::{StreamExt as _, stream};
use sqlx::AssertSqlSafe;
use test_support::{GrpcClients, LockedTable, Options, TestService, new_company, token_with_scope};
use tokio::time::timeout;
use tonic::{Code, Request, Response, Status, Streaming};

/// Number of records, enough to fill a slow client's flow-control windows.
const RECORDS: i64 = 4000;
/// The caller's initial deadline.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum duration of a stream on a busy machine. Without the deadline, the stream would take minutes.
const LONGEST: Duration = Duration::from_mins(1);

fn with_timeout<T>(message: T, deadline: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(deadline);
    request
}

/// Reads slowly past the deadline, then reads the rest. Returns the number of records and the final status.
async fn read_slowly<M>(
    opened: Result<Response<Streaming<M>>, Status>,
    count: fn(&M) -> usize,
    deadline: Duration,
) -> (usize, Option<Status>) {
    let mut messages = match opened {
        Ok(response) => response.into_inner(),
        Err(status) => return (0, Some(status)),
    };
    let (started, mut records) = (Instant::now(), 0);
    loop {
        if started.elapsed() < deadline * 2 {
            tokio::time::sleep(deadline / 10).await;
        }
        match timeout(LONGEST, messages.message()).await.expect("the stream did not end") {
            Ok(Some(message)) => records += count(&message),
            Ok(None) => return (records, None),
            Err(status) => return (records, Some(status)),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_readers_get_deadline_exceeded() {
    let service = TestService::start().await;
    let company = new_company();
    let statements = format!(
        "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name, notes)
            select {company}, n, n::text, n::text, repeat('x', 2000) from generate_series(1, {RECORDS}) n;
        insert into compliance_urls (company_id, id, url, url_hash, note)
            select {company}, n, u, sha256(u::bytea), repeat('x', 2000)
            from generate_series(1, {RECORDS}) n, lateral (select 'https://h.example/' || n) t (u);
        insert into compliance_cases (company_id, id, affiliate_id, request_id, case_worker)
            select {company}, n, n, n::text, repeat('x', 2000) from generate_series(1, {RECORDS}) n;"
    );
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(&service.pool).await.unwrap();
    let grpc = &mut GrpcClients::connect(service.grpc, &token_with_scope(company, Some(SCOPE_MONITOR), 3600)).await;
    // If no records arrive before the deadline, the test doubles the deadline.
    let mut deadline = TIMEOUT;
    loop {
        let affiliates =
            grpc.affiliates.list_affiliates(with_timeout(ListAffiliatesRequest::default(), deadline)).await;
        let urls = grpc.monitoring.export_urls(with_timeout(ExportUrlsRequest::default(), deadline)).await;
        let cases = grpc.monitoring.export_cases(with_timeout(ExportCasesRequest::default(), deadline)).await;
        let ended = tokio::join!(
            read_slowly(affiliates, |message| message.affiliates.len(), deadline),
            read_slowly(urls, |message| message.observations.len(), deadline),
            read_slowly(cases, |message| message.cases.len(), deadline),
        );
        let ended = [ended.0, ended.1, ended.2];
        for (records, status) in &ended {
            assert_eq!(status.as_ref().expect("the stream ended without an error").code(), Code::DeadlineExceeded);
            assert!(*records < RECORDS as usize, "{records}");
        }
        if ended.iter().all(|(records, _)| *records > 0) {
            break;
        }
        deadline *= 2;
        assert!(deadline < LONGEST, "no records arrived before the deadline");
    }
}

/// The caller's deadline limits the stream. The call timeout limits each chunk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observation_streams_enforce_stream_and_chunk_deadlines() {
    let service = TestService::with(Options { call_timeout: TIMEOUT * 2, ..Options::default() }).await;
    let company = new_company();
    let grpc = &mut GrpcClients::connect(service.grpc, &token_with_scope(company, Some(SCOPE_MONITOR), 3600)).await;
    let chunk = |number: u32| StreamUrlObservationsRequest {
        observations: vec![UrlObservation {
            url: Some(format!("https://h.example/{number}")),
            ..UrlObservation::default()
        }],
    };
    // If the first chunk is not saved before the deadline, the test doubles the deadline.
    let mut deadline = TIMEOUT;
    loop {
        let mut silent = Request::new(stream::iter([chunk(1)]).chain(stream::pending()));
        silent.set_timeout(deadline);
        let opened = grpc.monitoring.stream_url_observations(silent).await.map(Response::into_inner);
        let first = async {
            let mut results = opened?;
            results.message().await.map(|saved| (saved, results))
        };
        match timeout(deadline + LONGEST, first).await.expect("the stream did not end") {
            Ok((saved, mut results)) => {
                assert_eq!(saved.unwrap().results.len(), 1);
                let end = timeout(deadline + LONGEST, results.message()).await.expect("the stream did not end");
                assert_eq!(end.unwrap_err().code(), Code::DeadlineExceeded);
                break;
            }
            Err(status) => assert_eq!(status.code(), Code::DeadlineExceeded),
        }
        deadline *= 2;
    }

    // The first chunk waits for a lock.
    let mut locked = LockedTable::new(&service.pool, "compliance_urls", "share row exclusive").await;
    let chunks = stream::iter([chunk(2), chunk(3)]).chain(stream::pending());
    let mut results = grpc.monitoring.stream_url_observations(chunks).await.unwrap().into_inner();
    let end = timeout(LONGEST, results.message()).await.expect("the chunk did not time out");
    assert_eq!(end.unwrap_err().code(), Code::DeadlineExceeded);
    // Wait until the core has cancelled the statement. If the test released the lock earlier, the core could still save the chunk. A
    // retried chunk would soon wait for the lock again.
    let ended = async {
        let mut without = 0;
        while without < 20 {
            without = if locked.is_awaited().await { 0 } else { without + 1 };
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONGEST, ended).await.expect("the chunk still waits for the lock");
    locked.release().await;
    // The core never saves the cancelled chunks.
    let saved = async {
        loop {
            let chunks = stream::iter([chunk(4)]);
            let mut results = grpc.monitoring.stream_url_observations(chunks).await.unwrap().into_inner();
            match results.message().await {
                Ok(saved) => return saved.unwrap().results.len(),
                Err(status) => assert_eq!(status.code(), Code::DeadlineExceeded),
            }
        }
    };
    assert_eq!(timeout(LONGEST, saved).await.expect("timed out waiting for the chunk to be saved"), 1);
    let urls = "select substr(url, 19) from compliance_urls where company_id = $1 order by id";
    let urls: Vec<String> = sqlx::query_scalar(urls).bind(company).fetch_all(&service.pool).await.unwrap();
    assert_eq!(urls, ["1", "4"]);
}
