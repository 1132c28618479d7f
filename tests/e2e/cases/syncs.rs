//! Affiliate syncs from a full list, over every layer.

use compliance_api::v1::{BatchSyncAffiliatesRequest, SyncAffiliatesRequest, SyncAffiliatesResponse};
use prost::Message;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use test_support::{Layer, RestClient, TestService, new_company};

use crate::described::{json::request, messages::method};

/// Returns all of a company's rows as text, with their versions.
async fn rows(service: &TestService, company: i64) -> String {
    let rows = "select coalesce(string_agg(a::text || a.xmin::text, '|' order by id), '') from affiliates a where company_id = $1";
    sqlx::query_scalar(rows).bind(company).fetch_one(&service.pool).await.unwrap()
}

async fn given(service: &TestService, company: i64, affiliates: &[(i64, &str, &str)]) {
    for (id, identifier, name) in affiliates {
        let insert = format!(
            "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name, city, country, status)
            values ({company}, {id}, '{identifier}', '{name}', 'Berlin', 276, 'active')"
        );
        sqlx::query(AssertSqlSafe(insert)).execute(&service.pool).await.unwrap();
    }
}

async fn names(service: &TestService, company: i64) -> Vec<(i64, String)> {
    let names = "select id, affiliate_name from affiliates where company_id = $1 order by id";
    sqlx::query_as(names).bind(company).fetch_all(&service.pool).await.unwrap()
}

const SYNC: &str = "AffiliateSyncService/BatchSyncAffiliates";
const LAYERS: [Layer; 3] = [Layer::Rest, Layer::RestRemote, Layer::Grpc];

/// Returns a request as a message. Each mask lists its item's fields.
fn message<M: Message + Default>(operation: &str, body: &Value) -> M {
    M::decode(&*request(method(operation).input(), &body.to_string())).unwrap()
}

/// Syncs over a layer and returns the response data. Over REST, also checks the status and the envelope.
async fn sync(service: &TestService, company: i64, layer: Layer, body: &Value) -> Value {
    let over = async |rest: RestClient| {
        let response = rest.post("/affiliates:sync", body.to_string()).await;
        let json = response.json();
        let refused =
            json["data"]["results"].as_array().unwrap().iter().filter(|result| result["outcome"] == "refused").count();
        let mut msg = match refused {
            0 if body["validate_only"] == true => "Every item is valid. Nothing was saved.".to_owned(),
            0 if json["data"]["absent_changed"] != 0 => "Every affiliate in the list is up to date.".to_owned(),
            0 => "The affiliates are up to date.".to_owned(),
            1 => "1 item was refused.".to_owned(),
            _ => format!("{refused} items were refused."),
        };
        if let Some(status) = body["absent_status"].as_str() {
            let set = if body["validate_only"] == true { "to be set" } else { "set" };
            let (changed, total) = (&json["data"]["absent_changed"], &json["data"]["absent_total"]);
            msg = format!("{msg} Absent affiliates {set} to {status}: {changed} of {total}.");
        }
        let (status, code, word) = if refused == 0 { (200, "1020", "ok") } else { (207, "1021", "error") };
        assert_eq!(response.status, status, "{}", response.text);
        assert_eq!(
            (&json["code"], &json["status"], &json["detail"]),
            (&json!(code), &json!(word), &json!({"msg": msg}))
        );
        json["data"].clone()
    };
    match layer {
        Layer::Rest => over(service.rest(company)).await,
        Layer::RestRemote => over(service.rest_remote(company)).await,
        Layer::Grpc => {
            let response = service
                .grpc(company)
                .await
                .syncs
                .batch_sync_affiliates(message::<BatchSyncAffiliatesRequest>(SYNC, body))
                .await
                .unwrap();
            serde_json::to_value(response.into_inner()).unwrap()
        }
    }
}

