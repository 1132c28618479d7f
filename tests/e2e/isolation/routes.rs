//! The routes of REST: each needs a token, and none shows or changes what another company has.

use std::collections::BTreeSet;

use test_support::{
    RestClient, RestResponse, TestService, documented_routes_with_token, invalid_tokens, new_company, tests,
};

use super::world::{OWNED_NAME, OWNED_URL, World};

tests![every_route_has_a_case, every_route_needs_a_token, other_companies];

/// What a stranger receives.
pub(crate) enum Received {
    /// 404 with the code 1025.
    Unknown,
    /// 200 and no records.
    Nothing,
    /// 201: what the owner has is free for others.
    Created,
    /// 207, and every item is 1025.
    UnknownItems,
}
use Received::{Created, Nothing, Unknown, UnknownItems};

/// Method, path, body, and what a stranger receives. `<a>`, `<u>` and `<c>` are the owner's affiliate, URL and case; `<s>`
/// is an affiliate of the stranger's own.
pub(crate) const ROUTES: &[(&str, &str, &str, Received)] = &[
    ("GET", "/affiliates", "", Nothing),
    ("GET", "/affiliates/<a>", "", Unknown),
    ("POST", "/affiliates", r#"{"client_affiliate_id":"OWN-1","affiliate_name":"Owned"}"#, Created),
    ("POST", "/affiliates", r#"{"affiliates":[{"client_affiliate_id":"OWN-1","affiliate_name":"Owned"}]}"#, Created),
    ("PUT", "/affiliates/<a>", r#"{"id":<a>,"city":"Elsewhere"}"#, Unknown),
    ("PUT", "/affiliates/<a>", r#"{"affiliates":[{"id":<s>,"city":"Elsewhere"}]}"#, Unknown),
    ("PUT", "/affiliates/<s>", r#"{"affiliates":[{"id":<a>,"city":"Elsewhere"}]}"#, UnknownItems),
    ("GET", "/urls", "", Nothing),
    ("GET", "/urls?distributor_id=<a>", "", Nothing),
    ("GET", "/urls/<u>", "", Unknown),
    ("POST", "/urls", r#"{"urls":[{"url":"https://owned.example/"}]}"#, Created),
    ("GET", "/cases", "", Nothing),
    ("GET", "/cases?distributor_id=<a>", "", Nothing),
    ("GET", "/cases/<c>", "", Unknown),
];

/// The path of a route without what is particular to a case.
fn route(path: &str) -> String {
    let path = path.split('?').next().unwrap();
    ["<a>", "<s>", "<u>", "<c>"].iter().fold(format!("/api{path}"), |path, id| path.replace(id, "{id}"))
}

/// Every route is documented where it is declared, and the document says which need a token.
async fn every_route_has_a_case() {
    let cases: BTreeSet<String> = ROUTES.iter().map(|(method, path, ..)| format!("{method} {}", route(path))).collect();
    assert_eq!(documented_routes_with_token(), cases);
}

async fn every_route_needs_a_token() {
    let service = TestService::start().await;
    let company = new_company();
    for address in [service.rest, service.rest_remote] {
        for (name, token, _) in invalid_tokens(company) {
            let rest = RestClient::new(address, token.clone());
            for (method, path, body, _) in ROUTES {
                let path =
                    ["<a>", "<s>", "<u>", "<c>"].iter().fold((*path).to_owned(), |path, id| path.replace(id, "1"));
                let answer = RestResponse::of(rest.request(method, &path).body(*body)).await;
                assert_eq!(answer.status, 401, "{method} {path} with {name}: {}", answer.text);
                let challenge = if token.is_some() { r#"Bearer error="invalid_token""# } else { "Bearer" };
                assert_eq!(answer.header("www-authenticate"), Some(challenge), "{method} {path} with {name}");
                assert!(
                    answer.text.starts_with(r#"{"code":"401","status":"error","detail":{"msg":""#),
                    "{}",
                    answer.text
                );
            }
        }
    }
}

async fn other_companies() {
    let service = TestService::start().await;
    for remote in [0, 1] {
        for (method, path, body, received) in ROUTES {
            let world = World::new(&service).await;
            let rest = &world.rest[remote];
            let own = rest.post("/affiliates", r#"{"client_affiliate_id":"S","affiliate_name":"Stranger"}"#).await;
            let own = own.with_status(201)["detail"]["affiliate_id"].as_i64().unwrap();
            let filled = |text: &str| {
                let ids = [("<a>", world.affiliate), ("<s>", own), ("<u>", world.url), ("<c>", world.case)];
                ids.iter().fold(text.to_owned(), |text, (name, id)| text.replace(name, &id.to_string()))
            };
            let before = world.rows_of_the_owner().await;
            let answer = RestResponse::of(rest.request(method, &filled(path)).body(filled(body))).await;
            assert_eq!(world.rows_of_the_owner().await, before, "{method} {path} changed what another company has");
            match received {
                Unknown => assert_eq!(answer.with_status(404)["code"], "1025", "{method} {path}"),
                Nothing => {
                    let records = answer.with_status(200)["data"].as_array().unwrap().clone();
                    assert!(records.iter().all(|record| record["id"] == own), "{method} {path}: {records:?}");
                    assert!(!answer.text.contains(OWNED_NAME) && !answer.text.contains(OWNED_URL), "{}", answer.text);
                }
                Created => drop(answer.with_status(201)),
                UnknownItems => {
                    let items = answer.with_status(207);
                    assert!(items.as_array().unwrap().iter().all(|item| item["code"] == "1025"), "{items}");
                }
            }
        }
    }
}
