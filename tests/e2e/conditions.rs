//! Conditional requests: `ETag`, `If-Match` and `If-None-Match`, in both topologies.

use compliance_api::v1::{CaseInput, OpenCaseRequest, UpdateCaseRequest};
use futures::future::join_all;
use serde_json::json;
use test_support::{RestClient, RestResponse, TestService, new_company};

async fn affiliate(rest: &RestClient, name: &str) -> i64 {
    let body = json!({"client_affiliate_id": name, "affiliate_name": name, "notes": "n".repeat(1500)}).to_string();
    rest.post("/affiliates", body).await.with_status(201)["detail"]["affiliate_id"].as_i64().unwrap()
}

async fn url(rest: &RestClient, url: &str) -> i64 {
    let added = rest.post("/urls", json!({"urls": [{"url": url}]}).to_string()).await.with_status(201);
    added[0]["detail"]["url_id"].as_i64().unwrap()
}

/// Updates an affiliate with these `If-Match` headers.
async fn put(rest: &RestClient, id: i64, body: serde_json::Value, if_match: &[&str]) -> RestResponse {
    let mut request = rest.request("PUT", &format!("/affiliates/{id}")).header("Content-Type", "application/json");
    for line in if_match {
        request = request.header("If-Match", *line);
    }
    RestResponse::of(request.body(body.to_string())).await
}

async fn tag(rest: &RestClient, path: &str) -> String {
    rest.get(path).await.header("etag").unwrap().to_owned()
}

/// Paths whose writes accept `If-Match`.
const WITH_IF_MATCH: [&str; 6] = [
    "/api/affiliates/{id}",
    "/api/urls/{id}",
    "/api/cases/{id}",
    "/api/cases/{id}/resolve",
    "/api/cases/{id}/close",
    "/api/cases/{id}/reopen",
];

