//! Tests the results and errors of write requests.

use serde_json::json;

use crate::{fake::Fake, harness::Gateway};

const GOOD: &str = r#"{"client_affiliate_id":"A-1","affiliate_name":"One"}"#;
const TAKEN: &str = r#"{"client_affiliate_id":"A-2","affiliate_name":"Taken"}"#;

#[tokio::test]
async fn single_create_returns_ids_or_409() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    let response = gateway.post("/api/affiliates", GOOD).await;
    assert_eq!(response.status, 201);
    assert_eq!(
        response.text,
        r#"{"code":"1020","status":"ok","detail":{"affiliate_id":1,"client_affiliate_id":"A-1","msg":"Affiliate created successfully."}}"#
    );
    let response = gateway.post("/api/affiliates", TAKEN).await;
    assert_eq!(response.status, 409);
    assert_eq!(
        response.text,
        r#"{"code":"1023","status":"error","detail":{"client_affiliate_id":"A-2","msg":"An affiliate with this name already exists. Its ID is 9."}}"#
    );
}

#[tokio::test]
async fn batch_create_returns_one_result_per_item() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    let response = gateway.post("/api/affiliates", format!(r#"{{"affiliates":[{GOOD}]}}"#)).await;
    assert_eq!(response.status, 201);
    let response = gateway.post("/api/affiliates", format!(r#"{{"affiliates":[{GOOD},{TAKEN}]}}"#)).await;
    assert_eq!(response.status, 207);
    assert_eq!(
        response.text,
        r#"[{"code":"1020","status":"ok","detail":{"affiliate_id":1,"client_affiliate_id":"A-1","msg":"Created."}},{"code":"1023","status":"error","detail":{"client_affiliate_id":"A-2","msg":"An affiliate with this name already exists. Its ID is 9."}}]"#
    );
    let response = gateway.post("/api/affiliates", r#"{"affiliates":null}"#).await;
    assert_eq!(response.status, 422);
    let message = "The affiliates field is required.";
    assert_eq!(response.json(), json!({"message": message, "errors": {"affiliates": [message]}}));
}

#[tokio::test]
async fn updates_return_documented_statuses() {
    let fake = Fake::default();
    let gateway = Gateway::with_core(&fake).await;
    let response = gateway.put("/api/affiliates/7", r#"{"id":7,"city":"A"}"#).await;
    assert_eq!(response.status, 200);
    assert_eq!(
        response.text,
        r#"{"code":"1020","status":"ok","detail":{"affiliate_id":7,"msg":"Affiliate updated successfully."}}"#
    );
    for (path, body, status) in [
        ("404", r#"{"id":404,"city":"A"}"#, 404),
        ("404", r#"{"id":404,"zip":"12345678901234567"}"#, 422),
        ("7", r#"{"id":8}"#, 422),
        ("7", "{}", 422),
        ("abc", "{}", 422),
        ("abc", r#"{"id":7}"#, 404),
        ("7", r#"{"affiliates":[{"id":1}]}"#, 200),
        ("7", r#"{"affiliates":[{"id":1},{"id":404}]}"#, 207),
        ("7", r#"{"affiliates":[{"city":"A"}]}"#, 422),
        ("404", r#"{"affiliates":[{"id":1}]}"#, 404),
        ("abc", r#"{"affiliates":[{"id":1}]}"#, 404),
        ("abc", r#"{"affiliates":[{}]}"#, 422),
    ] {
        let response = gateway.put(&format!("/api/affiliates/{path}"), body).await;
        assert_eq!(response.status, status, "{path} {body}: {}", response.text);
    }
    fake.calls();
    let response = gateway.put("/api/affiliates/abc", r#"{"affiliates":[{"id":1}]}"#).await;
    assert_eq!(response.json()["detail"]["msg"], "No affiliate was found for the provided affiliate ID abc.");
    assert_eq!(fake.calls(), ["check_access"]);
}

#[tokio::test]
async fn urls_are_added_and_listed() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    let response = gateway.post("/api/urls", r#"{"urls":[{"url":"http://a/"},{"url":"http://taken/"}]}"#).await;
    assert_eq!(response.status, 201);
    assert_eq!(
        response.text,
        r#"[{"code":"1020","status":"ok","detail":{"url_id":1,"msg":"Added."}},{"code":"1023","status":"error","detail":{"msg":"Skipped."}}]"#
    );
    let response = gateway.post("/api/urls", r#"{"urls":[{"url":"a"},{}]}"#).await;
    assert_eq!(response.status, 422);
    assert_eq!(
        response.text,
        r#"{"message":"The urls.0.url field must be a valid URL. (and 1 more error)","errors":{"urls.0.url":["The urls.0.url field must be a valid URL."],"urls.1":["The urls.1 field must contain entries for: url."]}}"#
    );
    let page = gateway.get("/api/urls?per_page=5&page=3").await;
    assert!(page.text.starts_with(r#"{"code":"1026","status":"ok","detail":{"msg":"URLs found"},"data":[{"id":1,"#));
    assert!(page.text.ends_with(r#"],"meta":{"total":1,"per_page":5,"current_page":3,"last_page":1}}"#));
}

#[tokio::test]
async fn type_and_rule_violations_are_reported_together() {
    let fake = Fake::default();
    let gateway = Gateway::with_core(&fake).await;
    let response = gateway.post("/api/affiliates", format!(r#"{{"affiliates":[{GOOD},{{"city":5}},[]]}}"#)).await;
    assert_eq!(response.status, 422);
    assert_eq!(fake.calls(), ["check_access"]);
    assert_eq!(response.header("x-ratelimit-limit"), Some("1000"));
    let paths =
        ["affiliates.1.client_affiliate_id", "affiliates.1.affiliate_name", "affiliates.1.city", "affiliates.2"];
    let offsets = paths.map(|path| response.text.find(&format!(r#""{path}":["#)).unwrap());
    assert!(offsets.is_sorted() && response.paths().len() == paths.len(), "{}", response.text);
    let message = response.json()["message"].as_str().unwrap().to_owned();
    assert_eq!(message, "The affiliates.1.client_affiliate_id field is required. (and 3 more errors)");
}

#[tokio::test]
async fn violations_beyond_grpc_status_limit_are_reported() {
    let fake = Fake::default();
    let gateway = Gateway::with_core(&fake).await;
    let body = serde_json::to_string(&json!({ "affiliates": vec![json!({"zip": "1"}); 5000] })).unwrap();
    let response = gateway.post("/api/affiliates", body).await;
    assert_eq!(response.status, 422);
    assert_eq!(fake.calls(), ["check_access"]);
    assert_eq!(response.paths().len(), 10_000);
    assert!(response.text.contains("(and 9999 more errors)"));
}

#[tokio::test]
async fn one_request_creates_ten_thousand_items() {
    let gateway = Gateway::with_core(&Fake::default()).await;
    let items: Vec<_> = (0..10_000)
        .map(|item| json!({"client_affiliate_id": item.to_string(), "affiliate_name": "N", "notes": "x".repeat(1000)}))
        .collect();
    let response = gateway.post("/api/affiliates", json!({ "affiliates": items }).to_string()).await;
    assert_eq!(response.status, 201);
    assert_eq!(response.json().as_array().unwrap().len(), 10_000);
}