/// Compares only the specified members of each result, such as `{"outcome": "created"}`.
fn expect(results: &Value, expected: &[Value]) {
    let results = results.as_array().unwrap();
    assert_eq!(results.len(), expected.len(), "{results:#?}");
    for (result, expected) in results.iter().zip(expected) {
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&result[name], value, "{name} of {result:#}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn syncs_create_update_and_skip_items() {
    let service = TestService::shared().await;
    for layer in LAYERS {
        let [company, other] = [new_company(), new_company()];
        given(&service, company, &[(101, "A", "Ann"), (102, "B", "Ben"), (103, "C", "Cem"), (104, "Z", "Zoe")]).await;
        given(&service, other, &[(101, "A", "Ann"), (109, "N", "New")]).await;
        let others = rows(&service, other).await;
        let body = json!({"affiliates": [
            {"client_affiliate_id": "A", "affiliate_name": "Ann", "city": "Bonn", "country": "de", "zip": ""},
            {"client_affiliate_id": "N", "affiliate_name": "New", "country": "US", "start_date": "01/31/2024"},
            {"client_affiliate_id": "B", "affiliate_name": "Bea", "status": null, "city": null},
            {"client_affiliate_id": "C", "city": "Berlin", "country": "DE", "status": "active"},
        ]});
        let data = sync(&service, company, layer, &body).await;
        let id = data["results"][1]["affiliate_id"].as_i64().unwrap();
        expect(
            &data["results"],
            &[
                json!({"code": "1020", "outcome": "updated", "affiliate_id": 101, "client_affiliate_id": "A", "changed_fields": ["city"],
                   "msg": "Affiliate updated."}),
                json!({"code": "1020", "outcome": "created", "client_affiliate_id": "N", "changed_fields": [], "msg": "Affiliate created."}),
                json!({"outcome": "updated", "affiliate_id": 102, "changed_fields": ["affiliate_name", "city", "status"]}),
                json!({"code": "1020", "outcome": "unchanged", "affiliate_id": 103, "changed_fields": []}),
            ],
        );
        assert_eq!((&data["absent"], &data["absent_total"]), (&json!([]), &json!(0)));
        let read = service.rest(company).get(&format!("/affiliates/{id}")).await.with_status(200);
        assert_eq!((&read["data"]["start_date"], &read["data"]["country"]), (&json!("2024-01-31"), &json!(840)));
        let read = service.rest(company).get("/affiliates/102").await.with_status(200);
        assert_eq!(
            (&read["data"]["distributor_name"], &read["data"]["city"], &read["data"]["distributor_status"]),
            (&json!("Bea"), &Value::Null, &Value::Null)
        );

        // A repeated sync writes nothing.
        let before = rows(&service, company).await;
        let data = sync(&service, company, layer, &body).await;
        expect(&data["results"], &vec![json!({"outcome": "unchanged"}); 4]);
        assert_eq!(rows(&service, company).await, before);
        assert_eq!(rows(&service, other).await, others);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_items_do_not_affect_valid_items() {
    let service = TestService::shared().await;
    for layer in LAYERS {
        let company = new_company();
        given(&service, company, &[(101, "A", "Ann"), (102, "B", "Ben")]).await;
        let body = json!({"affiliates": [
            {"client_affiliate_id": "A", "email_one": "nobody", "country": "ZZ"},
            {"affiliate_name": "Nobody"},
            {"client_affiliate_id": "  ", "affiliate_name": "Blank"},
            {"client_affiliate_id": "N"},
            {"client_affiliate_id": "M", "affiliate_name": "Ben"},
            {"client_affiliate_id": "A2", "affiliate_name": "Twice"},
            {"client_affiliate_id": "A3", "affiliate_name": "Twice"},
            {"client_affiliate_id": "B", "affiliate_name": null},
        ]});
        let data = sync(&service, company, layer, &body).await;
        let fields = |item: usize| -> Vec<&str> {
            let violations = data["results"][item]["violations"].as_array().unwrap();
            violations.iter().map(|violation| violation["field"].as_str().unwrap()).collect()
        };
        expect(
            &data["results"],
            &[
                json!({"code": "1021", "outcome": "refused", "affiliate_id": null, "client_affiliate_id": "A",
                   "msg": "The email one field must be a valid email address. (and 1 more error)"}),
                json!({"outcome": "refused", "msg": "The client affiliate id field is required."}),
                json!({"outcome": "refused", "msg": "The client affiliate id field is required."}),
                json!({"outcome": "refused", "msg": "The affiliate name field is required."}),
                json!({"code": "1023", "outcome": "refused", "conflicting_ids": [102],
                   "msg": "An affiliate with this name already exists. Its ID is 102."}),
                json!({"outcome": "created"}),
                json!({"code": "1023", "outcome": "refused", "conflicting_positions": [5, 6],
                   "msg": "The items at positions 5 and 6 have the same affiliate name."}),
                json!({"outcome": "refused", "msg": "The affiliate name field is required."}),
            ],
        );
        assert_eq!((fields(0), fields(3)), (vec!["email_one", "country"], vec!["affiliate_name"]));
        let names: Vec<String> = names(&service, company).await.into_iter().map(|(_, name)| name).collect();
        assert_eq!(names.len(), 3, "{names:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicate_identifiers_are_rejected() {
    let service = TestService::shared().await;
    for layer in LAYERS {
        let company = new_company();
        given(&service, company, &[(101, "A", "Ann"), (102, "A", "Ann two"), (103, "B", "Ben")]).await;
        let before = rows(&service, company).await;
        let body = json!({"affiliates": [
            {"client_affiliate_id": "B", "city": "x"},
            {"client_affiliate_id": "A", "city": "x"},
            {"client_affiliate_id": "B", "city": "y"},
        ]});
        let data = sync(&service, company, layer, &body).await;
        let msg = "Several items have this identifier, at positions 0, 2.";
        expect(
            &data["results"],
            &[
                json!({"code": "1021", "outcome": "refused", "conflicting_positions": [0, 2], "msg": msg}),
                json!({"code": "1021", "outcome": "refused", "conflicting_ids": [101, 102],
                   "msg": "Several affiliates have this identifier: 101, 102."}),
                json!({"code": "1021", "outcome": "refused", "conflicting_positions": [0, 2], "msg": msg}),
            ],
        );
        assert_eq!(rows(&service, company).await, before);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_sync_can_swap_names() {
    let service = TestService::shared().await;
    for layer in LAYERS {
        let company = new_company();
        let id = |number: i64| 1_000_000_000 + number;
        given(&service, company, &[(id(1), "A", "a"), (id(2), "B", "b"), (id(3), "C", "c"), (id(4), "D", "d")]).await;
        let body = json!({"affiliates": [
            {"client_affiliate_id": "A", "affiliate_name": "b"},
            {"client_affiliate_id": "B", "affiliate_name": "a"},
            {"client_affiliate_id": "N", "affiliate_name": "c"},
            {"client_affiliate_id": "C", "affiliate_name": "e"},
        ]});
        let dry = json!({"affiliates": body["affiliates"], "validate_only": true});
        let expected = [
            json!({"outcome": "updated"}),
            json!({"outcome": "updated"}),
            json!({"outcome": "created"}),
            json!({"outcome": "updated"}),
        ];
        expect(&sync(&service, company, layer, &dry).await["results"], &expected);
        expect(&sync(&service, company, layer, &body).await["results"], &expected);
        let found: Vec<String> = names(&service, company).await.into_iter().map(|(_, name)| name).collect();
        // The new affiliate comes first, because the sequence's IDs are lower.
        assert_eq!(found, ["c", "b", "a", "e", "d"]);
        // D keeps its name, so C and N keep theirs.
        let body = json!({"affiliates": [
            {"client_affiliate_id": "C", "affiliate_name": "d"},
            {"client_affiliate_id": "N", "affiliate_name": "e"},
        ]});
        let expected = [id(4), id(3)].map(|id| json!({"code": "1023", "conflicting_ids": [id]}));
        expect(&sync(&service, company, layer, &body).await["results"], &expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn absent_affiliates_get_the_requested_status() {
    let service = TestService::shared().await;
    for layer in LAYERS {
        let [company, other] = [new_company(), new_company()];
        given(&service, company, &[(101, "A", "a"), (102, "B", "b"), (103, "C", "c"), (104, "C", "d")]).await;
        given(&service, other, &[(105, "X", "x")]).await;
        let others = rows(&service, other).await;
        let before = rows(&service, company).await;
        let absent = |changed: &str, status: &str| json!([{"affiliate_id": 102, "client_affiliate_id": "B", "status": status, "changed": changed}]);
        let affiliates = json!([{"client_affiliate_id": "A"}, {"client_affiliate_id": "C", "email_one": "nobody"}]);
        let mut body = json!({"affiliates": affiliates, "report_absent": true});
        let data = sync(&service, company, layer, &body).await;
        // A rejected item's affiliate is not absent.
        assert_eq!((&data["absent"], &data["absent_total"]), (&absent("no", "active"), &json!(1)));
        body["absent_status"] = json!("terminated");
        body["validate_only"] = json!(true);
        assert_eq!(sync(&service, company, layer, &body).await["absent"], absent("yes", "active"));
        assert_eq!(rows(&service, company).await, before);
        body["validate_only"] = json!(false);
        assert_eq!(sync(&service, company, layer, &body).await["absent"], absent("yes", "active"));
        let status = service.rest(company).get("/affiliates/102").await.with_status(200);
        assert_eq!(status["data"]["distributor_status"], "terminated");
        let data = sync(&service, company, layer, &body).await;
        assert_eq!(data["absent"], absent("no", "terminated"));
        assert_eq!((&data["absent_total"], &data["absent_changed"]), (&json!(1), &json!(0)));
        // An affiliate is not absent if an item contains its name.
        let mut named = body.clone();
        named["affiliates"][1] = json!({"client_affiliate_id": "NaN", "affiliate_name": "b"});
        named["absent_status"] = json!("probation");
        let data = sync(&service, company, layer, &named).await;
        assert_eq!(data["results"][1]["code"], "1023", "{data}");
        let absent_ids: Vec<_> =
            data["absent"].as_array().unwrap().iter().map(|it| it["affiliate_id"].clone()).collect();
        assert_eq!(absent_ids, [103, 104], "{data}");
        let back = json!({"affiliates": [{"client_affiliate_id": "A"}, {"client_affiliate_id": "B"}], "absent_status": "active"});
        sync(&service, company, layer, &back).await;
        let before = rows(&service, company).await;
        // An item without an identifier could be any absent affiliate, so no status changes.
        body["affiliates"].as_array_mut().unwrap().push(json!({"affiliate_name": "b"}));
        body["absent_status"] = json!("suspended");
        assert_eq!(sync(&service, company, layer, &body).await["absent"], absent("no", "terminated"));
        assert_eq!(rows(&service, company).await, before);
        assert_eq!(rows(&service, other).await, others);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dry_runs_return_results_without_writing() {
    let service = TestService::shared().await;
    for layer in LAYERS {
        let company = new_company();
        given(&service, company, &[(101, "A", "a"), (102, "B", "b"), (103, "B", "b two"), (104, "C", "c")]).await;
        let affiliates = json!([
            {"client_affiliate_id": "A", "city": "x", "affiliate_name": "z"},
            {"client_affiliate_id": "B", "city": "x"},
            {"client_affiliate_id": "N", "affiliate_name": "a"},
            {"client_affiliate_id": "M", "affiliate_name": "c"},
            {"client_affiliate_id": "C"},
            {"client_affiliate_id": "O", "zip": "12345678901234567"},
        ]);
        let before = rows(&service, company).await;
        let mut dry = sync(&service, company, layer, &json!({"affiliates": affiliates, "validate_only": true})).await;
        assert_eq!(rows(&service, company).await, before);
        let done = sync(&service, company, layer, &json!({"affiliates": affiliates})).await;
        // In a dry run, a new affiliate has no ID.
        assert_eq!(dry["results"][2]["affiliate_id"], Value::Null);
        dry["results"][2]["affiliate_id"] = done["results"][2]["affiliate_id"].clone();
        assert_eq!(dry, done);
        assert_ne!(rows(&service, company).await, before);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_sync_bodies_are_rejected() {
    let service = TestService::shared().await;
    let company = new_company();
    for rest in [service.rest(company), service.rest_remote(company)] {
        let cases = [
            ("{}", vec!["affiliates"]),
            (r#"{"affiliates":[]}"#, vec!["affiliates"]),
            (r#"{"affiliates":{}}"#, vec!["affiliates"]),
            ("[]", vec!["body"]),
            (
                r#"{"affiliates":[{"client_affiliate_id":"A"}],"absent_status":"gone","validate_only":1}"#,
                vec!["absent_status", "validate_only"],
            ),
            (
                r#"{"affiliates":[{"client_affiliate_id":"A"}],"absent_status":"terminated","max_absent":"1"}"#,
                vec!["max_absent"],
            ),
            (r#"{"affiliates":[{"client_affiliate_id":"A"}],"max_absent":-1}"#, vec!["max_absent"]),
            (r#"{"affiliates":[{"client_affiliate_id":"A","absent_status":"gone"},7]}"#, vec!["affiliates.1"]),
        ];
        for (body, paths) in cases {
            let response = rest.post("/affiliates:sync", body).await;
            assert_eq!(response.status, 422, "{body}: {}", response.text);
            assert_eq!(response.paths(), paths, "{body}");
        }
    }
    assert_eq!(rows(&service, company).await, "");
}

/// Streams a full list in chunks and returns the responses.
async fn stream(
    service: &TestService,
    company: i64,
    chunks: Vec<SyncAffiliatesRequest>,
) -> Vec<SyncAffiliatesResponse> {
    let mut grpc = service.grpc(company).await;
    let mut responses = grpc.rosters.sync_affiliates(futures::stream::iter(chunks)).await.unwrap().into_inner();
    let mut received = Vec::new();
    while let Some(response) = responses.message().await.unwrap() {
        received.push(response);
    }
    received
}

fn chunk(items: &[Value], validate_only: bool) -> SyncAffiliatesRequest {
    let body = json!({"affiliates": items, "report_absent": true, "absent_status": "inactive", "validate_only": validate_only});
    message("AffiliateRosterService/SyncAffiliates", &body)
}

fn new(range: std::ops::Range<usize>) -> Vec<Value> {
    range
        .map(|number| json!({"client_affiliate_id": format!("N{number}"), "affiliate_name": format!("Name {number}")}))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_lists_can_be_synced_in_chunks() {
    let service = TestService::shared().await;
    let company = new_company();
    given(&service, company, &[(101, "A", "a"), (102, "B", "b"), (103, "N5", "Name 5")]).await;
    let repeated = json!({"client_affiliate_id": "N3", "city": "x"});
    let chunks =
        vec![chunk(&new(0..700), false), chunk(&[repeated], false), chunk(&[], false), chunk(&new(700..1200), false)];
    let responses = stream(&service, company, chunks.clone()).await;
    let results: Vec<usize> = responses.iter().map(|response| response.results.len()).collect();
    assert_eq!(results, [700, 1, 0, 500, 0]);
    let outcomes = |response: usize| {
        let results = serde_json::to_value(&responses[response].results).unwrap();
        results.as_array().unwrap().iter().filter(|result| result["outcome"] == "created").count()
    };
    assert_eq!((outcomes(0), outcomes(3)), (699, 500));
    assert_eq!(responses[1].results[0].conflicting_positions, [3, 700]);
    let absent = &responses[4].absent;
    assert_eq!(
        absent.iter().map(|each| (each.affiliate_id, each.changed)).collect::<Vec<_>>(),
        [(101, true), (102, true)]
    );

    // A repeated sync writes nothing.
    let before = rows(&service, company).await;
    let again = stream(&service, company, chunks).await;
    assert!(again[0].results.iter().chain(&again[3].results).all(|result| result.outcome == 3), "{again:?}");
    assert_eq!(rows(&service, company).await, before);
}

/// Only the options in the last message apply. If the sender fails earlier, no absent affiliate changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incomplete_lists_leave_absent_affiliates_unchanged() {
    let service = TestService::shared().await;
    let company = new_company();
    given(&service, company, &[(101, "A", "a"), (102, "B", "b")]).await;
    let with = |items: &[Value]| chunk(items, false);
    let without = |items: &[Value]| SyncAffiliatesRequest { report_absent: false, absent_status: None, ..with(items) };
    let (a, unknown) = (json!({"client_affiliate_id": "A"}), json!({"client_affiliate_id": "B".repeat(65)}));
    let changed = async |chunks: Vec<SyncAffiliatesRequest>| -> Vec<(i64, bool)> {
        let responses = stream(&service, company, chunks).await;
        responses.iter().flat_map(|response| &response.absent).map(|each| (each.affiliate_id, each.changed)).collect()
    };
    let before = rows(&service, company).await;
    assert_eq!(changed(vec![with(std::slice::from_ref(&a)), without(&[])]).await, []);
    assert_eq!(changed(vec![with(&[])]).await, [(101, false), (102, false)]);
    assert_eq!(changed(vec![without(&[a.clone(), unknown]), with(&[])]).await, [(102, false)]);
    assert_eq!(rows(&service, company).await, before);
    assert_eq!(changed(vec![without(&[a]), with(&[])]).await, [(102, true)]);
}

/// A dry run applies the items of earlier chunks to later chunks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chunked_dry_runs_match_real_syncs() {
    let service = TestService::shared().await;
    let company = new_company();
    given(&service, company, &[(101, "A", "a"), (102, "B", "b")]).await;
    let chunks = |validate_only| {
        let chunk = |item: Value| chunk(&[item], validate_only);
        vec![
            chunk(json!({"client_affiliate_id": "A", "affiliate_name": "z"})),
            chunk(json!({"client_affiliate_id": "N", "affiliate_name": "a"})),
            chunk(json!({"client_affiliate_id": "M", "affiliate_name": "z"})),
            chunk(json!({"client_affiliate_id": "O", "affiliate_name": "b"})),
        ]
    };
    let before = rows(&service, company).await;
    let dry = stream(&service, company, chunks(true)).await;
    assert_eq!(rows(&service, company).await, before);
    let done = stream(&service, company, chunks(false)).await;
    let outcomes = |responses: &[SyncAffiliatesResponse]| -> Vec<(i32, i32)> {
        responses.iter().flat_map(|response| &response.results).map(|result| (result.code, result.outcome)).collect()
    };
    assert_eq!(outcomes(&dry), [(1020, 2), (1020, 1), (1023, 4), (1023, 4)]);
    assert_eq!(outcomes(&done), outcomes(&dry));
    assert_eq!(dry.last().unwrap().absent, done.last().unwrap().absent);
}

/// Inserts active affiliates with the identifiers N0, N1, ….
async fn given_many(service: &TestService, company: i64, count: i64) {
    let insert = "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name, status)
        select $1, 100 + n, 'N' || n, 'Name ' || n, 'active' from generate_series(0, $2 - 1) n";
    sqlx::query(insert).bind(company).bind(count).execute(&service.pool).await.unwrap();
}

/// Syncs a list and returns the error message, or `None` if the sync succeeds.
async fn rejection(service: &TestService, company: i64, layer: Layer, body: &Value) -> Option<String> {
    let rest = match layer {
        Layer::Rest => service.rest(company),
        Layer::RestRemote => service.rest_remote(company),
        Layer::Grpc => {
            let synced = service
                .grpc(company)
                .await
                .syncs
                .batch_sync_affiliates(message::<BatchSyncAffiliatesRequest>(SYNC, body))
                .await;
            let status = synced.err()?;
            assert_eq!(status.code(), tonic::Code::FailedPrecondition, "{status}");
            return Some(status.message().to_owned());
        }
    };
    let response = rest.post("/affiliates:sync", body.to_string()).await;
    if response.status == 200 {
        return None;
    }
    let json = response.json();
    assert_eq!((response.status, &json["code"], &json["status"]), (409, &json!("1021"), &json!("error")), "{json}");
    Some(json["detail"]["msg"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn truncated_lists_leave_absent_affiliates_unchanged() {
    let service = TestService::shared().await;
    for layer in LAYERS {
        let company = new_company();
        given_many(&service, company, 200).await;
        let before = rows(&service, company).await;
        let mut cut = new(0..2);
        cut.push(json!({"client_affiliate_id": "N2", "city": "Bonn"}));
        cut.push(json!({"client_affiliate_id": "X", "affiliate_name": "New"}));
        let mut body = json!({"affiliates": cut, "absent_status": "terminated"});
        for validate_only in [true, false] {
            body["validate_only"] = json!(validate_only);
            for (max_absent, limit) in [(Value::Null, 20), (json!(0), 0), (json!(196), 196)] {
                body["max_absent"] = max_absent;
                let reason = rejection(&service, company, layer, &body).await.expect("the sync was not rejected");
                assert_eq!(
                    reason,
                    format!(
                        "The sync would set 197 absent affiliates to terminated, but max_absent allows only {limit}. \
                         None was changed. If the list is complete, set max_absent to 197."
                    )
                );
                assert_eq!(rows(&service, company).await, before);
            }
        }
        // `max_absent` does not limit a sync that only reports absent affiliates.
        let reported = json!({"affiliates": new(0..3), "report_absent": true, "max_absent": 0});
        assert_eq!(sync(&service, company, layer, &reported).await["absent_total"], 197);
        body["max_absent"] = json!(197);
        for changed in [197, 0] {
            let data = sync(&service, company, layer, &body).await;
            assert_eq!((&data["absent_total"], &data["absent_changed"]), (&json!(197), &json!(changed)));
        }
        // Affiliates that already have the status do not count.
        body["max_absent"] = Value::Null;
        assert_eq!(rejection(&service, company, layer, &body).await, None);
    }
    // A stream saves its chunks but changes no absent affiliates.
    for validate_only in [true, false] {
        let company = new_company();
        given_many(&service, company, 200).await;
        let mut grpc = service.grpc(company).await;
        let last = SyncAffiliatesRequest { max_absent: Some(196), ..chunk(&[], validate_only) };
        let chunks = vec![chunk(&new(0..3), validate_only), last.clone()];
        let mut responses = grpc.rosters.sync_affiliates(futures::stream::iter(chunks)).await.unwrap().into_inner();
        assert_eq!(responses.message().await.unwrap().unwrap().results.len(), 3);
        assert_eq!(responses.message().await.unwrap().unwrap().results.len(), 0);
        let status = responses.message().await.unwrap_err();
        assert_eq!(status.code(), tonic::Code::FailedPrecondition);
        assert!(status.message().contains("197 absent affiliates"), "{status}");
        let inactive = "select count(*) from affiliates where company_id = $1 and status = 'inactive'";
        let inactive = sqlx::query_scalar::<_, i64>(inactive).bind(company);
        assert_eq!(inactive.fetch_one(&service.pool).await.unwrap(), 0);
        let chunks = vec![chunk(&new(0..3), validate_only), SyncAffiliatesRequest { max_absent: Some(197), ..last }];
        let absent = stream(&service, company, chunks).await.into_iter().flat_map(|response| response.absent);
        assert_eq!(absent.filter(|affiliate| affiliate.changed).count(), 197);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn default_max_absent_is_ten_or_ten_percent() {
    let service = TestService::shared().await;
    for (count, absent, is_allowed) in
        [(11, 10, true), (12, 11, false), (119, 11, true), (109, 11, false), (200, 20, true), (200, 21, false)]
    {
        let company = new_company();
        given_many(&service, company, count).await;
        let body = json!({"affiliates": new(absent..count as usize), "absent_status": "inactive"});
        let refused = rejection(&service, company, Layer::Rest, &body).await;
        assert_eq!(refused.is_none(), is_allowed, "{absent} of {count}: {refused:?}");
    }
}