const CHANGED: &str = r#"{"code":"412","status":"error","detail":{"msg":"The record has changed since it was read. Read it again before you change it."}}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn if_match_guards_single_affiliate_updates() {
    let service = TestService::shared().await;
    let company = new_company();
    for rest in [service.rest(company), service.rest_remote(company)] {
        let name = format!("A {}", rest.get("/affiliates").await.text.len());
        let id = affiliate(&rest, &name).await;
        let path = format!("/affiliates/{id}");
        let first = tag(&rest, &path).await;
        assert!(first.starts_with('"') && first.ends_with('"') && first.len() > 2, "{first}");
        assert!(!rest.get(&path).await.text.contains("etag"));

        let city = |city: &str| json!({"id": id, "city": city});
        let changed = put(&rest, id, city("Bern"), &[&first]).await;
        changed.with_status(200);
        let second = changed.header("etag").unwrap().to_owned();
        assert_eq!(tag(&rest, &path).await, second);
        let weak = format!("W/{second}");
        for stale in [&[first.as_str()][..], &[&weak], &["\"x\""], &["\"\"", &first]] {
            let refused = put(&rest, id, city("Bonn"), stale).await;
            assert_eq!((refused.status, refused.text.as_str()), (412, CHANGED), "{stale:?}");
        }
        let several = format!("W/\"x\", \"0\" , {second}");
        let third = put(&rest, id, city("Bonn"), &[&first, &several]).await;
        third.with_status(200);
        put(&rest, id, city("Basel"), &["*"]).await.with_status(200);
        // Compressing proxies alter the etag.
        for (round, altered) in ["--gzip", ";gzip", "-gzip", "-df", "--br", "-br"].iter().enumerate() {
            let altered = tag(&rest, &path).await.replacen('"', "", 1).replace('"', &format!("{altered}\""));
            let weak = format!("W/\"{altered}");
            let city = |text: &str| city(&format!("{text} {round}"));
            assert_eq!(put(&rest, id, city("Bern"), &[&weak]).await.status, 412, "{weak}");
            put(&rest, id, city("Bonn"), &[&format!("\"{altered}")]).await.with_status(200);
        }
        put(&rest, id, city("Biel"), &[]).await.with_status(200);

        // The service checks the request (422), the affiliate (404), the etag (412) and then the name.
        let invalid = put(&rest, id, json!({"id": id, "zip": 7}), &[&first]).await;
        assert_eq!((invalid.status, invalid.paths()), (422, vec!["zip".to_owned()]));
        for malformed in ["7", "\"7", "*, \"7\"", ""] {
            let refused = put(&rest, id, city("Bonn"), &[malformed]).await;
            assert_eq!((refused.status, refused.paths()), (422, vec!["If-Match".to_owned()]), "{malformed}");
        }
        let unknown = put(&rest, id + 100_000, json!({"id": id + 100_000, "city": "Bern"}), &[&first]).await;
        assert_eq!(unknown.status, 404);
        let other = format!("{name} other");
        affiliate(&rest, &other).await;
        let taken = |if_match: &'static str| {
            let (rest, other) = (rest.clone(), other.clone());
            async move { put(&rest, id, json!({"id": id, "affiliate_name": other}), &[if_match]).await.status }
        };
        assert_eq!((taken("\"0\"").await, taken("*").await), (412, 422));
        // Batches do not accept `If-Match`.
        let batch = put(&rest, id, json!({"affiliates": [city("Bonn")]}), &["*"]).await;
        assert_eq!((batch.status, batch.paths()), (422, vec!["If-Match".to_owned()]));
        assert_eq!(rest.get(&path).await.json()["data"]["city"], "Biel");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_concurrent_update_per_etag_wins() {
    let service = TestService::shared().await;
    let company = new_company();
    let (local, remote) = (service.rest(company), service.rest_remote(company));
    let id = affiliate(&local, "A").await;
    for round in 0..20 {
        let tag = tag(&local, &format!("/affiliates/{id}")).await;
        let bodies = ["local", "remote"].map(|city| json!({"id": id, "city": format!("{city} {round}")}));
        let writers = [&local, &remote].into_iter().zip(bodies).map(|(rest, body)| {
            let tag = tag.clone();
            async move { put(rest, id, body, &[&tag]).await.status }
        });
        let mut statuses = join_all(writers).await;
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 412], "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unchanged_records_return_304() {
    let service = TestService::shared().await;
    let company = new_company();
    let rest = service.rest(company);
    let id = affiliate(&rest, "A").await;
    let mut grpc = service.grpc(company).await;
    let case = CaseInput { client_affiliate_id: Some("A".to_owned()), ..CaseInput::default() };
    let request = OpenCaseRequest { request_id: Some("r".to_owned()), case: Some(case), ..OpenCaseRequest::default() };
    let case_id = grpc.open(request).await;
    let known = async |rest: &RestClient, path: &str, tag: &str| {
        let response = RestResponse::of(rest.request("GET", path).header("If-None-Match", tag)).await;
        assert_eq!(response.status == 304, response.text.is_empty());
        assert!(response.header("etag").is_some());
        response.status
    };
    let url_path = format!("/urls/{}", url(&rest, "https://example.org/").await);
    let (affiliate_path, case_path) = (format!("/affiliates/{id}"), format!("/cases/{case_id}"));
    let (affiliate_tag, case_tag) = (tag(&rest, &affiliate_path).await, tag(&rest, &case_path).await);
    let url_tag = tag(&rest, &url_path).await;
    for rest in [service.rest(company), service.rest_remote(company)] {
        for (path, tag) in [(&affiliate_path, &affiliate_tag), (&case_path, &case_tag), (&url_path, &url_tag)] {
            assert_eq!(self::tag(&rest, path).await, *tag, "the gateways return different etags");
            assert_eq!(known(&rest, path, tag).await, 304);
            assert_eq!(known(&rest, path, &format!("\"x\", W/{tag}")).await, 304);
            assert_eq!(known(&rest, path, "*").await, 304);
            for altered in ["--gzip", ";gzip", "-gzip", "-df", "--br", "-br"] {
                let altered = format!("{}{altered}\"", &tag[..tag.len() - 1]);
                assert_eq!(known(&rest, path, &altered).await, 304, "{altered}");
                assert_eq!(known(&rest, path, &format!("W/{altered}")).await, 304, "{altered}");
            }
            for other in ["\"x\"", "x", ""] {
                assert_eq!(known(&rest, path, other).await, 200, "{other}");
            }
        }
    }
    // A case includes its affiliate, so both etags change.
    put(&rest, id, json!({"id": id, "city": "Bern"}), &[]).await.with_status(200);
    assert_eq!(known(&rest, &affiliate_path, &affiliate_tag).await, 200);
    assert_eq!(known(&rest, &case_path, &case_tag).await, 200);
    let case_tag = tag(&rest, &case_path).await;
    let case = Some(CaseInput { case_worker: Some("Ann".to_owned()), ..CaseInput::default() });
    let request = UpdateCaseRequest { id: case_id, case, ..UpdateCaseRequest::default() };
    grpc.monitoring.update_case(request).await.unwrap();
    assert_eq!(known(&rest, &case_path, &case_tag).await, 200);
    let unknown = rest.request("GET", "/affiliates/999999999").header("If-None-Match", "*");
    assert_eq!(RestResponse::of(unknown).await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compressed_records_have_their_own_etags() {
    let service = TestService::shared().await;
    let company = new_company();
    let rest = service.rest(company);
    let id = affiliate(&rest, "A").await;
    let path = format!("/affiliates/{id}");
    let plain = tag(&rest, &path).await;
    let response = rest.request("GET", &path).header("Accept-Encoding", "gzip").send().await.unwrap();
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let coded = response.headers()["etag"].to_str().unwrap().to_owned();
    assert_eq!(coded, format!("{}-gzip\"", plain.trim_end_matches('"')));
    let request = rest.request("GET", &path).header("Accept-Encoding", "gzip").header("If-None-Match", &coded);
    let response = request.send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers()["etag"].to_str().unwrap()), (304, coded.as_str()));
    put(&rest, id, json!({"id": id, "city": "Bern"}), &[&coded]).await.with_status(200);
    assert_eq!(put(&rest, id, json!({"id": id, "city": "Bonn"}), &[&coded]).await.status, 412);
}

