//! Every REST route requires a valid token and its documented scope.

use std::collections::BTreeSet;

use futures::future::join_all;
use test_support::{
    RestClient, RestResponse, TestService, documented_route, documented_routes_with_token, invalid_tokens, new_company,
    token_with_scope,
};

/// Calls to every route: method, path and body. `<a>` and `<s>` are affiliates, `<u>` is a URL, and `<c>` is a case.
pub(crate) const ROUTES: &[(&str, &str, &str)] = &[
    ("GET", "/affiliates", ""),
    ("GET", "/affiliates?page=1&sort_by=affiliate_name", ""),
    ("GET", "/affiliates?q=s&per_page=1", ""),
    ("GET", "/affiliates:search?q=s", ""),
    ("GET", "/affiliates/<a>", ""),
    ("POST", "/affiliates", r#"{"client_affiliate_id":"A","affiliate_name":"Same"}"#),
    ("POST", "/affiliates", r#"{"affiliates":[{"client_affiliate_id":"A","affiliate_name":"Same"}]}"#),
    ("PUT", "/affiliates/<a>", r#"{"id":<a>,"city":"Elsewhere"}"#),
    ("PUT", "/affiliates/<a>", r#"{"affiliates":[{"id":<s>,"city":"Elsewhere"}]}"#),
    ("PUT", "/affiliates/<s>", r#"{"affiliates":[{"id":<a>,"city":"Elsewhere"},{"id":<s>,"affiliate_name":"Same"}]}"#),
    ("DELETE", "/affiliates/<a>", ""),
    (
        "POST",
        "/affiliates:sync",
        r#"{"affiliates":[{"client_affiliate_id":"A","city":"Elsewhere"},{"client_affiliate_id":"C","affiliate_name":"Same"},{"client_affiliate_id":"D","affiliate_name":"New"}],"report_absent":true}"#,
    ),
    ("POST", "/affiliates:sync", r#"{"affiliates":[{"client_affiliate_id":"A"}],"absent_status":"terminated"}"#),
    ("GET", "/urls", ""),
    ("GET", "/urls?distributor_id=<a>&sort_by=last_seen", ""),
    ("GET", "/urls?incident_status_id=5101&discovery_after=2024-01-01", ""),
    ("GET", "/urls?infraction_after=2000-01-01&sort_by=last_seen", ""),
    ("GET", "/urls?has_case=yes&infraction_type_id=1", ""),
    ("GET", "/urls:search?q=EXAMPLE", ""),
    ("GET", "/urls/<u>", ""),
    ("POST", "/urls", r#"{"urls":[{"url":"https://same.example/"},{"url":"https://left.example/"}]}"#),
    ("GET", "/cases", ""),
    ("GET", "/cases?distributor_id=<a>", ""),
    ("GET", "/cases?case_status_id=5201&created_after=2024-01-01", ""),
    ("GET", "/cases?open=yes&sort_by=infraction_type", ""),
    ("GET", "/cases?url_id=<u>", ""),
    ("GET", "/cases?tag=same", ""),
    ("GET", "/cases/<c>", ""),
    ("PATCH", "/urls/<u>", r#"{"note":"New","infractions":[{"infraction_type":"Trademark"}]}"#),
    (
        "POST",
        "/cases",
        r#"{"request_id":"Same","case":{"affiliate_id":<a>},"incidents":[{"incident_type":"url","url_id":<u>}]}"#,
    ),
    ("PATCH", "/cases/<c>", r#"{"case_status":"Blocked","affiliate_id":<s>}"#),
    ("POST", "/cases/<c>/resolve", ""),
    ("POST", "/cases/<c>/close", r#"{"case_status":"Rejected"}"#),
    ("POST", "/cases/<c>/reopen", ""),
    (
        "POST",
        "/cases/<c>/incidents",
        r#"{"incidents":[{"incident_type":"url","url_id":<u>},{"incident_type":"form","reference":"New"}]}"#,
    ),
    ("POST", "/cases/<c>/incidents:detach", r#"{"incidents":[{"incident_type":"url","url_id":<u>}]}"#),
    ("GET", "/overview", ""),
    ("GET", "/vocabularies", ""),
    ("GET", "/changes", ""),
    ("GET", "/audit", ""),
    ("GET", "/audit?resource=affiliate&id=<a>", ""),
    ("GET", "/affiliates/<a>?as_of=2000-01-01%2000:00:00", ""),
    ("GET", "/urls/<u>?as_of=2000-01-01T00:00:00Z", ""),
    ("GET", "/cases/<c>?as_of=2000-01-01T00:00:00Z", ""),
    ("GET", "/changes?after=0&types=affiliate,url,case", ""),
    ("GET", "/webhooks", ""),
    ("POST", "/webhooks", r#"{"url":"https://127.0.0.1:1/same","types":["url"],"position":1}"#),
    ("GET", "/webhooks/7701", ""),
    ("PUT", "/webhooks/7701", r#"{"description":"New","position":1}"#),
    ("DELETE", "/webhooks/7701", ""),
    ("POST", "/webhooks/7701/secret", ""),
    ("POST", "/webhooks/7701/test", ""),
    ("GET", "/webhooks/7701/deliveries?limit=5", ""),
];

/// Replaces the placeholders in a path or body with these IDs.
pub(crate) fn filled(text: &str, ids: [&str; 4]) -> String {
    ["<a>", "<s>", "<u>", "<c>"].into_iter().zip(ids).fold(text.to_owned(), |text, (name, id)| text.replace(name, id))
}

/// The OpenAPI document lists the routes that require a token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_has_a_case() {
    let cases = ROUTES.iter().map(|(method, path, _)| {
        let path = path.split('?').next().unwrap_or_default();
        documented_route(method, path).unwrap_or_else(|| panic!("{method} {path} is not documented")).route
    });
    let cases: BTreeSet<String> = cases.collect();
    assert_eq!(documented_routes_with_token(), cases);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_requires_a_valid_token() {
    let service = TestService::start().await;
    let company = new_company();
    for address in [service.rest, service.rest_remote] {
        for (name, token, _) in invalid_tokens(company) {
            let rest = RestClient::new(address, token.clone());
            let checked = ROUTES.iter().map(async |(method, path, body)| {
                let path = filled(path, ["1"; 4]);
                let answer = RestResponse::of(rest.request(method, &path).body(*body)).await;
                assert_eq!(answer.status, 401, "{method} {path} with {name}: {}", answer.text);
                let challenge = if token.is_some() { r#"Bearer error="invalid_token""# } else { "Bearer" };
                assert_eq!(answer.header("www-authenticate"), Some(challenge), "{method} {path} with {name}");
                assert!(
                    answer.text.starts_with(r#"{"code":"401","status":"error","detail":{"msg":""#),
                    "{}",
                    answer.text
                );
            });
            join_all(checked).await;
        }
    }
}

/// Each route requires exactly its documented scope. The service checks the scope before the rest of the request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn routes_require_their_documented_scopes() {
    let service = TestService::start().await;
    let company = new_company();
    let mut needed = BTreeSet::new();
    for (method, path, _) in ROUTES {
        let route = documented_route(method, path.split('?').next().unwrap_or_default()).unwrap();
        let scope = route.scope.as_deref();
        let path = filled(path, ["1"; 4]);
        for address in [service.rest, service.rest_remote] {
            let others = [None, Some("monitor"), Some("audit"), Some("erase"), Some("webhooks")].into_iter();
            let others = others.filter(|others| scope.is_none() || scope != *others);
            join_all(others.map(async |others| {
                let rest = RestClient::new(address, Some(token_with_scope(company, others, 60)));
                // The body is invalid, because a valid body would change records.
                let answer =
                    RestResponse::of(rest.request(method, &path).body(if *method == "GET" { "" } else { "?" })).await;
                assert_eq!(answer.status == 403, scope.is_some(), "{method} {path} with {others:?}: {}", answer.text);
                if answer.status == 403 {
                    let challenge = answer.header("www-authenticate");
                    assert_eq!(challenge, Some(r#"Bearer error="insufficient_scope""#), "{method} {path}");
                }
            }))
            .await;
        }
        needed.extend(scope.map(|scope| format!("{} {scope}", route.route)));
    }
    let webhooks = needed.iter().filter(|route| route.ends_with(" webhooks")).count();
    let cases = needed.iter().filter(|route| route.ends_with(" cases")).count();
    assert_eq!((webhooks, cases, needed.len()), (8, 8, 18), "{needed:?}");
}
