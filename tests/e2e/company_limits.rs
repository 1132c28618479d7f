//! Per-company limits, on every layer. A company's limit affects only that company's calls.

use std::time::Duration;

use compliance_api::v1::CheckAccessRequest;
use core_server::{CompanyLimit, Limit, access::RateLimit};
use test_support::{Options, RestResponse, TestService, new_company};
use tonic::Code;

use crate::http::envelope;

/// Returns a rate limit whose window outlasts the test.
fn rate(requests: u32) -> RateLimit {
    RateLimit::Limited { requests: requests.try_into().unwrap(), window: Duration::from_hours(10_000) }
}

/// Returns a response's status, limit and remaining requests.
fn limit_of(response: &RestResponse) -> (u16, Option<[u64; 2]>) {
    let number = |header| response.header(header).map(|value| value.parse().unwrap());
    let limit = number("x-ratelimit-limit").zip(number("x-ratelimit-remaining"));
    (response.status, limit.map(|(limit, remaining)| [limit, remaining]))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn companies_can_have_their_own_rate_limits() {
    let [low, off, usual] = [new_company(), new_company(), new_company()];
    let limit = |company, rate| CompanyLimit { company, limit: Limit::Rate(rate) };
    let company_limits = vec![limit(low, rate(3)), limit(off, RateLimit::Off)];
    let options = Options { rate_limit: rate(5), company_limits, ..Options::default() };
    let service = TestService::with(options).await;

    for (read, left) in [(service.rest(low), 2), (service.rest_remote(low), 1)] {
        assert_eq!(limit_of(&read.get("/urls").await), (200, Some([3, left])));
    }
    let mut grpc = service.grpc(low).await;
    let last = grpc.access.check_access(CheckAccessRequest {}).await.unwrap();
    assert_eq!(last.metadata().get("x-ratelimit-remaining").unwrap(), "0");
    for rest in [service.rest(low), service.rest_remote(low)] {
        for path in ["/urls", "/affiliates/1"] {
            let refused = rest.get(path).await;
            assert_eq!(limit_of(&refused), (429, Some([3, 0])), "{}", refused.text);
            envelope("429")(&refused);
        }
    }
    let refused = grpc.access.check_access(CheckAccessRequest {}).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);

    assert_eq!(limit_of(&service.rest(usual).get("/urls").await), (200, Some([5, 4])));
    for _ in 0..10 {
        assert_eq!(limit_of(&service.rest_remote(off).get("/urls").await), (200, None));
    }
}