/// Tests every write route with every condition it does not support.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unsupported_conditions_are_rejected() {
    let service = TestService::shared().await;
    let company = new_company();
    let rest = service.rest(company);
    let id = affiliate(&rest, "A").await;
    let rows = "select count(*), max(revision) from affiliates where company_id = $1";
    let rows = async || sqlx::query_as::<_, (i64, i64)>(rows).bind(company).fetch_one(&service.pool).await.unwrap();
    let before = rows().await;
    let mut operations = 0;
    for route in rest_gateway::ROUTES.iter().filter(|route| route.method != "get") {
        let path = route.path.strip_prefix("/api").unwrap().replace("{id}", &id.to_string());
        for (name, value) in
            [("If-Match", "\"0\""), ("If-None-Match", "*"), ("If-Unmodified-Since", "Sat, 01 Jan 2000 00:00:00 GMT")]
        {
            if name == "If-Match" && WITH_IF_MATCH.contains(&route.path) {
                continue;
            }
            let request = rest.request(&route.method.to_uppercase(), &path).header(name, value);
            let body =
                json!({"id": id, "client_affiliate_id": "B", "affiliate_name": "B", "affiliates": null}).to_string();
            let refused = RestResponse::of(request.header("Content-Type", "application/json").body(body)).await;
            assert_eq!((refused.status, refused.paths()), (422, vec![name.to_owned()]), "{} {path}", route.method);
            operations += 1;
        }
    }
    assert!(operations > 20, "{operations}");
    assert_eq!(rows().await, before);
    // The service checks the token first.
    let nobody = service.rest(company).with_token(None).request("DELETE", "/affiliates/1").header("If-None-Match", "*");
    assert_eq!(RestResponse::of(nobody).await.status, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unchanged_values_keep_the_etag() {
    let service = TestService::shared().await;
    let company = new_company();
    for rest in [service.rest(company), service.rest_remote(company)] {
        let name = format!("A {}", rest.get("/affiliates").await.text.len());
        let id = affiliate(&rest, &name).await;
        let body = json!({"id": id, "affiliate_name": name, "city": "Bern", "country": "CH", "zip": ""});
        let first = put(&rest, id, body.clone(), &[]).await.header("etag").unwrap().to_owned();
        let changes = rest.get("/changes").await.json();
        for condition in [&[][..], &[first.as_str()]] {
            let again = put(&rest, id, body.clone(), condition).await;
            let expected = json!({"affiliate_id": id, "msg": "Affiliate updated successfully."});
            assert_eq!((&again.with_status(200)["detail"], again.header("etag")), (&expected, Some(&*first)));
        }
        let batch = put(&rest, id, json!({"affiliates": [body]}), &[]).await.with_status(200);
        assert_eq!(batch[0]["code"], "1020");
        assert_eq!(put(&rest, id, body, &["\"0\""]).await.status, 412);
        assert_eq!(rest.get("/changes").await.json(), changes);
        assert_eq!(tag(&rest, &format!("/affiliates/{id}")).await, first);
    }
}

/// Tests every write that accepts `If-Match`, except erasures, which leave no record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_return_the_same_etag_as_writes() {
    let service = TestService::shared().await;
    let company = new_company();
    let rest = service.rest(company);
    let uplines = [affiliate(&rest, "Upline").await, affiliate(&rest, "Affiliate").await];
    put(&rest, uplines[1], json!({"id": uplines[1], "upline": "Upline"}), &[]).await.with_status(200);
    let mut grpc = service.grpc(company).await;
    let case = CaseInput { client_affiliate_id: Some("Affiliate".to_owned()), ..CaseInput::default() };
    let request = OpenCaseRequest { request_id: Some("r".to_owned()), case: Some(case), ..OpenCaseRequest::default() };
    let case_id = grpc.open(request).await;
    let url_id = url(&rest, "https://example.org/").await;
    let of_affiliate = "update compliance_urls set affiliate_id = $1 where company_id = $2";
    sqlx::query(of_affiliate).bind(uplines[1]).bind(company).execute(&service.pool).await.unwrap();
    for (round, rest) in [service.rest(company), service.rest_remote(company)].into_iter().enumerate() {
        for path in WITH_IF_MATCH {
            let (collection, id) = match path.split('/').nth(2).unwrap() {
                "affiliates" => ("affiliates", uplines[1]),
                "urls" => ("urls", url_id),
                collection => (collection, case_id),
            };
            let (method, body) = match (collection, path.ends_with("{id}")) {
                ("affiliates", _) => ("PUT", json!({"id": id, "notes": round.to_string()})),
                (_, true) => ("PATCH", json!({"note": round.to_string()})),
                _ => ("POST", json!({})),
            };
            let path = path.strip_prefix("/api").unwrap().replace("{id}", &id.to_string());
            for repetition in 0..2 {
                let written = RestResponse::of(rest.request(method, &path).body(body.to_string())).await;
                written.with_status(200);
                let read = tag(&rest, &format!("/{collection}/{id}")).await;
                assert_eq!(written.header("etag"), Some(&*read), "{method} {path} {repetition}");
            }
        }
        // A case includes its affiliate and the affiliate's upline. A URL includes its affiliate.
        let tags =
            async || [tag(&rest, &format!("/cases/{case_id}")).await, tag(&rest, &format!("/urls/{url_id}")).await];
        let [case_tag, url_tag] = tags().await;
        put(&rest, uplines[0], json!({"id": uplines[0], "affiliate_name": format!("U {round}")}), &[])
            .await
            .with_status(200);
        let [of_upline, unchanged] = tags().await;
        assert!(of_upline != case_tag && unchanged == url_tag, "{of_upline} {unchanged}");
        put(&rest, uplines[1], json!({"id": uplines[1], "affiliate_name": format!("A {round}")}), &[])
            .await
            .with_status(200);
        let [case_tag, url_tag] = tags().await;
        assert!(case_tag != of_upline && url_tag != unchanged, "{case_tag} {url_tag}");
    }
}

