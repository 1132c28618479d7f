//! A company's rate limit, over REST and gRPC.

use std::time::Duration;

use core_server::access::RateLimit;
use test_support::{Options, RestResponse, TestService, new_company, reason_of};
use tonic_types::StatusExt as _;

use crate::http::envelope;

const GOOD: &str = r#"{"client_affiliate_id":"C","affiliate_name":"N"}"#;

/// Rate limit window, too long to recover during a test, even on a busy machine.
const WINDOW: Duration = Duration::from_hours(10_000);

/// Starts a service with this limit per window.
async fn limited(requests: u32) -> TestService {
    let rate_limit = RateLimit::Limited { requests: requests.try_into().unwrap(), window: WINDOW };
    TestService::with(Options { rate_limit, ..Options::default() }).await
}

fn number(answer: &RestResponse, header: &str) -> u64 {
    let value = answer.header(header).unwrap_or_else(|| panic!("missing {header} header: {answer:?}"));
    value.parse().unwrap_or_else(|_| panic!("{header} is not a number: {value}"))
}

/// Every layer rejects the fourth request and returns the time until the next attempt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_over_the_rate_limit_return_429() {
    let service = limited(3).await;
    let company = new_company();
    let (rest, remote) = (service.rest(company), service.rest_remote(company));
    let mut grpc = service.grpc(company).await;

    let first = rest.get("/affiliates").await;
    assert_eq!(
        (first.status, number(&first, "x-ratelimit-limit"), number(&first, "x-ratelimit-remaining")),
        (200, 3, 2)
    );
    let second = remote.post("/affiliates", GOOD).await;
    assert_eq!((second.status, number(&second, "x-ratelimit-remaining")), (201, 1));
    // Error responses contain the same headers as other responses.
    let third = rest.get("/urls/abc").await;
    assert_eq!((third.status, number(&third, "x-ratelimit-remaining")), (404, 0));

    // One request is available again after a third of the window.
    let third = WINDOW.as_secs() / 3 - 600..=WINDOW.as_secs() / 3 + 1;
    for rest in [&rest, &remote] {
        for request in [
            rest.request("GET", "/affiliates"),
            rest.request("GET", "/affiliates/1"),
            rest.request("POST", "/affiliates").body(GOOD),
            rest.request("PUT", "/affiliates/1").body(r#"{"id":1}"#),
            rest.request("GET", "/urls"),
            rest.request("GET", "/urls/1"),
            rest.request("POST", "/urls").body(r#"{"urls":[{"url":"http://a.example/"}]}"#),
            rest.request("GET", "/cases"),
            rest.request("GET", "/cases/1"),
        ] {
            let answer = RestResponse::of(request).await;
            assert_eq!(answer.status, 429, "{}", answer.text);
            envelope("429")(&answer);
            assert_eq!((number(&answer, "x-ratelimit-limit"), number(&answer, "x-ratelimit-remaining")), (3, 0));
            assert!(third.contains(&number(&answer, "retry-after")), "{answer:?}");
            assert_eq!(number(&answer, "x-ratelimit-reset"), WINDOW.as_secs(), "{answer:?}");
        }
    }
    let status = grpc.access.check_access(compliance_api::v1::CheckAccessRequest {}).await.unwrap_err();
    assert_eq!((status.code(), reason_of(&status).as_str()), (tonic::Code::ResourceExhausted, "RATE_LIMITED"));
    let wait = status.get_error_details().retry_info().unwrap().retry_delay.unwrap();
    assert!(third.contains(&wait.as_secs()), "{wait:?}");
    assert_eq!(status.metadata().get("x-ratelimit-remaining").unwrap(), "0");

    // Other companies have their own limits.
    let other = service.rest(new_company()).get("/affiliates").await;
    assert_eq!((other.status, number(&other, "x-ratelimit-remaining")), (200, 2));
}

/// Each read counts as one request, even in a batch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_concurrent_read_counts_as_one_request() {
    let service = limited(20).await;
    for remote in [false, true] {
        let company = new_company();
        let rest = if remote { service.rest_remote(company) } else { service.rest(company) };
        let paths = ["/affiliates/1", "/urls/1", "/cases/1"];
        let requests = (0..60).map(|number| rest.get(paths[number % 3]));
        let answers = futures::future::join_all(requests).await;
        let count = |status| answers.iter().filter(|answer| answer.status == status).count();
        assert_eq!((count(404), count(429)), (20, 40));
        for answer in answers {
            assert_eq!(number(&answer, "x-ratelimit-limit"), 20);
            assert_eq!(answer.status == 429, answer.header("retry-after").is_some(), "{answer:?}");
        }
    }
}

/// Callers over the limit receive no validation errors.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_limits_precede_validation() {
    let service = limited(1).await;
    for rest in [service.rest(new_company()), service.rest_remote(new_company())] {
        assert_eq!(rest.post("/affiliates", "{").await.status, 422);
        for request in [
            rest.request("POST", "/affiliates").body("{"),
            rest.request("POST", "/affiliates").body("{}"),
            rest.request("POST", "/urls").body(r#"{"urls":5}"#),
            rest.request("PUT", "/affiliates/abc").body("[]"),
            rest.request("GET", "/affiliates/abc"),
            rest.request("GET", "/urls?page=x"),
            rest.request("GET", "/urls?page=0"),
            rest.request("GET", "/cases/0"),
            rest.request("GET", "/cases?per_page=201"),
        ] {
            let answer = RestResponse::of(request).await;
            assert_eq!(answer.status, 429, "{}", answer.text);
        }
    }
}

/// A read that fails before its first record reports the remaining limit, like any other response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_reads_report_the_remaining_limit() {
    let service = limited(100).await;
    let company = new_company();
    let clients = [service.rest(company), service.rest_remote(company)];
    clients[0].post("/affiliates", GOOD).await.with_status(201);
    let mut left = 99;
    // In the second round, the tables are missing.
    for round in 0..2 {
        for rest in &clients {
            for path in ["/affiliates", "/affiliates/1", "/urls", "/urls/1", "/cases", "/cases/1"] {
                let answer = rest.get(path).await;
                left -= 1;
                let status = if round == 0 { 200..=404 } else { 500..=503 };
                assert!(status.contains(&answer.status), "{path}: {answer:?}");
                let limits = ["x-ratelimit-limit", "x-ratelimit-remaining"].map(|header| number(&answer, header));
                assert_eq!(limits, [100, left], "{path}: {}", answer.status);
                assert!((1..=WINDOW.as_secs()).contains(&number(&answer, "x-ratelimit-reset")), "{path}: {answer:?}");
            }
        }
        if round == 0 {
            for table in ["affiliates", "compliance_urls", "compliance_cases"] {
                let statement = format!("alter table {table} rename to {table}_moved");
                sqlx::query(sqlx::AssertSqlSafe(statement)).execute(&service.pool).await.unwrap();
            }
        }
    }
}
