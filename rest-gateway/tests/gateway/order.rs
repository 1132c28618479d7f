//! Tests tokens, the order of checks, and response headers.

use reqwest::Method;
use serde_json::json;

use test_support::{RestResponse, token_with_scope};

use crate::{fake::Fake, harness::Gateway};

#[tokio::test]
async fn gateway_rejections_cost_one_access_check() {
    let fake = Fake::default();
    let gateway = Gateway::with_core(&fake).await;
    for (path, status, calls) in [
        ("/api/affiliates/7", 200, ["get_affiliate"]),
        ("/api/affiliates/404", 404, ["get_affiliate"]),
        ("/api/affiliates/abc", 404, ["check_access"]),
        ("/api/affiliates/0", 404, ["check_access"]),
        ("/api/affiliates/9007199254740992", 404, ["check_access"]),
        ("/api/urls/%20", 404, ["check_access"]),
        ("/api/cases/x", 404, ["check_access"]),
        ("/api/urls?page=0", 422, ["stream_compliance_urls"]),
        ("/api/urls?page=x", 422, ["check_access"]),
    ] {
        let response = gateway.get(path).await;
        assert_eq!(response.status, status, "{path}");
        assert_eq!(fake.calls(), calls, "{path}");
        let rate = ["limit", "remaining", "reset"].map(|name| response.header(&format!("x-ratelimit-{name}")));
        assert_eq!(rate, [Some("1000"), Some("999"), Some("1")], "{path}");
    }
    let affiliate = gateway.get("/api/affiliates/abc").await.json();
    assert_eq!(affiliate["code"], "1025");
    assert_eq!(affiliate["detail"]["msg"], "No affiliate was found for the provided affiliate ID abc.");
    assert_eq!(gateway.get("/api/urls/x").await.json()["detail"], json!({"msg": "URL not found."}));
    assert_eq!(gateway.get("/api/cases/x").await.json()["detail"], json!({"msg": "Case not found."}));
}

#[tokio::test]
async fn head_requires_same_scope_as_get() {
    let fake = Fake::default();
    let gateway = Gateway::with_core(&fake).await;
    let token = token_with_scope(7, None, 300);
    for (method, status) in [(Method::GET, 404), (Method::HEAD, 404), (Method::PATCH, 403)] {
        let request = gateway.bare(method.clone(), "/api/cases/x").bearer_auth(&token).body("{}");
        let response = RestResponse::of(request).await;
        assert_eq!((response.status, fake.calls()), (status, vec!["check_access"]), "{method}");
    }
}

#[tokio::test]
async fn gateway_forwards_token_request_id_and_deadline() {
    let fake = Fake::default();
    let gateway = Gateway::with_core(&fake).await;
    let request = gateway.request(Method::GET, "/api/affiliates/7").header("x-request-id", "mine-1");
    let response = RestResponse::of(request).await;
    assert_eq!(response.header("x-request-id"), Some("mine-1"));
    assert_eq!(fake.metadata("x-request-id").as_deref(), Some("mine-1"));
    assert_eq!(fake.metadata("authorization"), Some(format!("Bearer {}", gateway.token)));
    assert_eq!(fake.metadata("grpc-timeout").as_deref(), Some("30000000u"));
    // Lists have their own timeout.
    gateway.get("/api/affiliates").await.with_status(200);
    assert_eq!(fake.metadata("grpc-timeout").as_deref(), Some("600000m"));

    let request = gateway.request(Method::GET, "/api/affiliates/7").header("x-request-id", "not sane");
    let response = RestResponse::of(request).await;
    let made = response.header("x-request-id").unwrap();
    assert!(made != "not sane" && fake.metadata("x-request-id").as_deref() == Some(made), "{made}");
}

#[tokio::test]
async fn pages_with_trailing_slash_redirect() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    for (path, to) in [("/docs/", "../docs"), ("/console/", "../console")] {
        // The OpenAPI document omits redirects, so the response is not checked against it.
        let response = gateway.bare(Method::GET, path).send().await.unwrap();
        assert_eq!((response.status().as_u16(), response.headers()["location"].to_str().unwrap()), (308, to));
    }
    assert_eq!(gateway.get("/docs/nothing/").await.status, 404);
}

#[tokio::test]
async fn unknown_pages_redirect_browsers() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    for (path, to) in [
        ("/nope", Some("docs")),
        ("/docs/nope", Some("../docs")),
        ("/docs/partners", Some("../docs")),
        ("/docs/partners/nightly-job.md", Some("../../docs/nightly-job")),
        ("/docs/reference/fields.md/", Some("../../../docs/fields")),
        ("/docs/reference/", Some("../../docs/reference")),
        ("/docs/style.css/", Some("../../docs")),
        ("/console/nope", Some("../console#/nope")),
        ("/console/cases/1", Some("../../console#/cases/1")),
        ("/apis", Some("docs")),
        ("/api", None),
        ("/api/", None),
        ("/api/nope", None),
    ] {
        let request = || gateway.bare(Method::GET, path);
        let response = request().header("Accept", "text/html,*/*;q=0.8").send().await.unwrap();
        let location = response.headers().get("location").map(|location| location.to_str().unwrap());
        assert_eq!((response.status().as_u16(), location), (if to.is_some() { 307 } else { 404 }, to), "{path}");
        let of_program = RestResponse::of(request()).await;
        assert_eq!((of_program.status, &of_program.json()["code"]), (404, &json!("404")), "{path}");
    }
}

#[tokio::test]
async fn errors_reveal_no_secrets() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    let sentence = "Unexpected server error. Please contact the server administrator.";
    for path in ["/api/affiliates/500", "/api/affiliates/501"] {
        let response = gateway.get(path).await;
        assert_eq!(response.status, 500);
        let expected = format!(r#"{{"code":"500","status":"error","detail":{{"msg":"{sentence}"}}}}"#);
        assert_eq!(response.text, expected);
        assert_eq!(response.header("content-type"), Some("application/json"));
    }
    let response = gateway.get("/api/affiliates/503").await;
    assert_eq!((response.status, &response.json()["code"]), (503, &json!("503")));
    assert_eq!(response.header("retry-after"), Some("1"));
    assert_eq!(response.header("x-ratelimit-limit"), Some("1000"));
}
