//! Response headers list a request's ignored fields and parameters.

use rest_gateway::Settings;
use serde_json::json;
use test_support::{Options, RestClient, RestResponse, TestService, new_company};

const FIELDS: &str = "x-ignored-fields";
const PARAMETERS: &str = "x-ignored-parameters";

async fn sent(rest: &RestClient, method: &str, path: &str, body: serde_json::Value) -> RestResponse {
    RestResponse::of(rest.request(method, path).body(body.to_string())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ignored_fields_are_listed_in_a_header() {
    let service = TestService::shared().await;
    for rest in [service.rest(new_company()), service.rest_remote(new_company())] {
        let created =
            sent(&rest, "POST", "/affiliates", json!({"client_affiliate_id": "A", "affiliate_name": "N"})).await;
        assert_eq!((created.status, created.header(FIELDS)), (201, None));
        let id = created.json()["detail"]["affiliate_id"].clone();
        let one = format!("/affiliates/{id}");
        let webhook = json!({"url": "https://127.0.0.1:1/x", "secret": "s"});
        let webhook_id =
            sent(&rest, "POST", "/webhooks", webhook.clone()).await.json()["data"]["webhook"]["id"].clone();
        let roster = json!([{"client_affiliate_id": "A", "id": 5}]);
        let case = json!({
            "request_id": "r", "colour": 1, "case": {"client_affiliate_id": "A", "priority": 1},
            "incidents": [{"incident_type": "form", "reference": "f", "page": 3}],
        });
        let opened = sent(&rest, "POST", "/cases", case.clone()).await;
        let close = opened.header("location").unwrap().replacen("/api", "", 1) + "/close";
        let cases = [
            (
                "POST",
                "/affiliates",
                json!({"affiliate_name": "N", "client_affiliate_id": "A", "id": 9}),
                409,
                Some("id"),
            ),
            ("POST", "/affiliates", json!({"city": 5, "a b": {"c": [1]}, "é,": 1}), 422, Some("a+b, %C3%A9%2C")),
            (
                "POST",
                "/affiliates",
                json!({"affiliates": [
                    {"client_affiliate_id": "B", "affiliate_name": "M"},
                    {"client_affiliate_id": "C", "affiliate_name": "N", "town": 1, "towns": 2},
                    {"client_affiliate_id": "D", "affiliate_name": "O", "town": 1},
                ], "city": "x", "report_absent": true}),
                207,
                Some("affiliates.1.town, affiliates.1.towns, city, report_absent"),
            ),
            (
                "PUT",
                &one,
                json!({"id": id, "distributor_name": "X", "client_id": 1}),
                200,
                Some("client_id, distributor_name"),
            ),
            ("PUT", &one, json!({"id": id, "city": "Bern"}), 200, None),
            ("PUT", &one, json!({"affiliates": [{"id": id, "etag": "1"}]}), 200, Some("affiliates.0.etag")),
            ("PUT", "/affiliates/x", json!({"id": 1, "y": 1}), 404, Some("y")),
            ("POST", "/affiliates:sync", json!({"affiliates": roster, "dry": 1}), 200, Some("affiliates.0.id, dry")),
            (
                "POST",
                "/affiliates:sync",
                json!({"affiliates": roster, "dry_run": true}),
                422,
                Some("affiliates.0.id, dry_run"),
            ),
            ("POST", "/urls", json!({"urls": [{"url": "http://a/", "country": "CH"}]}), 201, Some("urls.0.country")),
            (
                "POST",
                "/urls",
                json!({"urls": [{"Url": "http://a/"}], "url": "http://b/"}),
                422,
                Some("urls.0.Url, url"),
            ),
            ("POST", "/webhooks", webhook, 201, Some("secret")),
            ("PUT", &format!("/webhooks/{webhook_id}"), json!({"enabled": true}), 200, Some("enabled")),
            ("PUT", "/webhooks/7000000", json!({"types": 5, "enabled": true}), 422, Some("enabled")),
            ("POST", "/cases", case, 200, Some("colour, case.priority, incidents.0.page")),
            ("POST", &close, json!({"id": 5}), 200, Some("id")),
        ];
        for (method, path, body, status, listed) in cases {
            let response = sent(&rest, method, path, body.clone()).await;
            let sorted = |names: &str| {
                let mut names: Vec<String> = names.split(", ").map(str::to_owned).collect();
                names.sort();
                names
            };
            assert_eq!(response.status, status, "{method} {path} {body}: {}", response.text);
            assert_eq!(response.header(FIELDS).map(sorted), listed.map(sorted), "{method} {path} {body}");
            assert_eq!(response.header(PARAMETERS), None);
        }
        for path in ["/urls", "/webhooks"] {
            let cut = RestResponse::of(rest.request("POST", path).body(r#"{"a":1,"b":"#)).await;
            assert_eq!((cut.status, cut.header(FIELDS)), (422, None), "{path}");
        }
        // The header stays short for any number of names.
        let many: serde_json::Map<_, _> = (0..100_000).map(|name| (format!("{name}").repeat(20), json!(1))).collect();
        let response = sent(&rest, "POST", "/urls", many.into()).await;
        let listed = response.header(FIELDS).unwrap();
        assert!(response.status == 422 && listed.split(", ").count() == 10 && listed.len() < 1000, "{listed}");
    }
}

/// Some response fields have different names from the request fields, as documented.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn response_field_names_are_reported_as_ignored() {
    let service = TestService::shared().await;
    let rest = service.rest(new_company());
    let created = sent(&rest, "POST", "/affiliates", json!({"client_affiliate_id": "A", "affiliate_name": "N"})).await;
    let path = format!("/affiliates/{}", created.json()["detail"]["affiliate_id"]);
    let mut record = rest.get(&path).await.json()["data"].clone();
    record["distributor_name"] = json!("New");
    record["distributor_status"] = json!("active");
    record.as_object_mut().unwrap().remove("country");
    let response = sent(&rest, "PUT", &path, record).await;
    assert_eq!(response.status, 200, "{}", response.text);
    let listed = response.header(FIELDS).unwrap();
    for name in ["distributor_name", "distributor_status", "client_distributor_id", "client_id"] {
        assert!(listed.split(", ").any(|one| one == name), "{name} is missing from {listed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cors_exposes_headers_with_ignored_names() {
    let settings = Settings { cors_origins: vec!["*".parse().unwrap()], ..Settings::default() };
    let service = TestService::with(Options { settings, ..Options::default() }).await;
    let request = service.rest(new_company()).request("GET", "/urls?perpage=1");
    let response = request.header("Origin", "https://a.example").send().await.unwrap();
    let exposed = response.headers()["access-control-expose-headers"].to_str().unwrap().to_ascii_lowercase();
    for name in [FIELDS, PARAMETERS] {
        assert!(exposed.split(',').any(|one| one.trim() == name), "{name} is missing from {exposed}");
    }
    assert_eq!(response.headers()[PARAMETERS], "perpage");
}
