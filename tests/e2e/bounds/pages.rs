//! Pages of maximum-size records.

use std::time::{Duration, Instant};

use compliance_api::{
    error::{Error, Reason},
    v1::{BatchGetComplianceUrlsRequest, ListComplianceUrlsRequest, StreamComplianceUrlsRequest},
};
use futures::future::join_all;
use rest_gateway::Settings;
use sqlx::AssertSqlSafe;
use test_support::{Options, Proxy, RestClient, TestService, activity, new_company, token, verifier};
use tokio::net::TcpListener;
use tonic::Code;

const URLS: usize = 100;
/// Maximum lengths of transcripts and notes.
const TRANSCRIPT: usize = 1_048_576;
const NOTE: usize = 8192;

/// Adds URLs with maximum-length transcripts and notes.
pub(super) async fn add_urls(service: &TestService, company: i64, count: usize) {
    let statement = "insert into compliance_urls (company_id, url, url_hash, domain, transcription_text, note)
        select $1, 'https://example.org/' || n, sha256(n::text::bytea), 'example.org', repeat('x', $3), repeat('y', $4)
        from generate_series(1, $2) n";
    let query = sqlx::query(statement).bind(company).bind(count as i32).bind(TRANSCRIPT as i32).bind(NOTE as i32);
    query.execute(&service.pool).await.unwrap();
}

/// The page is complete even if the rate limit allows only one request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_pages_count_as_one_request() {
    let options = Options { rate_limit: "1/m".parse().unwrap(), ..Options::default() };
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batch_gets_without_enough_memory_are_rejected() {
    let service = TestService::with(Options { request_memory: 4 << 20, ..Options::default() }).await;
    let company = new_company();
    add_urls(&service, company, 1).await;
    let ids: Vec<i64> = sqlx::query_scalar("select id from compliance_urls where company_id = $1")
        .bind(company)
        .fetch_all(&service.pool)
        .await
        .unwrap();
    let request = BatchGetComplianceUrlsRequest { ids };
    let refused = service.grpc(company).await.urls.batch_get_compliance_urls(request).await;
    assert_eq!(refused.unwrap_err().code(), Code::ResourceExhausted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn pages_with_maximum_size_records_are_complete() {
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
                assert!(record.len() > TRANSCRIPT + NOTE, "a record is only {} bytes long", record.len());
                record.split_once(',').unwrap().0.parse().unwrap()
            })
            .collect();
        assert_eq!(returned, ids);
        // Each record can be read alone.
        let alone = rest.get(&format!("/urls/{}", ids[0])).await.with_status(200);
        assert_eq!(alone["data"]["transcription_text"].as_str().unwrap().len(), TRANSCRIPT);
        // A small page fits in one response.
        let page = rest.get("/urls?per_page=2&page=3").await.with_status(200);
        assert_eq!((page["data"].as_array().unwrap().len(), &page["meta"]["total"]), (2, &URLS.into()));
        ids.reverse();
    }

    let grpc = &mut service.grpc(company).await;
    let list = |per_page| ListComplianceUrlsRequest { per_page: Some(per_page), ..Default::default() };
    let status = grpc.urls.list_compliance_urls(list(100)).await.unwrap_err();
    assert_eq!((status.code(), Error::from(&status).reason), (Code::OutOfRange, Reason::BodyTooLarge));
    let batch = BatchGetComplianceUrlsRequest { ids: ids.clone() };
    assert_eq!(grpc.urls.batch_get_compliance_urls(batch).await.unwrap_err().code(), Code::OutOfRange);
    assert_eq!(grpc.urls.list_compliance_urls(list(10)).await.unwrap().into_inner().urls.len(), 10);
    let request = StreamComplianceUrlsRequest { list: Some(list(100)) };
    let mut messages = grpc.urls.stream_compliance_urls(request).await.unwrap().into_inner();
    let (mut streamed, mut metas) = (Vec::new(), Vec::new());
    while let Some(message) = messages.message().await.unwrap() {
        streamed.extend(message.urls.into_iter().map(|url| url.id));
        metas.push(message.meta.map(|meta| meta.total));
    }
    assert_eq!((metas[0], metas[1..].iter().flatten().count()), (Some(URLS as i64), 0));
    ids.reverse();
    assert_eq!(streamed, ids);
}

