//! Pages whose records are as large as they may be.

use compliance_api::{
    error::{Error, Reason},
    v1::{BatchGetComplianceUrlsRequest, ListComplianceUrlsRequest},
};
use test_support::{Options, TestService, new_company, tests};
use tonic::Code;

tests![
    pages_of_long_transcripts,
    a_page_in_parts_waits_for_the_rate_limit,
    a_part_without_memory_for_a_record_is_refused,
];

const URLS: usize = 100;
/// The longest transcript and note.
const TRANSCRIPT: usize = 1_048_576;
const NOTE: usize = 8192;

/// Adds URLs with the longest texts.
async fn add_urls(service: &TestService, company: i64, count: usize) {
    let statement = "insert into compliance_urls (company_id, url, url_hash, domain, transcription_text, note)
        select $1, 'https://example.org/' || n, sha256(n::text::bytea), 'example.org', repeat('x', $3), repeat('y', $4)
        from generate_series(1, $2) n";
    let query = sqlx::query(statement).bind(company).bind(count as i32).bind(TRANSCRIPT as i32).bind(NOTE as i32);
    query.execute(&service.pool).await.unwrap();
}

/// Each part of a page counts as a request. The page is complete however few of them the company may make.
async fn a_page_in_parts_waits_for_the_rate_limit() {
    let options = Options { rate_limit: "1/s".parse().unwrap(), ..Options::default() };
    let service = TestService::with(options).await;
    for remote in [false, true] {
        let company = new_company();
        add_urls(&service, company, 12).await;
        let rest = if remote { service.rest_remote(company) } else { service.rest(company) };
        let answer = rest.get("/urls").await;
        assert_eq!(answer.status, 200);
        assert!(answer.text.ends_with(r#"],"meta":{"total":12,"per_page":100,"current_page":1,"last_page":1}}"#));
        assert_eq!(answer.text.matches(r#"{"id":"#).count(), 12);
    }
}

/// It must not look like a part that has no records.
async fn a_part_without_memory_for_a_record_is_refused() {
    let service = TestService::with(Options { request_memory: 4 << 20, ..Options::default() }).await;
    let company = new_company();
    add_urls(&service, company, 1).await;
    let ids: Vec<i64> = sqlx::query_scalar("select id from compliance_urls where company_id = $1")
        .bind(company)
        .fetch_all(&service.pool)
        .await
        .unwrap();
    let request = BatchGetComplianceUrlsRequest { ids, in_parts: true };
    let refused = service.grpc(company).await.urls.batch_get_compliance_urls(request).await;
    assert_eq!(refused.unwrap_err().code(), Code::ResourceExhausted);
}

async fn pages_of_long_transcripts() {
    let service = TestService::start().await;
    let company = new_company();
    add_urls(&service, company, URLS).await;
    let mut ids: Vec<i64> = sqlx::query_scalar("select id from compliance_urls where company_id = $1 order by id")
        .bind(company)
        .fetch_all(&service.pool)
        .await
        .unwrap();
    for (direction, rest) in [("asc", service.rest(company)), ("desc", service.rest_remote(company))] {
        let answer = rest.get(&format!("/urls?sort_dir={direction}")).await;
        assert_eq!(answer.status, 200);
        let head = r#"{"code":"1026","status":"ok","detail":{"msg":"URLs found"},"data":["#;
        let records = answer.text.strip_prefix(head).unwrap();
        let (records, meta) = records.split_once(r#"],"meta":"#).unwrap();
        assert_eq!(meta, r#"{"total":100,"per_page":100,"current_page":1,"last_page":1}}"#);
        let returned: Vec<i64> = records
            .split(r#"{"id":"#)
            .skip(1)
            .map(|record| {
                assert!(record.len() > TRANSCRIPT + NOTE, "a record of {} bytes", record.len());
                record.split_once(',').unwrap().0.parse().unwrap()
            })
            .collect();
        assert_eq!(returned, ids);
        // Each is readable alone.
        let alone = rest.get(&format!("/urls/{}", ids[0])).await.with_status(200);
        assert_eq!(alone["data"]["transcription_text"].as_str().unwrap().len(), TRANSCRIPT);
        // A page that is small enough is one answer.
        let page = rest.get("/urls?per_page=2&page=3").await.with_status(200);
        assert_eq!((page["data"].as_array().unwrap().len(), &page["meta"]["total"]), (2, &100.into()));
        ids.reverse();
    }

    let grpc = &mut service.grpc(company).await;
    let list = |per_page| ListComplianceUrlsRequest { per_page: Some(per_page), ..Default::default() };
    let status = grpc.urls.list_compliance_urls(list(100)).await.unwrap_err();
    assert_eq!((status.code(), Error::from(&status).reason), (Code::OutOfRange, Reason::BodyTooLarge));
    let batch = BatchGetComplianceUrlsRequest { ids: ids.clone(), ..Default::default() };
    assert_eq!(grpc.urls.batch_get_compliance_urls(batch).await.unwrap_err().code(), Code::OutOfRange);
    assert_eq!(grpc.urls.list_compliance_urls(list(10)).await.unwrap().into_inner().urls.len(), 10);
    // What a gateway does.
    let request = ListComplianceUrlsRequest { large_as_ids: true, ..list(100) };
    let page = grpc.urls.list_compliance_urls(request).await.unwrap().into_inner();
    assert!(page.urls.is_empty() && page.ids.len() == URLS, "{}", page.ids.len());
    let batch = BatchGetComplianceUrlsRequest { ids: page.ids.clone(), in_parts: true };
    let part = grpc.urls.batch_get_compliance_urls(batch).await.unwrap().into_inner();
    let returned: Vec<i64> = part.urls.iter().map(|url| url.id).chain(part.rest).collect();
    assert!((2..5).contains(&part.urls.len()), "{} records", part.urls.len());
    assert_eq!(returned, page.ids);
}