/// Tests every write that accepts `If-Match`. The service checks the request (422), the record (404) and then the etag (412).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stale_etags_change_nothing() {
    let service = TestService::shared().await;
    let company = new_company();
    for (number, rest) in [service.rest(company), service.rest_remote(company)].into_iter().enumerate() {
        let affiliate_id = affiliate(&rest, &format!("A {number}")).await;
        let url_id = url(&rest, &format!("https://example.org/{number}")).await;
        let case = CaseInput { affiliate_id: Some(affiliate_id), ..CaseInput::default() };
        let request_id = Some(format!("r {number}"));
        let opening = OpenCaseRequest { request_id, case: Some(case), ..OpenCaseRequest::default() };
        let case_id = service.grpc(company).await.open(opening).await;
        for (method, record, action, body) in [
            ("PUT", format!("/affiliates/{affiliate_id}"), "", json!({"id": affiliate_id, "city": "Bonn"})),
            ("PATCH", format!("/urls/{url_id}"), "", json!({"note": "1", "infractions": []})),
            ("PATCH", format!("/cases/{case_id}"), "", json!({"note": "1"})),
            ("POST", format!("/cases/{case_id}"), "/resolve", json!({})),
            ("POST", format!("/cases/{case_id}"), "/close", json!({})),
            ("POST", format!("/cases/{case_id}"), "/reopen", json!({})),
            ("DELETE", format!("/affiliates/{affiliate_id}"), "", json!({})),
        ] {
            let write = async |record: &str, tag: &str| {
                let request = rest.request(method, &format!("{record}{action}")).header("If-Match", tag);
                let request = if method == "DELETE" { request } else { request.body(body.to_string()) };
                RestResponse::of(request).await
            };
            let before = rest.get(&record).await;
            let present = before.header("etag").unwrap();
            for stale in ["\"0\"", "\"x\"", &format!("W/{present}")] {
                let refused = write(&record, stale).await;
                assert_eq!(
                    (refused.status, refused.text.as_str()),
                    (412, CHANGED),
                    "{method} {record}{action} {stale}"
                );
            }
            for malformed in ["7", ""] {
                assert_eq!(write(&record, malformed).await.paths(), ["If-Match"], "{method} {record}{action}");
            }
            let (collection, _) = record.rsplit_once('/').unwrap();
            if method != "PUT" {
                assert_eq!(write(&format!("{collection}/999999999"), "\"0\"").await.status, 404, "{method} {record}");
            }
            assert_eq!(rest.get(&record).await.text, before.text, "{method} {record}{action}");
            write(&record, &format!("\"0\", {present}")).await.with_status(200);
            let after = rest.get(&record).await;
            assert_ne!(after.header("etag"), Some(present), "{method} {record}{action}");
            if method != "DELETE" {
                write(&record, "*").await.with_status(200);
            }
        }
        let attach = rest.request("POST", &format!("/cases/{case_id}/incidents")).header("If-Match", "*");
        assert_eq!(RestResponse::of(attach.body(r#"{"incidents":[]}"#)).await.paths(), ["If-Match"]);
    }
}
