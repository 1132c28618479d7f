//! Unusual spellings that programs and proxies send, and responses for line-based readers.

use compliance_api::token::Claims;
use serde_json::{Value, json};
use test_support::{RestClient, RestResponse, TestService, new_company, now, sign};

/// Sends a request with an unusual path. Returns the status and the JSON body.
async fn sent(rest: &RestClient, method: &str, path: &str, body: &'static str) -> (u16, Value) {
    let response = rest.request_to(method, path).body(body).send().await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.unwrap()).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn percent_encoded_paths_are_equivalent() {
    let service = TestService::shared().await;
    for rest in [service.rest(new_company()), service.rest_remote(new_company())] {
        let roster = r#"{"affiliates":[{"client_affiliate_id":"A","affiliate_name":"Ann"}]}"#;
        assert_eq!(sent(&rest, "POST", "/api/affiliates%3Async", roster).await.0, 200);
        let (status, found) = sent(&rest, "GET", "/api/affiliates%3asearch?q=A%6en", "").await;
        assert_eq!((status, &found["data"][0]["distributor_name"]), (200, &json!("Ann")), "{found}");
        let digits: String = found["data"][0]["id"].to_string().chars().flat_map(|digit| ['%', '3', digit]).collect();
        for path in ["/api/affiliates/", "/%61pi/affiliates/", "/api/affi%6Ciates/"] {
            let (status, read) = sent(&rest, "GET", &format!("{path}{digits}"), "").await;
            assert_eq!((status, &read["data"]["distributor_name"]), (200, &json!("Ann")), "{path}: {read}");
        }
        for (path, code) in [
            ("/api%2Faffiliates", "404"),
            ("/api/affiliates%2F1", "404"),
            ("/api/affiliates%253Asearch", "404"),
            // The path names an unknown ID.
            ("/api/affiliates/1%2F2", "1025"),
        ] {
            let (status, body) = sent(&rest, "GET", path, "").await;
            assert_eq!((status, &body["code"]), (404, &json!(code)), "{path}");
        }
        assert_eq!(sent(&rest, "GET", "/%6Civez", "").await.0, 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ndjson_and_events_escape_unicode_line_breaks() {
    const ENDS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];
    let text = "a\u{85}b\u{2028}c\u{2029}d";
    let service = TestService::shared().await;
    let company = new_company();
    let (sub, scope) = (Some(text.to_owned()), Some("audit".to_owned()));
    let token = sign(&Claims { sub, scope, ..Claims::new(company, now(), 3600) });
    let rest = RestClient::new(service.rest, Some(token.clone()));
    let body = json!({"client_affiliate_id": "A", "affiliate_name": text}).to_string();
    rest.post("/affiliates", body).await.with_status(201);
    for address in [service.rest, service.rest_remote] {
        let rest = RestClient::new(address, Some(token.clone()));
        let list = RestResponse::of(rest.request("GET", "/affiliates").header("Accept", "application/x-ndjson")).await;
        assert!(!list.text.contains(ENDS), "{:?}", list.text);
        let record: Value = serde_json::from_str(list.text.trim_end()).unwrap();
        assert_eq!(record["distributor_name"], text);

        let request = rest.request("GET", "/changes?after=0").header("Accept", "text/event-stream");
        let mut events = request.send().await.unwrap();
        let mut received = String::new();
        let data = loop {
            let chunk = events.chunk().await.unwrap().expect("the watch ended");
            received.push_str(std::str::from_utf8(&chunk).unwrap());
            if let Some((_, data)) = received.split_once("data: ")
                && let Some((data, _)) = data.split_once("\n\n")
            {
                break data.to_owned();
            }
        };
        assert!(!data.contains(ENDS), "{data:?}");
        let page: Value = serde_json::from_str(&data).unwrap();
        assert_eq!(page["changes"][0]["subject"], text, "{page}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn last_event_id_works_as_header_or_parameter() {
    let service = TestService::shared().await;
    let company = new_company();
    for name in ["A", "B", "C"] {
        let body = json!({"client_affiliate_id": name, "affiliate_name": name}).to_string();
        service.rest(company).post("/affiliates", body).await.with_status(201);
    }
    for rest in [service.rest(company), service.rest_remote(company)] {
        let watch = |query: &str, last: Option<&str>| {
            let request = rest.request("GET", &format!("/changes{query}")).header("Accept", "text/event-stream");
            if let Some(last) = last { request.header("Last-Event-ID", last) } else { request }
        };
        for (query, last, expected) in [
            ("?after=1", Some(""), "id: 3\nevent: changes\ndata: {\"changes\":[{\"position\":2,"),
            ("?after=0&lastEventId=2", Some(""), "id: 3\nevent: changes\ndata: {\"changes\":[{\"position\":3,"),
            ("?lastEventId=1&lastEventId=2", None, "id: 3\nevent: changes\ndata: {\"changes\":[{\"position\":3,"),
            ("?lastEventId=&after=1", None, "id: 3\nevent: changes\ndata: {\"changes\":[{\"position\":2,"),
            ("?lastEventId=2", Some("1"), "id: 3\nevent: changes\ndata: {\"changes\":[{\"position\":2,"),
        ] {
            let mut response = watch(query, last).send().await.unwrap();
            assert_eq!(response.headers().get("x-ignored-parameters"), None, "{query}");
            let mut text = Vec::new();
            while !text.ends_with(b"\n\n") {
                text.extend(response.chunk().await.unwrap().unwrap());
            }
            let text = String::from_utf8(text).unwrap();
            assert!(text.contains(expected), "{query} {last:?}: {text}");
        }
        for (query, last, field) in [
            ("?lastEventId=x", None, "lastEventId"),
            ("?lastEventId=1", Some("x"), "Last-Event-ID"),
            ("", Some("-1"), "Last-Event-ID"),
        ] {
            let refused = RestResponse::of(watch(query, last)).await;
            assert_eq!((refused.status, refused.paths()), (422, vec![field.to_owned()]), "{query}");
        }
    }
}
