//! Large records, read one after another.

use std::time::Duration;

use compliance_api::v1::{ExportUrlsRequest, ListComplianceUrlsRequest, StreamComplianceUrlsRequest};
use serde_json::Value;
use sqlx::PgPool;
use test_support::{Options, RestClient, TestService, new_company, token};

use crate::batch_read::{Batch, connect, url};

/// Length of the longest transcript, in characters. Each character takes four bytes.
pub(super) const TRANSCRIPT: i32 = 1_048_576;
pub(super) const CHARACTER: char = '\u{1F600}';
/// Maximum duration of a read on a busy machine.
const LONGEST: Duration = Duration::from_mins(3);

/// Adds URLs with the longest transcripts. Their IDs start at 1.
pub(super) async fn add_transcripts(pool: &PgPool, company: i64, urls: i64) {
    sqlx::query(
        "insert into compliance_urls (company_id, id, url, url_hash, transcription_text)
        select $1, n, 'https://h.example/' || n, sha256(n::text::bytea), repeat($3, $4) from generate_series(1, $2) n",
    )
    .bind(company)
    .bind(urls)
    .bind(CHARACTER.to_string())
    .bind(TRANSCRIPT)
    .execute(pool)
    .await
    .unwrap();
}

/// Reads a URL. Retries while memory is unavailable.
pub(super) async fn read(rest: &RestClient, id: i64) -> Value {
    let reading = async {
        loop {
            let answer = rest.get(&format!("/urls/{id}")).await;
            match answer.status {
                429 | 503 => assert_eq!(answer.header("retry-after"), Some("1")),
                // On a busy machine, some reads time out.
                504 => {}
                _ => return answer.with_status(200),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(LONGEST, reading).await.expect("reading the large record timed out")
}

/// The company has memory for one record at a time. An export, a batch and a page each release a record's memory before they read the next record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn each_record_frees_memory_for_the_next() {
    let service = TestService::with(Options { request_memory: 40 << 20, ..Options::default() }).await;
    let company = new_company();
    add_transcripts(&service.pool, company, 4).await;
    let grpc = &mut service.grpc(company).await;

    let mut export = grpc.monitoring.export_urls(ExportUrlsRequest::default()).await.unwrap().into_inner();
    let mut exported = 0;
    while let Some(page) = export.message().await.unwrap() {
        exported += page.observations.len();
    }
    assert_eq!(exported, 4);

    let token = token(company);
    let batch = (1..=4).fold(Batch::default(), |batch, id| batch.read(Some(&token), url(id)));
    let results = batch.results(&connect(service.grpc).await).await;
    assert!(results.iter().all(Result::is_ok));

    let list = Some(ListComplianceUrlsRequest::default());
    let page = grpc.urls.stream_compliance_urls(StreamComplianceUrlsRequest { list }).await;
    let (mut page, mut streamed) = (page.unwrap().into_inner(), 0);
    while let Some(message) = page.message().await.unwrap() {
        streamed += message.urls.len();
    }
    assert_eq!(streamed, 4);
}