/// Transcript lengths that put a page of 100 records above and below 4 MiB, and the number of reads of such a page per gateway.
const TRANSCRIPTS: [(i32, i64); 2] = [(64, 16), (131_072, 4)];
/// Number of URLs, some of them disabled.
const FLIPPED: i64 = 160;

/// Enables, disables, adds and removes URLs until the future is dropped.
async fn flip(service: &TestService, company: i64, transcript: i32) {
    for round in 0.. {
        let some = "update compliance_urls set disabled = not disabled where company_id = $1 and id % 3 = $2";
        sqlx::query(some).bind(company).bind(round % 3).execute(&service.pool).await.unwrap();
        let removed = "delete from compliance_urls where company_id = $1 and id % 11 = $2";
        sqlx::query(removed).bind(company).bind(round % 11).execute(&service.pool).await.unwrap();
        let added = "insert into compliance_urls (company_id, url, url_hash, transcription_text)
            select $1, u, sha256(u::bytea), repeat('x', $2)
            from generate_series(1, 12) n, lateral (select 'https://h.example/' || $3::bigint || '/' || n) t (u)";
        sqlx::query(added).bind(company).bind(transcript).bind(round).execute(&service.pool).await.unwrap();
    }
}

/// A page of enabled URLs is consistent while writers enable, disable, add and remove URLs.
///
/// The page contains no disabled URLs and an exact total, whether it takes one message or many.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_page_is_one_snapshot() {
    let service = TestService::start().await;
    let (mut pages, mut wrong) = (0, Vec::new());
    for (transcript, reads_per_gateway) in TRANSCRIPTS {
        let company = new_company();
        let add = "insert into compliance_urls (company_id, url, url_hash, transcription_text, disabled)
            select $1, u, sha256(u::bytea), repeat('x', $3), n % 5 = 0
            from generate_series(1, $2) n, lateral (select 'https://h.example/first/' || n) t (u)";
        sqlx::query(add).bind(company).bind(FLIPPED).bind(transcript).execute(&service.pool).await.unwrap();
        let reads = async {
            for (layer, rest) in [("in process", service.rest(company)), ("remote", service.rest_remote(company))] {
                for read in 0..reads_per_gateway {
                    let page = read % 2 + 1;
                    let body = rest.get(&format!("/urls?disabled=no&page={page}")).await.with_status(200);
                    let (urls, total) = (body["data"].as_array().unwrap(), body["meta"]["total"].as_i64().unwrap());
                    let disabled = urls.iter().filter(|url| url["disabled"] != "no").count();
                    let expected = (total - (page - 1) * 100).clamp(0, 100) as usize;
                    pages += 1;
                    if disabled > 0 || urls.len() != expected {
                        let seen = urls.len();
                        wrong.push(format!("{transcript}, {layer}: {disabled} disabled, {seen} of {expected} records"));
                    }
                }
            }
        };
        tokio::select! {
            () = reads => {}
            () = flip(&service, company, transcript) => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {pages} pages: {wrong:#?}", wrong.len());
}

/// Waits until a statement on URLs is in this state. On Citus, the statement is a function call.
async fn wait_for_statement(service: &TestService, state: &str) {
    let text = format!(
        "select exists (select from {} where datname = current_database()
            and (query like '%compliance_urls%' or query like '% from call%') and pid <> pg_backend_pid() and {state})",
        activity()
    );
    let deadline = Instant::now() + Duration::from_mins(1);
    while !sqlx::query_scalar::<_, bool>(AssertSqlSafe(text.clone())).fetch_one(&service.pool).await.unwrap() {
        assert!(Instant::now() < deadline, "no statement reached the state {state}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Starts a gateway that reaches the core through a proxy.
#[expect(clippy::default_trait_access, reason = "the type comes from a crate that these tests do not import")]
async fn behind(proxy: &Proxy, company: i64) -> RestClient {
    let settings = Settings::default();
    let clients = rest_gateway::remote(&format!("http://{}", proxy.address()), &settings).unwrap();
    let router = rest_gateway::router(clients, None, verifier().await, &settings);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { rest_gateway::serve(listener, router, &settings, Default::default()).await });
    RestClient::new(address, Some(token(company)))
}

/// Reads a response and returns whether it is complete.
async fn is_whole(mut response: reqwest::Response) -> bool {
    loop {
        match response.chunk().await {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// If a connection breaks before the first record, the service reads the page again over a new connection. If it breaks later, the page ends with an
/// error, because the rest would come from another snapshot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_connections_never_silently_truncate_pages() {
    let service = TestService::start().await;
    let (company, other) = (new_company(), new_company());
    add_urls(&service, company, 24).await;
    add_urls(&service, other, 6).await;
    let proxy = Proxy::tcp(service.grpc).await;
    let gateway = behind(&proxy, company).await;
    let others = gateway.with_token(Some(token(other)));
    assert_eq!(others.get("/urls?per_page=1").await.status, 200);
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
        and query like '%compliance_urls%' and pid <> pg_backend_pid() and state = 'active'";

    // Both pages are larger than 4 MiB.
    for lost in ["between the tiers", "to the database"] {
        let mut lock = service.pool.begin().await.unwrap();
        sqlx::query("lock table compliance_urls in access exclusive mode").execute(&mut *lock).await.unwrap();
        let page = tokio::spawn({
            let others = others.clone();
            async move { others.get("/urls").await }
        });
        wait_for_statement(&service, "wait_event_type = 'Lock'").await;
        if lost == "to the database" {
            sqlx::query(end).execute(&service.pool).await.unwrap();
        } else {
            proxy.cut();
        }
        lock.rollback().await.unwrap();
        let page = page.await.unwrap().with_status(200);
        assert_eq!(page["data"].as_array().unwrap().len(), 6, "lost {lost}");
    }

    for (lost, rest) in [("in process", service.rest(company)), ("remote", gateway.clone()), ("cut", gateway)] {
        let mut response = rest.request("GET", "/urls").send().await.unwrap();
        assert!(response.chunk().await.unwrap().is_some());
        // The page is 24 MB, so the statement still has rows to send.
        wait_for_statement(&service, "state = 'active' and wait_event = 'ClientWrite'").await;
        if lost == "cut" {
            proxy.cut();
        } else {
            sqlx::query(end).execute(&service.pool).await.unwrap();
        }
        assert!(!is_whole(response).await, "{lost}: the truncated page looks complete");
    }
}

/// Stalled readers hold few connections and do not affect other callers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn stalled_page_readers_hold_few_connections() {
    let service = TestService::start().await;
    let (companies, other) = ([new_company(), new_company(), new_company()], new_company());
    for company in companies {
        add_urls(&service, company, 40).await;
    }
    add_urls(&service, other, 1).await;
    let readers = companies.into_iter().flat_map(|company| [company; 4]);
    let readers = readers.map(|company| {
        let rest = service.rest(company);
        // Queued pages have no response yet.
        tokio::spawn(async move {
            let response = rest.request("GET", "/urls").send().await;
            std::future::pending::<()>().await;
            drop(response);
        })
    });
    let readers: Vec<_> = readers.collect();
    wait_for_statement(&service, "state = 'active' and wait_event = 'ClientWrite'").await;
    for rest in [service.rest(other), service.rest_remote(other)] {
        let calls = (0..20).map(|_| async {
            assert_eq!(rest.get("/urls").await.with_status(200)["meta"]["total"], 1);
        });
        join_all(calls).await;
    }
    let busy = format!(
        "select count(*) from {} where datname = current_database() and state = 'active' and wait_event = 'ClientWrite'",
        activity()
    );
    let busy: i64 = sqlx::query_scalar(AssertSqlSafe(busy)).fetch_one(&service.pool).await.unwrap();
    assert!((1..=3).contains(&busy), "stalled readers hold {busy} of 16 connections");
    for reader in readers {
        reader.abort();
    }
    // The connections are free again, so the company can read a page.
    let page = service.rest(companies[0]).get("/urls?per_page=10").await.with_status(200);
    assert_eq!(page["data"].as_array().unwrap().len(), 10);
}
